package adt

// coverage states for which parts one kind of lock conflicts with everything that another kind
// conflicts with, so that a transaction with the first need not request the second.
type coverage uint8

const (
	// coversWhole: if the first is held for the whole value, for any part of the second.
	coversWhole coverage = 1 << iota
	// coversSame: if both are for the same part.
	coversSame
	// coversAny: for any parts.
	coversAny
)

// computeCoverage compares the conflicts of two kinds. A lock on the whole value conflicts with
// every part of the kinds with which it does not always commute.
//
// Example, for a set: insert covers add, since all that conflicts with adding x conflicts with inserting x, and so a
// transaction that has inserted x may add x under the same lock. add does not cover insert.
func (t *Type) computeCoverage(a, b Kind) coverage {
	if t.Kinds[b-1].Changes && !t.Kinds[a-1].Changes {
		return 0 // readers are compatible with a, and not with b
	}
	out := coversWhole | coversSame | coversAny
	for k := Kind(1); int(k) <= len(t.Kinds); k++ {
		mine, theirs := t.Relation(a, k), t.Relation(b, k)
		switch {
		// b conflicts with no part of k, or a conflicts with all
		// of it.
		case theirs == Always || mine == 0:
		// b conflicts with some operation of k that a permits.
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

// covers reports whether mode a of the type conflicts with everything that b conflicts with.
//
// Unknown kinds cover nothing, so an unknown lock is requested in addition.
func (t *Type) covers(a, b Mode) bool {
	if t == nil || !t.hasKind(a.Kind()) || !t.hasKind(b.Kind()) {
		return false
	}
	c := t.coverage[a.Kind()-1][b.Kind()-1]
	return c&coversAny != 0 || a.Part() == 0 && c&coversWhole != 0 || a.Part() == b.Part() && c&coversSame != 0
}
