package history

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// workload describes a long run of clients, each with one transaction after another.
type workload struct {
	txns, clients, keys int
	skew                float64 // of the distribution of keys; above 1
	counters            bool
	unknown             int // of 10,000 transactions
}

// drawLong draws a strictly serializable history: the transactions of all clients are executed in the order of an
// instant within their intervals. Some intervals are very long. Transactions of unknown outcome take effect late, or
// never.
func drawLong(seed uint64, d workload) *History {
	r := rand.New(rand.NewPCG(seed, 1))
	zipf := rand.NewZipf(r, d.skew, 1, uint64(d.keys-1))
	type run struct {
		Txn
		instant int64
		applied bool
	}
	runs := make([]run, 0, d.txns)
	clock := make([]int64, d.clients)
	for i := range d.txns {
		c := i % d.clients
		took := 100_000 + r.Int64N(2_000_000)
		if r.IntN(10_000) == 0 {
			took *= 500
		}
		u := run{Txn: Txn{Client: c, ID: strconv.Itoa(i), Start: clock[c], End: clock[c] + took, Outcome: Committed},
			applied: true}
		u.instant = u.Start + r.Int64N(took+1)
		clock[c] = u.End + 1 + r.Int64N(10_000)
		if r.IntN(10_000) < d.unknown {
			u.instant = u.Start + 3*took
			u.Outcome, u.End, u.applied = Unknown, Never, r.IntN(2) == 0
		}
		runs = append(runs, u)
	}
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.instant, b.instant) })
	st := refState{}
	h := &History{}
	for i := range runs {
		u := &runs[i]
		u.Ops = drawLongOps(r, zipf, d, st, u.ID, u.Outcome, u.applied)
		h.Txns = append(h.Txns, u.Txn)
	}
	return h
}

func drawLongOps(r *rand.Rand, zipf *rand.Zipf, d workload, st refState, id string, o Outcome, applied bool) []Op {
	var ops []Op
	for i := range 4 {
		k := strconv.FormatUint(zipf.Uint64(), 10)
		key, counter := "k"+k, "n"+k
		var op Op
		switch p := r.IntN(8); {
		case p < 4 && o == Committed:
			op = Op{Kind: Read, Key: key}
		case p == 4 && d.counters && o == Committed:
			op = Op{Kind: Add, Key: counter, Delta: 1, Saw: SawNumber}
		case p == 5 && d.counters:
			op = Op{Kind: Add, Key: counter, Delta: 1}
		default:
			op = Op{Kind: Write, Key: key, Value: id + "." + strconv.Itoa(i)}
		}
		if applied {
			refApply(st, &op)
		}
		ops = append(ops, op)
	}
	return ops
}

func TestLongHistoriesAreAccepted(t *testing.T) {
	for _, d := range []workload{
		{txns: 10_000, clients: 64, keys: 100_000, skew: 1.2},
		{txns: 10_000, clients: 16, keys: 10, skew: 1.2},
		{txns: 5_000, clients: 64, keys: 1000, skew: 1.2, counters: true, unknown: 20},
	} {
		t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) {
			h := drawLong(1, d)
			v := Check(h)
			require.True(t, v.OK(), "%v", v)
			t.Log(v)
		})
	}
}

func TestStaleReadInLongHistoryIsFound(t *testing.T) {
	h := drawLong(2, workload{txns: 10_000, clients: 32, keys: 1000, skew: 1.2})
	at := slices.IndexFunc(h.Txns, func(t Txn) bool {
		return t.Start > 150_000_000 && t.Ops[0].Kind == Read &&
			t.Ops[0].Saw == SawValue
	})
	read := &h.Txns[at].Ops[0]
	for _, t := range h.Txns { // the very first value, replaced long ago
		if op := t.Ops[3]; op.Kind == Write && op.Key == read.Key {
			read.Value = op.Value
			break
		}
	}
	v := Check(h)
	require.Contains(t, []Anomaly{RealTimeInversion, NonRepeatableRead}, v.Anomaly(), "%v", v)
	require.LessOrEqual(t, len(v.Problems[0].Lines), 5, "%v", v)
}

// TestCheckMillionTransactions is the measurement for the figures in the docs. It runs on request only, since it takes
// a minute and gigabytes of memory.
func TestCheckMillionTransactions(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("HISTORY_TXNS"))
	if err != nil {
		t.Skip("set HISTORY_TXNS to a number of transactions")
	}
	for _, d := range []workload{
		{txns: n, clients: 128, keys: 1_000_000, skew: 1.2, counters: true, unknown: 5},
		{txns: n, clients: 64, keys: 100_000, skew: 1.01},
	} {
		h := drawLong(1, d)
		runtime.GC()
		begin := time.Now()
		v := Check(h)
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		t.Logf("%+v\n%v\n%v, %d MiB from the system", d, v, time.Since(begin).Round(time.Millisecond), mem.Sys>>20)
		require.True(t, v.OK(), "%v", v)
	}
}
