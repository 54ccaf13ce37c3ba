//go:build mutants

package mutant

import "testing"

// TestASetHasWhatItIsMadeOf: each rule, also the last, can be broken alone.
func TestASetHasWhatItIsMadeOf(t *testing.T) {
	for _, id := range All() {
		for _, other := range All() {
			if Of(id).Has(other) != (id == other) {
				t.Fatalf("a set of %d: has %d %v", id, other, !(id == other))
			}
		}
	}
}
