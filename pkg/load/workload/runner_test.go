package workload_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/loadtest"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// slow makes a transaction take d of the bubble's virtual time, or as long as
// its deadline allows.
func slow(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return kv.Errorf(kv.KindOutcomeUnknown, "the answer did not come in time")
	}
}

// taking is a store whose transactions all take d.
func taking(d time.Duration) *loadtest.Store {
	return &loadtest.Store{Before: func(ctx context.Context, _ uint64, _ []workload.Op) (workload.Reply, error) {
		return workload.Reply{Attempts: 1}, slow(ctx, d)
	}}
}

func mustRun(t *testing.T, ctx context.Context, s workload.Store, o workload.Options) *workload.Result {
	t.Helper()
	r, err := workload.New(s, o)
	require.NoError(t, err)
	res, err := r.Run(ctx)
	require.NoError(t, err)
	return res
}

func TestAClosedLoopIsBoundByItsClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		res := mustRun(t, t.Context(), taking(10*time.Millisecond), workload.Options{
			Clients: 5, Warmup: 2 * time.Second, Duration: 4 * time.Second})
		require.Equal(t, 6*time.Second, time.Since(begun))
		require.InDelta(t, 500, res.All.ThroughputPer, 2, "5 clients, 100 a second each")
		require.InDelta(t, 2000, res.All.Committed, 5, "the warm-up is not counted")
		require.InDelta(t, 4.0, res.ElapsedS, 0.001)
		for _, ms := range []float64{res.All.Latency.P50, res.All.Latency.P999, res.All.Latency.Max} {
			require.InDelta(t, 10.0, ms, 0.01)
		}
		require.Zero(t, res.All.Failed+res.All.Unknown+res.All.Retries+res.Backlog)
		require.False(t, res.Interrupted)
	})
}

func TestKindsAddUpToAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := mustRun(t, t.Context(), taking(time.Millisecond), workload.Options{Count: 3000,
			Readers: workload.Readers{InteractiveReads: 30}})
		var sum, reads uint64
		for i, k := range res.Kinds {
			require.Equal(t, workload.Kinds()[i].String(), k.Kind)
			require.NotZero(t, k.Committed)
			sum += k.Committed
			if workload.Kinds()[i].Reads() {
				reads += k.Committed
			}
		}
		require.Equal(t, uint64(3000), sum)
		require.Equal(t, sum, res.All.Committed)
		require.Equal(t, sum-reads, res.Updates.Committed)
	})
}

// The store stalls once, for a second. A closed loop sees one slow transaction
// a client; an open loop sees everyone who would have come in that second.
func TestAnOpenLoopCountsTheWaitOfThoseWhoWouldHaveCome(t *testing.T) {
	stalling := func() *loadtest.Store {
		return &loadtest.Store{Before: func(ctx context.Context, n uint64, _ []workload.Op) (workload.Reply, error) {
			d := time.Millisecond
			if n == 100 {
				d = time.Second
			}
			return workload.Reply{Attempts: 1}, slow(ctx, d)
		}}
	}
	synctest.Test(t, func(t *testing.T) {
		res := mustRun(t, t.Context(), stalling(), workload.Options{Clients: 1, Duration: 5 * time.Second})
		require.InDelta(t, 1, res.All.Latency.P99, 0.1, "coordinated omission, as is right for a closed loop")
		require.InDelta(t, 1000, res.All.Latency.Max, 1)
	})
	synctest.Test(t, func(t *testing.T) {
		res := mustRun(t, t.Context(), stalling(), workload.Options{Clients: 1, Rate: 500, Duration: 5 * time.Second})
		require.InDelta(t, 2500, res.All.Committed, 2)
		require.InDelta(t, 500, res.All.ThroughputPer, 1)
		// 500 came during the stall; catching up at 1000 a second took
		// another second and 500 more. So 1000 of 2500 were late by between
		// nought and a second.
		require.InDelta(t, 1, res.All.Latency.P50, 0.1)
		require.InDelta(t, 750, res.All.Latency.P90, 15)
		require.InDelta(t, 975, res.All.Latency.P99, 15)
		require.InDelta(t, 1000, res.All.Latency.Max, 1)
		require.InDelta(t, 998, res.Lag.Max, 3)
		require.Zero(t, res.Backlog)
	})
}

