package adt

// Advice reports what would have commuted: with Mine instead of what the waiter did with a key, and
// Theirs instead of what the holder did, neither would have waited for the other's lock. MethodNone
// leaves a side as it is.
type Advice struct {
	Mine, Theirs Method
	// IfMine and IfTheirs are the conditions for these substitutes, to follow an "if".
	IfMine, IfTheirs string
}

// Advise returns substitutes that would have commuted where methods mine had to wait for theirs. If
// both sides did the same, both are replaced; otherwise one side alone is preferred, mine first. It
// is false if no substitute that does the work is compatible.
//
//	mine           theirs     advice
//	get, put       add        mine: add, if the key is only incremented
//	add-get        add-get    both: add, if the sums are not needed
//	put            get        none: no substitute for a put commutes with get
func Advise(mine, theirs Methods) (Advice, bool) {
	mine, theirs = mine&genericBits, theirs&genericBits
	if mine == 0 || theirs == 0 {
		return Advice{}, false
	}
	// Replacing one side is less work for the client than replacing both. If both did the same, for
	// example add-get, the same substitute fits both.
	if mine != theirs {
		if m, provided, ok := findSubstitute(mine, theirs.Mode()); ok {
			return Advice{Mine: m, IfMine: provided}, true
		}
		if m, provided, ok := findSubstitute(theirs, mine.Mode()); ok {
			return Advice{Theirs: m, IfTheirs: provided}, true
		}
	}
	for _, a := range substituteOrder {
		ifMine, ok := a.canReplace(mine)
		if !ok {
			continue
		}
		if b, ifTheirs, ok := findSubstitute(theirs, a.Mode()); ok {
			return Advice{Mine: a, Theirs: b, IfMine: ifMine, IfTheirs: ifTheirs}, true
		}
	}
	return Advice{}, false
}

// Of returns the methods of both sides when the advice is followed.
func (a *Advice) Of(mine, theirs Methods) (Methods, Methods) {
	if a.Mine != MethodNone {
		mine = a.Mine.Set()
	}
	if a.Theirs != MethodNone {
		theirs = a.Theirs.Set()
	}
	return mine, theirs
}

// findSubstitute returns a method that can replace a set and is compatible with a mode.
func findSubstitute(of Methods, with Mode) (Method, string, bool) {
	for _, m := range substituteOrder {
		if provided, ok := m.canReplace(of); ok && Compatible(m.Mode(), with) {
			return m, provided, true
		}
	}
	return MethodNone, "", false
}

// canReplace reports whether a method can do the work of others, and under which condition.
//
// All of the methods must be replaceable, because the transaction holds one lock on the key for all of them: a put
// that becomes an add gains nothing beside a get that stays.
func (m Method) canReplace(of Methods) (provided string, ok bool) {
	for _, s := range methods[m].substitutes {
		if of&^s.replaces == 0 && of&s.anyOf != 0 {
			return s.condition, true
		}
	}
	return "", false
}
