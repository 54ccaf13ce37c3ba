package shard

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

func TestPatienceFollowsDecisionsWithinBounds(t *testing.T) {
	for _, tc := range []struct {
		name               string
		configured, takes  time.Duration
		want               time.Duration
		nothingWasMeasured bool
	}{
		{name: "nothing is known yet", nothingWasMeasured: true, want: 0},
		{name: "messages are quick", takes: 90 * time.Microsecond, want: 90 * time.Microsecond},
		{name: "messages take no time", takes: time.Microsecond, want: leastPatience},
		{name: "messages take long", takes: 30 * time.Millisecond, want: kv.DefaultUnsealAfter},
		{name: "a time was configured", configured: time.Second, takes: 90 * time.Microsecond, want: 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, _ := New(Config{UnsealAfter: tc.configured}, Recovered{}, 1, 1)
			if !tc.nothingWasMeasured {
				m.decisions.note(int64(tc.takes))
			}
			require.Equal(t, tc.want, m.patience())
		})
	}
}
