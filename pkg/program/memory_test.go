package program

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
)

func TestMemoryBudgets(t *testing.T) {
	c := &cobra.Command{Use: "start"}
	for text, want := range map[string]int64{"": 0, "512MiB": 512 << 20, "2GiB": 2 << 30, "1.5 GiB": 3 << 29,
		"2G": 2 << 30, "100%": embed.MachineMemory()} {
		n, err := budgetOf(c, text)
		require.NoError(t, err, text)
		require.Equal(t, want, n, text)
	}
	for _, text := range []string{"0", "-1GiB", "2", "much", "GiB", "%", "50%GiB", "1e300GiB", "NaNGiB"} {
		_, err := budgetOf(c, text)
		require.ErrorContains(t, err, "--memory-budget", text)
	}
}
