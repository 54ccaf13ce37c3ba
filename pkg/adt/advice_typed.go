package adt

// TypedAdvice is what would have commuted between two kinds of lock of a data
// type: a method in the place of what the one side did, or the other.
type TypedAdvice struct {
	// Mine or Theirs is what would stand there. If both are nil, what the two did
	// would have commuted itself, about different parts.
	Mine, Theirs *TypeMethod
	// Apart: only about different parts of the value.
	Apart bool
}

// AdviseTyped finds what would have commuted where a mode had to wait for
// another one of the same data type. A question is offered in the place of a
// question and a change in that of a change; whether it does the work, only who
// asked can tell. What stands in the place of this transaction's is preferred. It is
// false if there is nothing.
func AdviseTyped(mine, theirs Mode) (TypedAdvice, bool) {
	id, typed := mine.Type()
	other, too := theirs.Type()
	if !typed || !too || id != other || !mine.Valid() || !theirs.Valid() || Compatible(mine, theirs) {
		return TypedAdvice{}, false
	}
	t := Lookup(id)
	if t.Relation(mine.Kind(), theirs.Kind()) == OtherPart {
		return TypedAdvice{Apart: true}, true
	}
	if m, apart := t.standIn(mine.Kind(), theirs.Kind()); m != nil {
		return TypedAdvice{Mine: m, Apart: apart}, true
	}
	if m, apart := t.standIn(theirs.Kind(), mine.Kind()); m != nil {
		return TypedAdvice{Theirs: m, Apart: apart}, true
	}
	return TypedAdvice{}, false
}

// standIn finds the method that is nearest to a kind of lock, by name, of those
// that go together with another kind.
func (t *Type) standIn(of, with Kind) (best *TypeMethod, apart bool) {
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

func commonPrefix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// FullName is the type and the method: "set.contains".
func (m *TypeMethod) FullName() string {
	if m == nil {
		return ""
	}
	return m.Type.Name + "." + m.Name
}

// Called is the method as receipts name it; MethodNone for nil.
func (m *TypeMethod) Called() Method {
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
