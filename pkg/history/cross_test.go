package history

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// withOrders converts a history of drawLong, whose transactions are in the order of their execution, for the exact
// checker.
func withOrders(h *History) []ExactTxn {
	order := map[valueName]int{}
	count := map[string]int{}
	for _, t := range h.Txns {
		for _, op := range t.Ops {
			if op.Kind == Write {
				count[op.Key]++
				order[valueName{op.Key, op.Value}] = count[op.Key]
			}
		}
	}
	var txns []ExactTxn
	for _, t := range h.Txns {
		x := ExactTxn{Label: t.ID, Client: t.Client, Start: t.Start, End: t.End, Outcome: t.Outcome}
		for i, op := range t.Ops {
			n := order[valueName{op.Key, op.Value}]
			switch {
			case op.Kind == Read && op.Saw == SawAbsent:
				x.Reads = append(x.Reads, saw(op.Key, 0))
			case op.Kind == Read:
				x.Reads = append(x.Reads, saw(op.Key, n))
			case op.Kind == Write:
				w := made(op.Key, n)
				if slices.ContainsFunc(t.Ops[i+1:], func(o Op) bool { return o.Kind == Write && o.Key == op.Key }) {
					w.Order = 0
				}
				x.Writes = append(x.Writes, w)
			}
		}
		txns = append(txns, x)
	}
	return txns
}

type valueName struct{ key, value string }

// TestCheckAgreesWithExactCheck corrupts reads in histories that are too long for trying every order. If Check finds a
// contradiction, for any order of the versions, CheckExact must find one for the true order. What the latter finds
// should rarely be explained by another order.
func TestCheckAgreesWithExactCheck(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	infer := Options{SearchSteps: -1}
	exactly, inferred := 0, 0
	for seed := range uint64(120) {
		h := drawLong(seed, workload{txns: 400, clients: 12, keys: 30, skew: 1.1})
		require.True(t, CheckWith(h, infer).OK(), "seed %d", seed)
		require.True(t, CheckExact(ExactHistory{Txns: withOrders(h)}).OK(), "seed %d", seed)
		corruptRead(r, h)
		v, x := CheckWith(h, infer), CheckExact(ExactHistory{Txns: withOrders(h)})
		if a := v.Anomaly(); a == NonRepeatableRead || a == OwnWriteMissed || a == GarbageRead || a == IntermediateRead {
			continue // found without a graph
		}
		require.True(t, v.OK() || !x.OK(), "seed %d: %v", seed, v)
		if !x.OK() {
			exactly++
		}
		if !v.OK() {
			inferred++
		}
	}
	t.Logf("CheckExact rejects %d, Check %d of these", exactly, inferred)
	require.Greater(t, exactly, 50)
	require.Greater(t, inferred, exactly*3/4)
}

// corruptRead makes one read return another value of about the same time.
func corruptRead(r *rand.Rand, h *History) {
	for {
		at := r.IntN(len(h.Txns))
		op := &h.Txns[at].Ops[r.IntN(4)]
		from := &h.Txns[max(0, at-1-r.IntN(40))].Ops[r.IntN(4)]
		if op.Kind == Read && op.Saw == SawValue && from.Kind == Write && from.Key == op.Key && from.Value != op.Value {
			op.Value = from.Value
			return
		}
	}
}

// TestIncrementalRoundsMatchFullRounds compares rounds that examine everything with those that examine only what has
// changed.
func TestIncrementalRoundsMatchFullRounds(t *testing.T) {
	for seed := range uint64(12) {
		h := drawLong(seed, workload{txns: 800, clients: 24, keys: 60, skew: 1.1, counters: seed%2 == 1, unknown: 30})
		edges := func(everywhere bool) int {
			var v Verdict
			j := newChecker(newModel(h, &v), Options{}.withDefaults(len(h.Txns)))
			j.stir.always = everywhere
			require.True(t, j.saturate())
			require.False(t, j.findContradiction())
			return len(j.g.edges)
		}
		require.Equal(t, edges(true), edges(false), "seed %d", seed)
	}
}
