package agent

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// TestTypicalIsNearTheMedian: of times whose mean is far off, too; and it
// follows when they change.
func TestTypicalIsNearTheMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var x typical
	for _, median := range []int64{60_000, 3_000_000, 100} {
		for range 300 {
			d := median/2 + r.Int64N(median)
			if r.IntN(5) == 0 {
				d *= 100
			}
			x.note(d)
		}
		require.InEpsilon(t, median, x.nanos, 0.5)
	}
}

func TestUnsealAfterFollowsDecisionsWithinBounds(t *testing.T) {
	for _, tc := range []struct {
		name        string
		takes, want time.Duration
	}{
		{"messages are quick", 90 * time.Microsecond, 90 * time.Microsecond},
		{"messages take no time", time.Microsecond, LeastWait},
		{"messages take long", 30 * time.Millisecond, kv.DefaultUnsealAfter},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p pace
			p.decisions.note(int64(tc.takes))
			require.Equal(t, tc.want, p.unsealAfter())
		})
	}
}