func TestAnOpenLoopAboveWhatTheStoreCanDoReportsItsBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		res := mustRun(t, t.Context(), taking(10*time.Millisecond), workload.Options{
			Clients: 2, Rate: 300, Warmup: time.Second, Duration: 3 * time.Second})
		require.InDelta(t, 4000, time.Since(begun).Milliseconds(), 11, "the backlog is not worked off")
		require.InDelta(t, 200, res.All.ThroughputPer, 1)
		require.InDelta(t, 4*(300-200), res.Backlog, 3)
		require.Greater(t, res.All.Latency.P50, 500.0, "and the latency says how long they waited")
	})
}

func TestARateIsKeptByHoweverManyClients(t *testing.T) {
	for _, clients := range []int{4, 40} {
		synctest.Test(t, func(t *testing.T) {
			res := mustRun(t, t.Context(), taking(3*time.Millisecond), workload.Options{
				Clients: clients, Rate: 1000, Count: 5000, Warmup: 100 * time.Millisecond})
			require.Equal(t, uint64(5000), res.All.Committed)
			require.InDelta(t, 1000, res.All.ThroughputPer, 2)
			require.InDelta(t, 3, res.All.Latency.P99, 0.1)
		})
	}
}

func TestACountIsMetExactlyAndRepeatsItself(t *testing.T) {
	// The transactions of a run, as a multiset, without the tag of the run.
	ran := func(speed time.Duration) []string {
		var mu sync.Mutex
		var all []string
		synctest.Test(t, func(t *testing.T) {
			s := &loadtest.Store{Before: func(ctx context.Context, n uint64, ops []workload.Op) (workload.Reply, error) {
				line := ""
				for _, o := range ops {
					v := o.Value
					if v != nil {
						v = v[len("tag---"):]
					}
					line += fmt.Sprintf("%d %s %s %d;", o.Kind, o.Key, v, o.Delta)
				}
				mu.Lock()
				all = append(all, line)
				mu.Unlock()
				return workload.Reply{Attempts: 1}, slow(ctx, speed*time.Duration(1+n%7))
			}}
			res := mustRun(t, t.Context(), s, workload.Options{Clients: 7, Count: 1003, Seed: 5, Skew: 1, Shuffle: true,
				Keys: 500})
			require.Equal(t, uint64(1003), res.All.Committed)
		})
		require.Len(t, all, 1003)
		slices.Sort(all)
		return all
	}
	require.Equal(t, ran(time.Millisecond), ran(time.Microsecond))
}

func TestDurationAndCountTogetherEndAtWhicheverComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := workload.Options{Clients: 1, Count: 100, Duration: 10 * time.Second}
		res := mustRun(t, t.Context(), taking(10*time.Millisecond), o)
		require.Equal(t, uint64(100), res.All.Committed)
		require.InDelta(t, 1, res.ElapsedS, 0.011)
		o.Duration = 500 * time.Millisecond
		res = mustRun(t, t.Context(), taking(10*time.Millisecond), o)
		require.InDelta(t, 50, res.All.Committed, 1)
		require.InDelta(t, 0.5, res.ElapsedS, 0.001)
	})
}

func TestTheHotSpotMovesWithTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type second struct{ at, hits int }
		hottest := map[string]*second{}
		begun := time.Now()
		s := &loadtest.Store{Before: func(ctx context.Context, _ uint64, ops []workload.Op) (workload.Reply, error) {
			k := string(ops[0].Key)
			if hottest[k] == nil {
				hottest[k] = &second{at: int(time.Since(begun) / time.Second)}
			}
			hottest[k].hits++
			return workload.Reply{Attempts: 1}, slow(ctx, time.Millisecond)
		}}
		r, err := workload.New(s, workload.Options{Clients: 1, Ops: 1, Skew: 3, Keys: 1000, Shuffle: true,
			Mix: workload.Mix{WriteOnly: 1}, Duration: 3 * time.Second, MoveHotEvery: time.Second})
		require.NoError(t, err)
		_, err = r.Run(t.Context())
		require.NoError(t, err)
		for moves := range uint64(3) {
			k := hottest[string(r.KeyOf(0, moves))]
			require.NotNil(t, k)
			require.Equal(t, int(moves), k.at)
			require.InDelta(t, 832, k.hits, 60, "the first key's share is 83 %%")
		}
	})
}

