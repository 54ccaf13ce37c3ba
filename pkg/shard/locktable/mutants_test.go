//go:build mutants

package locktable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// TestBrokenPhaseRulesAreDetected breaks each rule by a mutant: its schedule then fails.
func TestBrokenPhaseRulesAreDetected(t *testing.T) {
	for _, p := range phaseRules {
		t.Run(p.name, func(t *testing.T) {
			require.False(t, p.play(New(Options{MaxPhaseCount: 3, Mutants: mutant.Of(p.broken...)})))
		})
	}
}
