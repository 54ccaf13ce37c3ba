package adt

// TypedAdvice reports what would have commuted between two kinds of lock of a data type.
type TypedAdvice struct {
	// Mine or Theirs is the substitute for that side. If both are nil, the two operations themselves
	// would have commuted on different parts.
	Mine, Theirs *TypeMethod
	// OtherPartOnly: only for different parts of the value.
	OtherPartOnly bool
}

// AdviseTyped returns what would have commuted where a mode had to wait for another one of the same
// data type. A query is suggested for a query and an update for an update; only the client can
// decide whether it does the work. A substitute for the own side is preferred. It is false if there
// is none.
//
//	mine             theirs           advice
//	set.add(x)       set.remove(x)    other parts only: nothing commutes with both for one member
//	set.insert(x)    set.insert(x)    other parts only
//	set.all          set.add(x)       mine: contains, if one member suffices
func AdviseTyped(mine, theirs Mode) (TypedAdvice, bool) {
	id, typed := mine.Type()
	other, too := theirs.Type()
	if !typed || !too || id != other || !mine.Valid() || !theirs.Valid() || Compatible(mine, theirs) {
		return TypedAdvice{}, false
	}
	t := Lookup(id)
	if t.Relation(mine.Kind(), theirs.Kind()) == OtherPart {
		return TypedAdvice{OtherPartOnly: true}, true
	}
	if m, apart := t.findSubstitute(mine.Kind(), theirs.Kind()); m != nil {
		return TypedAdvice{Mine: m, OtherPartOnly: apart}, true
	}
	if m, apart := t.findSubstitute(theirs.Kind(), mine.Kind()); m != nil {
		return TypedAdvice{Theirs: m, OtherPartOnly: apart}, true
	}
	return TypedAdvice{}, false
}

// findSubstitute returns the method with the most similar name to a kind of lock, among those that
// commute with another kind.
//
// Declarations do not say which methods can replace which, as those of generic methods do. A similar name is a good
// guess ("add" for "add-count"), and the words of the receipt leave the decision to the client.
func (t *Type) findSubstitute(of, with Kind) (best *TypeMethod, apart bool) {
	near := -1
	for _, m := range t.Methods {
		when := t.Relation(m.Kind, with)
		if when == 0 || m.Kind == of || m.Changes != t.Kinds[of-1].Changes {
			continue
		}
		n := 2 * commonPrefix(m.Name, t.Kinds[of-1].Name)
		if when == Always {
			n++
		}
		if n > near {
			best, apart, near = m, when == OtherPart, n
		}
	}
	return best, apart
}

// commonPrefix returns the length of the common prefix of two names.
func commonPrefix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// FullName returns type and method: "set.contains".
func (m *TypeMethod) FullName() string {
	if m == nil {
		return ""
	}
	return m.Type.Name + "." + m.Name
}

// Method returns the method that receipts name; MethodNone for nil.
func (m *TypeMethod) Method() Method {
	switch {
	case m == nil:
		return MethodNone
	case !m.Changes:
		return MethodQuery
	case m.Answers:
		return MethodUpdateGet
	}
	return MethodUpdate
}