func TestAnInterruptedRunEndsWhatItBeganAndReports(t *testing.T) {
	for _, rate := range []float64{0, 50} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 1050*time.Millisecond)
			defer cancel()
			begun := time.Now()
			res := mustRun(t, ctx, taking(100*time.Millisecond), workload.Options{Clients: 3, Rate: rate, Duration: time.Hour})
			require.True(t, res.Interrupted)
			require.InDelta(t, 1100, time.Since(begun).Milliseconds(), 61)
			require.Zero(t, res.All.Unknown, "the last ones were not cut off")
			require.InDelta(t, 33, res.All.Committed, 4)
			require.InDelta(t, 30, res.All.ThroughputPer, 3)
		})
	}
}

func TestEveryOutcomeIsCountedByItsKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &loadtest.Store{Before: func(_ context.Context, n uint64, _ []workload.Op) (workload.Reply, error) {
			switch n % 10 {
			case 1:
				return workload.Reply{Attempts: 3, Aborts: []string{"wounded", "stale read"}}, nil
			case 2:
				return workload.Reply{Attempts: 4, Aborts: []string{"wounded"}}, kv.Errorf(kv.KindAborted, "gave up")
			case 3:
				return workload.Reply{Attempts: 1}, fmt.Errorf("wrapped: %w", kv.Errorf(kv.KindOutcomeUnknown, "lost"))
			}
			return workload.Reply{Attempts: 1}, nil
		}}
		res := mustRun(t, t.Context(), s, workload.Options{Clients: 4, Count: 1000, Mix: workload.Mix{WriteOnly: 1}})
		require.Equal(t, uint64(800), res.All.Committed)
		require.Equal(t, uint64(100), res.All.Failed)
		require.Equal(t, uint64(100), res.All.Unknown)
		require.Equal(t, uint64(100*2+100*3), res.All.Retries)
		require.Equal(t, map[string]uint64{"wounded": 200, "stale read": 100, workload.NotReported: 200}, res.Aborts)
		require.Equal(t, map[string]uint64{"Aborted": 100, "OutcomeUnknown": 100}, res.Errors)
		require.Equal(t, res.All.Retries, res.Kinds[workload.WriteOnly].Retries)
	})
}

func TestAReadWhoseAnswerWasLostHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &loadtest.Store{Before: func(_ context.Context, n uint64, _ []workload.Op) (workload.Reply, error) {
			if n%2 == 0 {
				return workload.Reply{}, kv.Errorf(kv.KindOutcomeUnknown, "lost")
			}
			return workload.Reply{}, nil
		}}
		res := mustRun(t, t.Context(), s, workload.Options{Clients: 1, Count: 10, Mix: workload.Mix{ReadOnly: 1}})
		require.Equal(t, uint64(5), res.All.Failed)
		require.Zero(t, res.All.Unknown)
	})
}

func TestAStoreThatRefusesAtOnceIsNotFlooded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &loadtest.Store{Before: func(context.Context, uint64, []workload.Op) (workload.Reply, error) {
			return workload.Reply{}, kv.Errorf(kv.KindUnavailable, "the node is down")
		}}
		r, err := workload.New(s, workload.Options{Clients: 2, Duration: 10 * time.Second})
		require.NoError(t, err)
		res, err := r.Run(t.Context())
		require.ErrorIs(t, err, workload.ErrNothingCommitted)
		require.InDelta(t, 2*10_000/128, res.All.Failed, 20)
		require.Equal(t, res.All.Failed, res.Errors["Unavailable"])
		require.Zero(t, res.All.Latency)
	})
}

func TestATransactionHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := workload.New(taking(time.Hour), workload.Options{Clients: 2, Duration: time.Second,
			Timeout: 300 * time.Millisecond,
			Mix:     workload.Mix{WriteOnly: 1}})
		require.NoError(t, err)
		res, err := r.Run(t.Context())
		require.ErrorIs(t, err, workload.ErrNothingCommitted)
		require.InDelta(t, 2*4, res.All.Unknown, 2)
	})
}

