package adt

// Advice is what would have commuted: with Mine in the place of what the one
// did with a key, and Theirs in the place of what the other did, neither would
// have waited for the other's lock. MethodNone leaves a side as it was.
type Advice struct {
	Mine, Theirs Method
	// IfMine and IfTheirs say when the methods can stand there, after an "if".
	IfMine, IfTheirs string
}

// Advise finds what would have commuted where the methods mine had to wait for
// theirs: something in the place of both if both did the same, else in that of the one
// side alone, or of the other alone, and only where there is neither, in the place of
// both. It is false if nothing that does the work goes together.
func Advise(mine, theirs Methods) (Advice, bool) {
	mine, theirs = mine&anyKey, theirs&anyKey
	if mine == 0 || theirs == 0 {
		return Advice{}, false
	}
	if mine != theirs {
		if m, provided, ok := standIn(mine, theirs.Mode()); ok {
			return Advice{Mine: m, IfMine: provided}, true
		}
		if m, provided, ok := standIn(theirs, mine.Mode()); ok {
			return Advice{Theirs: m, IfTheirs: provided}, true
		}
	}
	for _, a := range suggested {
		ifMine, ok := a.standsFor(mine)
		if !ok {
			continue
		}
		if b, ifTheirs, ok := standIn(theirs, a.Mode()); ok {
			return Advice{Mine: a, Theirs: b, IfMine: ifMine, IfTheirs: ifTheirs}, true
		}
	}
	return Advice{}, false
}

// Of gives what the two sides do when the advice is followed.
func (a *Advice) Of(mine, theirs Methods) (Methods, Methods) {
	if a.Mine != MethodNone {
		mine = a.Mine.Set()
	}
	if a.Theirs != MethodNone {
		theirs = a.Theirs.Set()
	}
	return mine, theirs
}

// standIn finds a method in the place of some that goes together with a mode.
func standIn(of Methods, with Mode) (Method, string, bool) {
	for _, m := range suggested {
		if provided, ok := m.standsFor(of); ok && Compatible(m.Mode(), with) {
			return m, provided, true
		}
	}
	return MethodNone, "", false
}

// standsFor reports whether a method can do what others do, and provided what.
func (m Method) standsFor(of Methods) (provided string, ok bool) {
	for _, s := range methods[m].stands {
		if of&^s.of == 0 && of&s.needs != 0 {
			return s.provided, true
		}
	}
	return "", false
}
