//go:build mutants

package mutant

// Set is the rules that a machine breaks.
type Set struct{ bits [4]uint64 }

// Of makes a set.
func Of(ids ...ID) Set {
	var s Set
	for _, id := range ids {
		s.bits[id/64] |= 1 << (id % 64)
	}
	return s
}

// Has reports whether the rule is broken.
func (s Set) Has(id ID) bool { return s.bits[id/64]&(1<<(id%64)) != 0 }

// All lists every mutant.
func All() []ID {
	ids := make([]ID, numMutants)
	for i := range ids {
		ids[i] = ID(i)
	}
	return ids
}
