package proc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStallTimeCountsSlowProbes: only slow probes count, each as far as it is in the requested period. A
// slow probe that has not ended counts too.
func TestStallTimeCountsSlowProbes(t *testing.T) {
	zero := time.Now()
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	var d stallDetector
	d.onProbeEnd(at(50), at(55)) // not slow
	d.onProbeEnd(at(100), at(400))
	d.onProbeEnd(at(450), at(460))
	d.onProbeEnd(at(500), at(1500))
	for _, c := range []struct{ from, till, stalled int }{
		{0, 2000, 1300}, {0, 90, 0}, {200, 300, 100}, {300, 600, 200}, {400, 500, 0}, {1500, 2000, 0},
	} {
		require.Equal(t, time.Duration(c.stalled)*time.Millisecond, d.stallTime(at(c.from), at(c.till)), "%v", c)
	}
	d.onProbeBegin(at(1600))
	require.Equal(t, 1300*time.Millisecond, d.stallTime(at(0), at(1610)), "the probe may still be fast")
	require.Equal(t, 1700*time.Millisecond, d.stallTime(at(0), at(2000)))
	require.Equal(t, 100*time.Millisecond, d.stallTime(at(1900), at(2000)))
	for i := range maxStalls {
		d.onProbeEnd(at(2000+100*i), at(2050+100*i))
	}
	require.LessOrEqual(t, len(d.stalls), maxStalls)
	require.Equal(t, 50*time.Millisecond, d.stallTime(at(2000+100*(maxStalls-1)), at(2000+100*maxStalls)),
		"the last stall")
}
