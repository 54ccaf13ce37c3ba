//go:build mutants

package mutant

import "testing"

// TestSetHasExactlyItsElements covers every rule, since the last one may exceed the bits of a Set.
func TestSetHasExactlyItsElements(t *testing.T) {
	for _, id := range All() {
		for _, other := range All() {
			if Of(id).Has(other) != (id == other) {
				t.Fatalf("a set of %d: has %d %v", id, other, !(id == other))
			}
		}
	}
}
