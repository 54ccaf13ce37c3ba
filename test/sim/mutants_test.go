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
	budgetFlag = flag.Duration("budget", time.Minute, "how long to search for a seed that detects a mutant")
	triesFlag  = flag.Int("tries", 2000, "how many seeds to try")
	mutantFlag = flag.String("mutant", "", "the mutant of TestOneMutant")
	soundFlag  = flag.Bool("sound", false, "run without the mutant, and expect no violation")
	graphFlag  = flag.Bool("graph", false, "run without the model, so that the graph checker has to detect violations")
	freshFlag  = flag.Bool("fresh", false, "do not try the known seeds first")
)

// target is a targeted simulation that detects a mutant: runs with options shaped for it, and a seed that is known to
// detect it.
type target struct {
	id    mutant.ID
	name  string
	seed  int64
	shape func(*Options)
	// readers: read-only transactions take no locks.
	readers bool
	// replicas: shards have three replicas. members: they change.
	replicas, members bool
	// typed: clients call methods of data types.
	typed bool
	// model: only the model detects it reliably, not the graph checker.
	model bool
	// with lists other mutants that are needed, because the rules that they break would hide this one.
	with []mutant.ID
}

// TestMutants breaks one rule at a time and expects that the simulation detects it: first with the known seed, then
// with others. The unbroken code passes with the same seed. The machines' own invariants are not checked, so that only
// results and progress of clients count.
func TestMutants(t *testing.T) {
	t.Parallel()
	listed := map[mutant.ID]bool{}
	for _, h := range slices.Concat(targets, typedTargets, replicaTargets) {
		listed[h.id] = true
		t.Run(h.name, func(t *testing.T) {
			if *soundFlag {
				h.checkUnbroken(t)
				return
			}
			seed, tries, err := h.find()
			if err == nil {
				t.Fatalf("not detected in %d histories", tries)
			}
			t.Logf("seed %d, the %d. tried: %v\nreplay: go test -tags mutants ./test/sim -run OneMutant -v -mutant=%q -seed=%d",
				seed, tries, err, h.name, seed)
			if _, err := Run(h.options(seed, mutant.Of(h.with...))); err != nil {
				t.Fatalf("the unbroken code fails with seed %d: %v", seed, err)
			}
		})
	}
	for _, id := range mutant.All() {
		// Mutants that other tests detect. Some only delay transactions, which test/scenario, TestMutantsStarveWriters and
		// TestMutantsOfRoundsLetSlowNodeSlowOthers show. An acknowledgement of another commit, and an attempt that waits for
		// an earlier one, need exact schedules (pkg/shard).
		otherTests := []mutant.ID{mutant.AckOfAnyCommit, mutant.AttemptsEqualAge, mutant.OthersTwice, mutant.NoPhaseCap,
			mutant.TimeBlockedNotInherited, mutant.NoRoundGaps,
			mutant.SilentGatewayKept,
			mutant.IDTimesTrusted, mutant.AttemptsBeginAnew, mutant.IdleHoldersKept, mutant.PingsCount, mutant.HoldsUncounted,
			mutant.RoundLeaseUnchecked, mutant.RoundsAnsweredDurable, mutant.RoundsWaitForever, mutant.ExclusionForgotten,
			mutant.ExclusionEndsAtProbe,
			mutant.ExcludedShardDecides}
		if id >= mutant.LeaderLeaseIgnored { // pkg/consensus, and the tests of leaders in pkg/shard and pkg/txn, detect them
			continue
		}
		if !listed[id] && !slices.Contains(otherTests, id) {
			t.Errorf("mutant %d has no target", id)
		}
	}
}

