//go:build mutants

package locktable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// TestPhasesOfCallsBroken: without its rule, none ends well.
func TestPhasesOfCallsBroken(t *testing.T) {
	for _, p := range phases {
		t.Run(p.name, func(t *testing.T) {
			require.False(t, p.play(New(Options{MaxPhaseCount: 3, Mutants: mutant.Of(p.broken...)})))
		})
	}
}
