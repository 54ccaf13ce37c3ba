package sim

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	seedFlag  = flag.Int64("seed", 0, "play this seed alone")
	seedsFlag = flag.Int("seeds", 0, "how many seeds to play at most, 0 for any number")
	fromFlag  = flag.Int64("from", 1, "the first seed")
	timeFlag  = flag.Duration("duration", 20*time.Second, "how long to play seeds at most")
)

// TestSim plays random clusters. With -seed it plays one of them, and with -v
// it tells the whole story.
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
	t.Logf("%d histories: %d transactions, %d commits, %d aborts, %d returns to savepoints, %d expiries of %d, %d unknown, %d enquiries, %d crashes, %d full disks, %d moves, %d refused, %d states lent; %d steps, %d messages; %.0f transactions/s",
		n, sum.Txns, sum.Committed, sum.Aborted, sum.Undone, sum.Expired, sum.Due, sum.Unknown, sum.Enquiries, sum.Crashes, sum.Fills, sum.Moved+sum.Planned, sum.Refused, sum.Lent, sum.Steps, sum.Messages,
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

// TestAChangeOfAPagedValueWithADeadline plays a seed in which a deadline and a
// change together are written as a change, of a value whose pages are not in
// memory. What it became cannot be compared there and then, only in the end.
func TestAChangeOfAPagedValueWithADeadline(t *testing.T) {
	_, err := Run(Draw(400460))
	require.NoError(t, err)
}

// TestANewShardLooksAtADeadlineOfAnotherClock plays a seed in which a shard that has never read the
// table of deadlines finds one that was not set by a clock of its own, and panicked.
func TestANewShardLooksAtADeadlineOfAnotherClock(t *testing.T) {
	_, err := Run(Draw(10184))
	require.NoError(t, err)
}
