//go:build mutants

package env

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

func TestMutantBelievesTheNextLeaderAtAnyTime(t *testing.T) {
	e, k := New(Config{Node: 1, Mutants: mutant.Of(mutant.RetentionUnproven)}), RetainedState{Incarnation: 3}
	e.AdvanceTo(math.MaxInt64)
	require.True(t, k.Confirm(e, 4, 0))
}
