//go:build mutants

package sim

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

var (
	budgetFlag = flag.Duration("budget", 10*time.Second, "how long to look for a seed that catches a mutant")
	triesFlag  = flag.Int("tries", 2000, "how many seeds to try")
	mutantFlag = flag.String("mutant", "", "the mutant of TestOneMutant")
	soundFlag  = flag.Bool("sound", false, "leave the mutant out, and expect nothing to be noticed")
	graphFlag  = flag.Bool("graph", false, "leave the model to itself, so that the graph judge has to notice")
	freshFlag  = flag.Bool("fresh", false, "do not begin with the seeds that are known")
)

// hunt says how a mutant is caught: in runs shaped for it, for instance with
// the seed.
type hunt struct {
	id    mutant.ID
	name  string
	seed  int64
	shape func(*Options)
	// readers: read-only transactions take no locks.
	readers bool
	// typed: methods of data types are called.
	typed bool
	// model: the graph judge alone does not notice, or seldom.
	model bool
	// with are broken too: they would heal the damage.
	with []mutant.ID
}

// TestMutants breaks one rule at a time and expects the simulator to notice:
// first with the seed that is known to do it, then with others. The unbroken
// code passes the same seed. The machines' own invariants are not looked at,
// so that only what clients see, or wait for, counts.
func TestMutants(t *testing.T) {
	listed := map[mutant.ID]bool{}
	for _, h := range append(hunts, typedHunts...) {
		listed[h.id] = true
		t.Run(h.name, func(t *testing.T) {
			if *soundFlag {
				h.play(t)
				return
			}
			seed, tries, err := h.catch()
			if err == nil {
				t.Fatalf("not caught in %d histories", tries)
			}
			t.Logf("seed %d, the %d. tried: %v\ntold by: go test -tags mutants ./test/sim -run OneMutant -v -mutant=%q -seed=%d",
				seed, tries, err, h.name, seed)
			if _, err := Run(h.options(seed, mutant.Of(h.with...))); err != nil {
				t.Fatalf("the unbroken code fails with seed %d: %v", seed, err)
			}
		})
	}
	for _, id := range mutant.All() {
		// Some only have others wait, which single schedules show (test/scenario,
		// TestABrokenRuleStarvesWriters, and TestABrokenRuleOfRounds); an acknowledgement of another commit needs a
		// schedule of its own (pkg/shard), and so does an attempt that waits for an earlier one.
		elsewhere := []mutant.ID{mutant.AckOfAnyCommit, mutant.AttemptsEqualAge, mutant.OthersTwice, mutant.NoPhaseCap, mutant.HeldAgeNotInherited, mutant.NoRoundGaps,
			mutant.IDsBelieved, mutant.AttemptsBeginAnew, mutant.IdleHoldersKept, mutant.PingsCount, mutant.HoldsUncounted,
			mutant.RoundLeaseUnchecked, mutant.RoundsAnsweredDurable, mutant.RoundsWaitForever, mutant.LeftOutForgotten, mutant.LeftOutBackAtOnce,
			mutant.LeftOutDecides}
		if !listed[id] && !slices.Contains(elsewhere, id) {
			t.Errorf("mutant %d is not hunted", id)
		}
	}
}

// TestTheGraphJudgeAloneNotices leaves the model out, which goes by the order of
// the decisions. The graph of dependencies has to show what is wrong.
func TestTheGraphJudgeAloneNotices(t *testing.T) {
	*graphFlag = true
	defer func() { *graphFlag = false }()
	for _, h := range typedHunts {
		if h.model {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			seed, tries, err := h.catch()
			if err == nil {
				t.Fatalf("not caught in %d histories", tries)
			}
			t.Logf("seed %d, the %d. tried: %v", seed, tries, err)
		})
	}
}

func (h *hunt) options(seed int64, m mutant.Set) Options {
	o := drawUpdates(seed)
	// No transaction registers, and a shard that has restarted holds no commits back for long.
	o.Reads, o.Lease = txn.LockingReads, time.Millisecond
	o.PinEvery, o.Mix.Scan, o.Mix.Snapshot = 0, 0, 0
	if h.readers {
		o = Draw(seed)
		o.Reads = txn.SnapshotReads
	}
	o.MoveEvery, o.Expiring, o.Jumps, o.Mix.Conclude, o.Views, o.OneShotViews = 0, false, 0, 0, 0, 0 // but for the hunts that are about that
	o.SlowDisks, o.Stops = 0, 0
	o.NoEarlyLocks, o.Machines = true, 0
	o.Things, o.Batch, o.Sharing = 0, 0, shard.Sharing{}
	if h.typed {
		o.Things = 1
	}
	o.Places, o.KeyPlaces, o.KeyPins, o.KeyWaiters = 0, 0, 0, 0
	o.Users, o.Told, o.Mix.Again, o.Mix.Twice, o.SentOnce = 0, false, 0, 0, true
	if h.shape != nil {
		h.shape(&o)
	}
	o.Mutants, o.Unchecked, o.GraphOnly = m, true, *graphFlag
	return o
}

// catch looks for a history in which the mutant is noticed.
func (h *hunt) catch() (seed int64, tries int, err error) {
	m, begin := mutant.Of(append([]mutant.ID{h.id}, h.with...)...), time.Now()
	if h.seed != 0 && !*freshFlag {
		err = attempt(h.options(h.seed, m))
		if err != nil {
			return h.seed, 1, err
		}
	}
	for seed = 1; tries < *triesFlag && time.Since(begin) < *budgetFlag; seed++ {
		tries++
		err = attempt(h.options(seed, m))
		if err != nil && h.alone(seed) {
			return seed, tries, err
		}
	}
	return 0, tries, nil
}

// alone reports whether it is the mutant that is noticed, and not what is broken with
// it.
func (h *hunt) alone(seed int64) bool {
	return len(h.with) == 0 || attempt(h.options(seed, mutant.Of(h.with...))) == nil
}

// play has the unbroken code pass in the shape of a mutant.
func (h *hunt) play(t *testing.T) {
	n := int64(0)
	for begin := time.Now(); time.Since(begin) < *budgetFlag; {
		n++
		if _, err := Run(h.options(n, mutant.Of(h.with...))); err != nil {
			t.Fatalf("seed %d: %v", n, err)
		}
	}
	t.Logf("%d histories", n)
}

// TestOneMutant plays -seed with the mutant that -mutant names, or without it
// in its shape, and with -v tells the story.
func TestOneMutant(t *testing.T) {
	if *mutantFlag == "" {
		t.Skip("no -mutant is named")
	}
	all := append(hunts, typedHunts...)
	at := slices.IndexFunc(all, func(h hunt) bool { return h.name == *mutantFlag })
	if at < 0 {
		t.Fatalf("there is no mutant %q", *mutantFlag)
	}
	h := &all[at]
	broken := h.with
	if !*soundFlag {
		broken = append([]mutant.ID{h.id}, broken...)
	}
	o := h.options(*seedFlag, mutant.Of(broken...))
	if testing.Verbose() {
		o.Trace = t.Logf
	}
	s, err := Run(o)
	t.Logf("%+v", s)
	if err != nil {
		t.Error(err)
	}
}

// attempt is Run, where a panic of a broken machine counts as noticed.
func attempt(o Options) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	_, err = Run(o)
	return err
}
