package adt

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTablesOfCollectionsAreAsLooseAsTheyCanBe loosens each table in one place at
// a time: what goes together on other parts, or never, always does. Each time the
// check finds what goes wrong. So the tables forbid nothing without need, and the
// check would find an error in them. (Who never goes together has a side without
// parts, of which there are no others.)
func TestTablesOfCollectionsAreAsLooseAsTheyCanBe(t *testing.T) {
	loosened(t, setSpec())
	loosened(t, dictSpec())
	loosened(t, scoredSpec())
	loosened(t, listSpec())
}

func loosened[S any](t *testing.T, spec Spec[S]) {
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
					err = Check(declared, seed, 20_000)
				}
				require.Error(t, err, "nothing was found to go wrong if they always went together")
			})
		}
	}
}
