package sim

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	seedFlag  = flag.Int64("seed", 0, "run this seed only")
	seedsFlag = flag.Int("seeds", 0, "run at most this many seeds, 0 for any number")
	fromFlag  = flag.Int64("from", 1, "the first seed")
	timeFlag  = flag.Duration("duration", 20*time.Second, "run seeds for at most this long")
)

// TestSim runs random clusters. With -seed it runs one of them, and with -v it prints a trace.
func TestSim(t *testing.T) { runSeeds(t, *timeFlag, Draw) }

// runSeeds runs histories for a time, or as -seeds says, starting at -from; with -seed only that one.
func runSeeds(t *testing.T, limit time.Duration, draw func(seed int64) Options) {
	t.Parallel()
	if *seedFlag != 0 {
		o := draw(*seedFlag)
		if testing.Verbose() {
			o.Trace = t.Logf
			t.Logf("%+v", o)
		}
		s, err := Run(o)
		t.Logf("%+v", s)
		if err != nil {
			t.Fatalf("seed %d: %v", *seedFlag, err)
		}
		return
	}
	if *seedsFlag > 0 {
		limit = *timeFlag
	}
	var sum Summary
	begin, n := time.Now(), 0
	for seed := *fromFlag; time.Since(begin) < limit && (*seedsFlag == 0 || n < *seedsFlag); seed++ {
		s, err := Run(draw(seed))
		sum.add(s)
		n++
		if err != nil {
			t.Fatalf("seed %d: %v\nreplay: go test ./test/sim -run '%s$' -v -seed=%d", seed, err, t.Name(), seed)
		}
	}
	t.Logf("%d histories, %.0f transactions/s: %+v", n, float64(sum.Txns)/time.Since(begin).Seconds(), sum)
}

// sumOf runs the histories of n seeds, and calls each with those that passed.
func sumOf(t *testing.T, n int64, draw func(seed int64) Options, each func(w *sim)) (sum Summary) {
	t.Helper()
	for seed := range n {
		w := newSim(draw(seed))
		s, err := w.play()
		require.NoError(t, err, "seed %d", seed)
		sum.add(s)
		each(w)
	}
	return sum
}

// TestDeadlineWithChangeOfPagedValue runs a seed in which a deadline and a change are written together as a change, of
// a value whose pages are not in memory. Its new state cannot be compared at once, only at the end.
func TestDeadlineWithChangeOfPagedValue(t *testing.T) {
	_, err := Run(Draw(400460))
	require.NoError(t, err)
}

// TestNewShardReadsDeadlineOfAnotherClock runs a seed in which a shard that has never read its table of deadlines finds
// a deadline that another node's clock set. It panicked once.
func TestNewShardReadsDeadlineOfAnotherClock(t *testing.T) {
	_, err := Run(Draw(10184))
	require.NoError(t, err)
}
