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
func TestSim(t *testing.T) {
	if *seedFlag != 0 {
		play(t, *seedFlag)
		return
	}
	var sum Summary
	begin, n := time.Now(), 0
	for seed := *fromFlag; ; seed++ {
		if *seedsFlag > 0 && n >= *seedsFlag || time.Since(begin) > *timeFlag {
			break
		}
		s, err := Run(Draw(seed))
		sum.add(s)
		n++
		if err != nil {
			t.Errorf("seed %d: %v\nreplay: go test ./test/sim -run 'TestSim$' -v -seed=%d", seed, err, seed)
			break
		}
	}
	t.Logf("%d histories: %d transactions, %d commits, %d aborts, %d rollbacks to savepoints, %d of %d expiries, "+
		"%d unknown, %d outcome queries, %d crashes, %d full disks, %d moves, %d refused, %d snapshots lent; "+
		"%d steps, %d messages; %.0f transactions/s",
		n, sum.Txns, sum.Committed, sum.Aborted, sum.Undone, sum.Expired, sum.Due, sum.Unknown, sum.Queries, sum.Crashes,
		sum.Fills, sum.Moved+sum.Planned, sum.Refused, sum.Lent, sum.Steps, sum.Messages,
		float64(sum.Txns)/time.Since(begin).Seconds())
}

func play(t *testing.T, seed int64) {
	o := Draw(seed)
	if testing.Verbose() {
		o.Trace = t.Logf
		t.Logf("%+v", o)
	}
	s, err := Run(o)
	t.Logf("%+v", s)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
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
