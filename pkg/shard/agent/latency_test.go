package agent

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// TestMedianEstimateFollowsSamples checks the estimate for samples of which a fifth are a hundred times as
// long, so that their mean is far off, and after the samples change.
func TestMedianEstimateFollowsSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var estimate median
	for _, middle := range []int64{60_000, 3_000_000, 100} {
		for range 300 {
			d := middle/2 + r.Int64N(middle)
			if r.IntN(5) == 0 {
				d *= 100
			}
			estimate.add(d)
		}
		require.InEpsilon(t, middle, estimate.nanos, 0.5)
	}
}

func TestUnsealAfterFollowsDecisionsWithinBounds(t *testing.T) {
	for _, tc := range []struct {
		name        string
		takes, want time.Duration
	}{
		{"messages are quick", 90 * time.Microsecond, 90 * time.Microsecond},
		{"messages take no time", time.Microsecond, MinWait},
		{"messages take long", 30 * time.Millisecond, kv.DefaultUnsealAfter},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p latencies
			p.sealedToDecision.add(int64(tc.takes))
			require.Equal(t, tc.want, p.unsealAfter())
		})
	}
}
