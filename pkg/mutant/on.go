//go:build mutants

package mutant

// Set is the rules that a machine breaks.
type Set struct{ bits uint64 }

// Of makes a set.
func Of(ids ...ID) Set {
	var s Set
	for _, id := range ids {
		s.bits |= 1 << id
	}
	return s
}

// Has reports whether the rule is broken.
func (s Set) Has(id ID) bool { return s.bits&(1<<id) != 0 }

// All lists every mutant.
func All() []ID {
	ids := make([]ID, numMutants)
	for i := range ids {
		ids[i] = ID(i)
	}
	return ids
}
