//go:build mutants

package mutant

// Set is the set of violated rules.
type Set struct{ bits [4]uint64 }

// Of returns a set of rules.
func Of(ids ...ID) Set {
	var s Set
	for _, id := range ids {
		s.bits[id/64] |= 1 << (id % 64)
	}
	return s
}

// Has reports whether a rule is violated.
func (s Set) Has(id ID) bool { return s.bits[id/64]&(1<<(id%64)) != 0 }

// All returns every ID.
func All() []ID {
	ids := make([]ID, numMutants)
	for i := range ids {
		ids[i] = ID(i)
	}
	return ids
}
