package workload_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/loadtest"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// loaded is a store with n registers and counters, whose transactions take d.
func loaded(t *testing.T, n uint64, d time.Duration) *loadtest.Store {
	t.Helper()
	s := &loadtest.Store{}
	_, err := workload.Load(t.Context(), s, workload.LoadOptions{Keys: n, Counters: true})
	require.NoError(t, err)
	s.Before = taking(d).Before
	return s
}

func TestAScanAtAPaceLastsAsLongAsThatTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := mustRun(t, t.Context(), loaded(t, 101, 10*time.Millisecond), workload.Options{Keys: 101, Clients: 4,
			Mix: workload.DefaultMix, Scanning: workload.Scanning{Scanners: 2, ScanPace: 50},
			Warmup: time.Second, Duration: 5 * time.Second})
		require.Equal(t, uint64(2*2), res.Scans.Complete, "a scan of 101 pairs takes two seconds")
		require.Equal(t, uint64(2*1), res.Scans.CutShort, "the third was under way at the end")
		require.Zero(t, res.Scans.Failed)
		require.InDelta(t, 100, res.Scans.PairsPer, 2)
		for _, ms := range []float64{res.Scans.Latency.P50, res.Scans.Latency.Max} {
			require.InDelta(t, 2000, ms, 3)
		}
		require.InDelta(t, 400, res.All.ThroughputPer, 2, "the clients are not held up, and scans are not counted with them")
	})
}

func TestScannersEndWithTheClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		res := mustRun(t, t.Context(), loaded(t, 1000, 10*time.Millisecond),
			workload.Options{Keys: 1000, Clients: 1, Count: 95, Scanning: workload.Scanning{Scanners: 1, ScanPace: 1}})
		require.Equal(t, 950*time.Millisecond, time.Since(begun), "the second pair is not waited for")
		require.Equal(t, uint64(1), res.Scans.CutShort)
		require.Equal(t, uint64(1), res.Scans.Pairs)
	})
}

// scans is a Recorder that keeps what scanners saw.
type scans struct {
	mu   sync.Mutex
	all  []workload.Reply
	txns []workload.Txn
}

func (s *scans) Begin(txn workload.Txn) func(workload.Reply, workload.Outcome) {
	return func(r workload.Reply, o workload.Outcome) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if txn.Kind == workload.LongScan && o == workload.Committed {
			s.all, s.txns = append(s.all, r), append(s.txns, txn)
		}
	}
}

func TestTheRecorderGetsWhatScansSaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &scans{}
		mustRun(t, t.Context(), loaded(t, 51, time.Millisecond), workload.Options{Keys: 51, Clients: 3,
			Mix: workload.Mix{ReadOnly: 1, WriteOnly: 1}, Scanning: workload.Scanning{Scanners: 1, ScanPace: 100},
			Duration: 1195 * time.Millisecond,
			Recorder: rec})
		require.Len(t, rec.all, 3)
		for i, r := range rec.all {
			require.Equal(t, 3, rec.txns[i].Client, "scanners are numbered after the clients")
			require.Equal(t, "zeta/r/", string(rec.txns[i].Ops[0].Key))
			require.Equal(t, "zeta/r0", string(rec.txns[i].Ops[0].End))
			require.Equal(t, i == 2, r.More, "only the last was cut short")
			require.Equal(t, []int{51, 51, 20}[i], len(r.Pairs))
			for j, p := range r.Pairs {
				require.Equal(t, string(workload.RegisterKey("zeta/", uint64(j))), string(p.Key))
				require.NotEmpty(t, p.Value)
			}
		}
	})
}

func TestCountersAreScannedInProportionToIncrements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &scans{}
		mustRun(t, t.Context(), loaded(t, 10, time.Millisecond), workload.Options{Keys: 10, Clients: 1,
			Mix: workload.Mix{ReadOnly: 1, WriteOnly: 3, Increment: 1}, Scanning: workload.Scanning{Scanners: 1, ScanPace: 1000},
			Duration: 10 * time.Second,
			Recorder: rec})
		counters := 0.0
		for _, txn := range rec.txns {
			if strings.HasPrefix(string(txn.Ops[0].Key), "zeta/c/") {
				counters++
			}
		}
		require.Greater(t, len(rec.txns), 900)
		require.InDelta(t, 0.25, counters/float64(len(rec.txns)), 0.06)
	})
}

// breaking is a store whose scans break off after some pairs.
type breaking struct {
	*loadtest.Store
	after int
}

func (b breaking) Scan(ctx context.Context, r workload.Range, each func(workload.Pair) bool) error {
	n := 0
	err := b.Store.Scan(ctx, r, func(p workload.Pair) bool {
		n++
		return n <= b.after && each(p)
	})
	if err == nil && n > b.after {
		return kv.Errorf(kv.KindAborted, "the scan is no longer open")
	}
	return err
}

func TestScansThatBreakOffAreCountedAndProveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &scans{}
		res := mustRun(t, t.Context(), breaking{loaded(t, 50, time.Millisecond), 7}, workload.Options{Keys: 50, Clients: 2,
			Scanning: workload.Scanning{Scanners: 1}, Duration: 10 * time.Second, Recorder: rec})
		require.InDelta(t, 10_000/128, res.Scans.Failed, 10, "and each waits a little longer than the one before")
		require.Equal(t, map[string]uint64{"Aborted": res.Scans.Failed}, res.Scans.Errors)
		require.Equal(t, 7*res.Scans.Failed, res.Scans.Pairs)
		require.Zero(t, res.Scans.Complete)
		require.Empty(t, rec.all)
		require.Empty(t, res.Errors, "they are not transactions of the mix")
	})
}

func TestAnEmptyRangeIsNotScannedWithoutPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := mustRun(t, t.Context(), taking(time.Millisecond), workload.Options{Clients: 1, Mix: workload.Mix{ReadOnly: 1},
			Scanning: workload.Scanning{Scanners: 1}, Duration: 2 * time.Second})
		require.InDelta(t, 20, res.Scans.Complete, 2)
		require.Zero(t, res.Scans.Pairs)
	})
}

// hasty is a store that gives a scan up before its deadline, as a client does
// to have an answer in time.
type hasty struct{ *loadtest.Store }

func (hasty) Scan(ctx context.Context, _ workload.Range, _ func(workload.Pair) bool) error {
	if end, bounded := ctx.Deadline(); bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-time.Millisecond))
		defer cancel()
	}
	<-ctx.Done()
	return kv.Errorf(kv.KindDeadlineExceeded, "the range is locked")
}

func TestAScanThatWaitsAtTheEndHasNotFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := mustRun(t, t.Context(), hasty{taking(time.Millisecond)},
			workload.Options{Clients: 1, Scanning: workload.Scanning{Scanners: 2}, Duration: time.Second})
		require.Equal(t, uint64(2), res.Scans.CutShort)
		require.Zero(t, res.Scans.Failed)
	})
}
