package sim

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSeedDeterminesHistory runs seeds twice and expects the same events in the same order. A failure can be replayed
// only if nothing is left to chance, the order of a map included.
func TestSeedDeterminesHistory(t *testing.T) {
	t.Parallel()
	for seed := int64(1); seed <= 40; seed++ {
		history := func() (hash [32]byte, lines int, s Summary) {
			h := sha256.New()
			o := Draw(seed)
			o.Trace = func(format string, args ...any) {
				lines++
				fmt.Fprintf(h, format+"\n", args...)
			}
			s, err := Run(o)
			require.NoError(t, err)
			h.Sum(hash[:0])
			return hash, lines, s
		}
		hash, lines, sum := history()
		require.Greater(t, lines, 100, "seed %d", seed)
		again, linesAgain, sumAgain := history()
		require.Equal(t, sum, sumAgain, "seed %d", seed)
		require.Equal(t, lines, linesAgain, "seed %d", seed)
		require.Equal(t, hash, again, "seed %d", seed)
	}
}
