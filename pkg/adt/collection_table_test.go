package adt

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCollectionTablesAreMinimal loosens each table in one entry at a time: pairs that commute on
// other parts, or never, are declared to commute always. The check finds a counterexample each
// time, so no entry is stricter than needed and the check would find an error in the table. (A pair
// that never commutes has a side without parts.)
func TestCollectionTablesAreMinimal(t *testing.T) {
	requireMinimal(t, setSpec())
	requireMinimal(t, mapSpec())
	requireMinimal(t, sortedSpec())
	requireMinimal(t, listSpec())
}

// TestCoversMatchesCompatibility: a mode covers another mode of its type if, and only if,
// everything compatible with the first is compatible with the second.
func TestCoversMatchesCompatibility(t *testing.T) {
	covered := 0
	for _, made := range Types() {
		modes := []Mode{ModeRead, ModeAdd, ModeWrite, newMode(100, 1, 0)}
		for k := Kind(1); int(k) <= len(made.Kinds); k++ {
			for part := range uint64(4) { // the whole, and more parts than are compared
				modes = append(modes, newMode(made.ID, k, part))
			}
		}
		for _, a := range modes[4:] {
			for _, b := range modes[4:] {
				if a.Part() > 2 || b.Part() > 2 {
					continue
				}
				better := !slices.ContainsFunc(modes, func(c Mode) bool { return Compatible(a, c) && !Compatible(b, c) })
				require.Equal(t, better, Covers(a, b), "%v and %v", a, b)
				if joined, ok := Join(a, b); better {
					covered++
					require.True(t, ok && Covers(joined, a) && Covers(joined, b), "%v and %v", a, b)
				}
			}
		}
	}
	require.Greater(t, covered, 500)
	of := func(t *Type, name string, part uint64) Mode {
		return newMode(t.ID, Kind(1+slices.IndexFunc(t.Kinds, func(k KindSpec) bool { return k.Name == name })), part)
	}
	b, s := Lookup(BoundedCounter), Lookup(Set)
	require.True(t, Covers(of(b, "alone", 0), of(b, "add", 0)))
	require.True(t, Covers(of(s, "take", 5), of(s, "member", 5)))
	require.True(t, Covers(of(s, "all", 0), of(s, "member", 5)))
	require.False(t, Covers(of(s, "take", 5), of(s, "member", 6)))
	require.False(t, Covers(of(s, "member", 5), of(s, "add", 5)), "it does not keep out readers")
}

func requireMinimal[S any](t *testing.T, spec Spec[S]) {
	right, err := Declare(spec)
	require.NoError(t, err)
	for a := Kind(1); int(a) <= len(spec.Kinds); a++ {
		for b := a; int(b) <= len(spec.Kinds); b++ {
			if right.Relation(a, b) == Always {
				continue
			}
			name := fmt.Sprintf("%s/%s and %s", spec.Name, spec.Kinds[a-1].Name, spec.Kinds[b-1].Name)
			t.Run(name, func(t *testing.T) {
				wrong := spec
				wrong.Commute = append(slices.Clone(spec.Commute), Commutes{a, b, Always})
				declared, err := Declare(wrong)
				require.NoError(t, err)
				for seed := uint64(7); seed < 17 && err == nil; seed++ {
					err = refute(declared, seed, 20_000)
				}
				require.Error(t, err, "no counterexample to the loosened entry")
			})
		}
	}
}
