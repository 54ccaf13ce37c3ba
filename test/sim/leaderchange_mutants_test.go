//go:build mutants

package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

func TestMutantRefusesWorkForShardsOfANodeThatIsDown(t *testing.T) {
	for _, drains := range []bool{false, true} {
		require.NotEmpty(t, failuresOf(t, mutant.Of(mutant.DownNodeRefuses), drains))
	}
}

func TestMutantHasMachinesDisagree(t *testing.T) {
	require.NotEmpty(t, disagreeing(t, mutant.Of(mutant.IncarnationsPerMachine)))
}
