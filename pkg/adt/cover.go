package adt

// coverage tells for which parts of a value one kind of lock keeps out all that
// another one does, so that who holds the one need not ask for the other.
type coverage uint8

const (
	// coversWhole: held for all of the value, whatever the other is about.
	coversWhole coverage = 1 << iota
	// coversSame: held for the same part.
	coversSame
	// coversAny: held for any part at all.
	coversAny
)

// cover compares two kinds by what they keep out. A lock for all of the value keeps
// out those for any part that it does not always go with, whether or not others
// would go together.
func (t *Type) cover(a, b Kind) coverage {
	if t.Kinds[b-1].Changes && !t.Kinds[a-1].Changes {
		return 0 // it does not keep out readers
	}
	out := coversWhole | coversSame | coversAny
	for k := Kind(1); int(k) <= len(t.Kinds); k++ {
		mine, theirs := t.Relation(a, k), t.Relation(b, k)
		switch {
		case theirs == Always || mine == 0:
		case mine == Always:
			return 0
		case theirs == OtherPart:
			out &^= coversAny
		default:
			out &^= coversAny | coversSame
		}
	}
	return out
}

// covers reports whether one mode of the type keeps out all that another one does.
func (t *Type) covers(a, b Mode) bool {
	if t == nil || !t.has(a.Kind()) || !t.has(b.Kind()) {
		return false
	}
	c := t.coverage[a.Kind()-1][b.Kind()-1]
	return c&coversAny != 0 || a.Part() == 0 && c&coversWhole != 0 || a.Part() == b.Part() && c&coversSame != 0
}