func TestInteractiveRunsUseTheOtherCall(t *testing.T) {
	for _, interactive := range []bool{false, true} {
		s := &callCounter{}
		mustRun(t, t.Context(), s, workload.Options{Clients: 1, Count: 20, Interactive: interactive})
		require.Equal(t, map[bool]int{interactive: 20}, s.calls)
	}
}

type callCounter struct{ calls map[bool]int }

func (c *callCounter) call(interactive bool) (workload.Reply, error) {
	if c.calls == nil {
		c.calls = map[bool]int{}
	}
	c.calls[interactive]++
	return workload.Reply{}, nil
}

func (c *callCounter) Execute(context.Context, []workload.Op) (workload.Reply, error) {
	return c.call(false)
}

func (c *callCounter) Scan(context.Context, workload.Range, func(workload.Pair) bool) error {
	return nil
}

func (c *callCounter) Transact(context.Context, []workload.Op) (workload.Reply, error) {
	return c.call(true)
}

func TestProgressReportsTheStateOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var snaps []workload.Snapshot
		begun := time.Now()
		mustRun(t, t.Context(), taking(10*time.Millisecond), workload.Options{
			Clients: 2, Warmup: 1500 * time.Millisecond, Duration: 2 * time.Second,
			Reporting: workload.Reporting{Progress: func(s workload.Snapshot) {
				require.Equal(t, time.Since(begun), s.Elapsed)
				snaps = append(snaps, s)
			}}})
		require.Len(t, snaps, 4)
		require.Equal(t, []workload.Phase{workload.Warmup, workload.Measuring, workload.Measuring, workload.Finished},
			[]workload.Phase{snaps[0].Phase, snaps[1].Phase, snaps[2].Phase, snaps[3].Phase})
		require.Zero(t, snaps[0].Committed)
		for _, s := range snaps {
			require.InDelta(t, 200, s.Rate, 3, "the warm-up is seen, too")
		}
		require.InDelta(t, 100, snaps[1].Committed, 3)
		require.InDelta(t, 300, snaps[2].Committed, 3)
		require.InDelta(t, 400, snaps[3].Committed, 3)
		require.InDelta(t, 10, float64(snaps[3].P99.Microseconds())/1000, 0.02)
		require.Equal(t, workload.Measuring, snaps[2].Phase)
	})
}

// record is a Recorder that remembers.
type record struct {
	mu     sync.Mutex
	open   int
	counts map[workload.Outcome]int
	reads  int
}

func (r *record) Begin(workload.Txn) func(workload.Reply, workload.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
	return func(reply workload.Reply, o workload.Outcome) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.open--
		r.counts[o]++
		r.reads += len(reply.Results)
	}
}

func TestTheRecorderGetsEveryTransactionOfTheWarmupToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &record{counts: map[workload.Outcome]int{}}
		s := &loadtest.Store{Before: func(ctx context.Context, n uint64, _ []workload.Op) (workload.Reply, error) {
			if n%5 == 0 {
				return workload.Reply{}, kv.Errorf(kv.KindAborted, "no")
			}
			return workload.Reply{}, slow(ctx, time.Millisecond)
		}}
		res := mustRun(t, t.Context(), s, workload.Options{Clients: 1, Ops: 3, Mix: workload.Mix{ReadOnly: 1},
			Warmup: time.Second, Count: 500, Recorder: rec})
		require.Zero(t, rec.open)
		require.Equal(t, 3*rec.counts[workload.Committed], rec.reads)
		require.Greater(t, rec.counts[workload.Committed], int(res.All.Committed)+500)
		require.Greater(t, rec.counts[workload.Failed], int(res.All.Failed)+100)
		require.Zero(t, rec.counts[workload.Unknown])
	})
}

func TestFreshKeysAreThoseOfNoOtherRun(t *testing.T) {
	s := &loadtest.Store{}
	o := workload.Options{Count: 1, Clients: 1, Ops: 1, Mix: workload.Mix{WriteOnly: 1}, Seed: 3, FreshKeys: true}
	for runs := 1; runs <= 3; runs++ {
		mustRun(t, t.Context(), s, o)
		require.Equal(t, runs, s.Len())
	}
}

func TestManyClientsShareARunner(t *testing.T) {
	res := mustRun(t, t.Context(), &loadtest.Store{}, workload.Options{Clients: 100, Count: 5000, Skew: 1.2})
	require.Equal(t, uint64(5000), res.All.Committed)
}