// TestGraphCheckerAloneDetectsMutants runs without the model, which relies on the order of the decisions. The
// dependency graph alone must show the violation; that of range locks consists of keys that scans did not return.
func TestGraphCheckerAloneDetectsMutants(t *testing.T) {
	t.Parallel()
	*graphFlag = true
	defer func() { *graphFlag = false }()
	for _, h := range append(slices.Clone(typedTargets), targets...) {
		if h.model || !h.typed && h.id != mutant.RangeLocksPresentOnly {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			seed, tries, err := h.find()
			if err == nil {
				t.Fatalf("not detected in %d histories", tries)
			}
			t.Logf("seed %d, the %d. tried: %v", seed, tries, err)
		})
	}
}

func (h *target) options(seed int64, m mutant.Set) Options {
	o := drawUpdates(seed)
	// No transaction registers, and a restarted shard delays commits only briefly.
	o.Reads, o.Lease = txn.LockingReads, time.Millisecond
	o.SnapshotEvery, o.Mix.Scan, o.Mix.Snapshot = 0, 0, 0
	if h.readers {
		o = Draw(seed)
		o.Reads = txn.SnapshotReads
	}
	if h.replicas {
		o = DrawReplicas(seed)
	}
	if h.members {
		o = DrawMembers(seed)
	}
	// except for targets of these features
	o.MoveEvery, o.Expiring, o.Jumps, o.Mix.UseImplied, o.Views, o.OneShotViews = 0, false, 0, 0, 0, 0
	o.SlowDisks, o.Stops, o.CheckEvery, o.Alters = 0, 0, 0, 0
	o.NoEarlyLocks, o.Machines = true, 0
	o.Objects, o.Batch, o.Sharing = 0, 0, shard.Sharing{}
	if h.typed {
		o.Objects = 1
	}
	o.Slots, o.KeySlots, o.KeyReferences, o.KeyWaiters = 0, 0, 0, 0
	o.Users, o.AbortsReported, o.Mix.Resend, o.Mix.Twice, o.SentOnce = 0, false, 0, 0, true
	if h.shape != nil {
		h.shape(&o)
	}
	o.Mutants, o.Unchecked, o.GraphOnly = m, true, *graphFlag
	return o
}

// find searches for a history in which the mutant is detected.
func (h *target) find() (seed int64, tries int, err error) {
	m, begin := mutant.Of(append([]mutant.ID{h.id}, h.with...)...), time.Now()
	if h.seed != 0 && !*freshFlag {
		err = runRecovering(h.options(h.seed, m))
		if err != nil {
			return h.seed, 1, err
		}
	}
	for seed = 1; tries < *triesFlag && time.Since(begin) < *budgetFlag; seed++ {
		tries++
		err = runRecovering(h.options(seed, m))
		if err != nil && h.isSoleCause(seed) {
			return seed, tries, err
		}
	}
	return 0, tries, nil
}

// isSoleCause reports whether the seed detects the mutant, and not one of those in with.
func (h *target) isSoleCause(seed int64) bool {
	return len(h.with) == 0 || runRecovering(h.options(seed, mutant.Of(h.with...))) == nil
}

// checkUnbroken checks that the unbroken code passes with the options of the target.
func (h *target) checkUnbroken(t *testing.T) {
	n := int64(0)
	for begin := time.Now(); time.Since(begin) < *budgetFlag; {
		n++
		if _, err := Run(h.options(n, mutant.Of(h.with...))); err != nil {
			t.Fatalf("seed %d: %v", n, err)
		}
	}
	t.Logf("%d histories", n)
}

// TestOneMutant runs -seed with the mutant named by -mutant, or without a mutant in its shape. With -v it prints a
// trace.
func TestOneMutant(t *testing.T) {
	if *mutantFlag == "" {
		t.Skip("no -mutant is named")
	}
	all := slices.Concat(targets, typedTargets, replicaTargets)
	at := slices.IndexFunc(all, func(h target) bool { return h.name == *mutantFlag })
	if at < 0 {
		t.Fatalf("unknown mutant %q", *mutantFlag)
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

// runRecovering is Run; a panic of a broken machine counts as a detection.
func runRecovering(o Options) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	_, err = Run(o)
	return err
}
