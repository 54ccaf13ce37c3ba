package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// drawMixed draws a history by running random transactions of all kinds one after another: some fail, some end unknown
// and take effect late, or never. Counters are deleted, registers and counters are scanned and removed together, and,
// with repeats, values are written more than once.
func drawMixed(r *rand.Rand, d opMix, repeats bool) *History {
	return drawMixedFrom(r, d, refState{}, repeats)
}

// drawMixedFrom is drawMixed with an initial state.
func drawMixedFrom(r *rand.Rand, d opMix, st refState, repeats bool) *History {
	h := &History{}
	n := 2 + r.IntN(d.txns-1)
	for i := range n {
		now := int64(i * 10)
		t := Txn{Client: i, ID: "t" + strconv.Itoa(i), Start: now - r.Int64N(40), End: now + r.Int64N(40), Outcome: Committed}
		after := maps.Clone(st)
		for o := range 1 + r.IntN(3) {
			t.Ops = append(t.Ops, drawMixedOp(r, d, st, fmt.Sprintf("%d.%d", i, o), repeats))
			refApply(after, &t.Ops[o])
			if op := &t.Ops[o]; op.Kind == Read && op.Saw != SawAbsent && r.IntN(6) == 0 {
				*op = Op{Kind: Read, Key: op.Key, Saw: SawExists}
			}
		}
		switch p := r.IntN(100); {
		case p < 12:
			t.Outcome = Failed
		case p < 12+d.unknowns:
			t.Outcome, t.End = Unknown, Never
			t.Start -= r.Int64N(60)
			if r.IntN(2) == 0 {
				st = after
			}
		default:
			st = after
		}
		h.Txns = append(h.Txns, t)
	}
	r.Shuffle(n, func(i, j int) { h.Txns[i], h.Txns[j] = h.Txns[j], h.Txns[i] })
	return h
}

func drawMixedOp(r *rand.Rand, d opMix, st refState, unique string, repeats bool) Op {
	op := drawOp(r, d, st, unique)
	switch {
	case op.Kind == Write && repeats:
		op.Value = "v" + strconv.Itoa(r.IntN(3))
	case op.Kind == Delete && d.adds > 0 && r.IntN(2) == 0:
		op.Key = "n" + op.Key[1:]
	case op.Kind == DeleteRange && r.IntN(2) == 0:
		op.Key, op.End = "k1", "n1"
	case op.Kind == Scan && r.IntN(3) == 0:
		op.End = "k2"
	}
	return op
}

// mutations corrupt a history, or try to: the reference model decides whether it is still legal. Each returns whether
// it changed something.
var mutations = []struct {
	name string
	do   func(*rand.Rand, *History) bool
}{
	{"an earlier or later value is read", func(r *rand.Rand, h *History) bool {
		op, w := randomOp(r, h, Read), randomOp(r, h, Write)
		if op == nil || w == nil || op.Saw == SawNumber || op.Key[0] == 'n' {
			return false
		}
		op.Key, op.Saw, op.Value = w.Key, SawValue, w.Value
		return true
	}},
	{"a value without a writer is read", func(r *rand.Rand, h *History) bool {
		op := randomOp(r, h, Read)
		if op == nil || op.Key[0] == 'n' {
			return false
		}
		op.Saw, op.Value = SawValue, "unwritten"
		return true
	}},
	{"a key is not found", func(r *rand.Rand, h *History) bool {
		op := randomOp(r, h, Read)
		if op == nil || op.Saw == SawAbsent {
			return false
		}
		*op = Op{Kind: Read, Key: op.Key, Saw: SawAbsent}
		return true
	}},
	{"a key that is gone exists", func(r *rand.Rand, h *History) bool {
		op := randomOp(r, h, Read)
		if op == nil || op.Saw != SawAbsent {
			return false
		}
		op.Saw = SawExists
		return true
	}},
	{"an increment is lost, or counts twice", func(r *rand.Rand, h *History) bool {
		op, a := randomOp(r, h, pickKind(r, Read, Add)), randomOp(r, h, Add)
		if op == nil || a == nil || op.Saw != SawNumber || op.Key != a.Key {
			return false
		}
		op.Number += a.Delta * (1 - 2*r.Int64N(2))
		return true
	}},
	{"a scan misses a key", func(r *rand.Rand, h *History) bool {
		op := randomOp(r, h, Scan)
		if op == nil || len(op.Pairs) == 0 {
			return false
		}
		at := r.IntN(len(op.Pairs))
		op.Pairs = slices.Delete(slices.Clone(op.Pairs), at, at+1)
		return true
	}},
	{"a scan returns another value", func(r *rand.Rand, h *History) bool {
		op, w := randomOp(r, h, Scan), randomOp(r, h, Write)
		if op == nil || w == nil {
			return false
		}
		at, there := slices.BinarySearchFunc(op.Pairs, w.Key, func(p Pair, k string) int { return strings.Compare(p.Key, k) })
		op.Pairs = slices.Clone(op.Pairs)
		if p := (Pair{Key: w.Key, Saw: SawValue, Value: w.Value}); there {
			op.Pairs[at] = p
		} else {
			op.Pairs = slices.Insert(op.Pairs, at, p) // sometimes beyond its limit, or outside of its range
		}
		return true
	}},
	{"a scan returns more than its limit", func(r *rand.Rand, h *History) bool {
		op := randomOp(r, h, Scan)
		if op == nil || len(op.Pairs) < 2 {
			return false
		}
		op.Limit = 1 + r.IntN(len(op.Pairs)-1)
		return true
	}},
	{"a deletion reports the opposite", func(r *rand.Rand, h *History) bool {
		switch op := randomOp(r, h, pickKind(r, Delete, DeleteRange)); {
		case op == nil || op.Saw == SawNothing:
			return false
		case op.Kind == Delete:
			op.Saw = SawAbsent + SawExists - op.Saw
		default:
			op.Number += 1 - 2*r.Int64N(2)
		}
		return true
	}},
	{"a transaction runs later", func(r *rand.Rand, h *History) bool {
		t := &h.Txns[r.IntN(len(h.Txns))]
		t.Start += 50
		t.End = max(t.Start, t.End-50)
		return t.Outcome == Committed
	}},
	{"a transaction runs earlier", func(r *rand.Rand, h *History) bool {
		t := &h.Txns[r.IntN(len(h.Txns))]
		t.End -= 50
		t.Start = min(t.Start, t.End)
		return t.Outcome == Committed
	}},
	{"a commit is reported as a failure", func(r *rand.Rand, h *History) bool {
		t := &h.Txns[r.IntN(len(h.Txns))]
		was := t.Outcome
		t.Outcome = Failed
		return was == Committed
	}},
	{"a failure or an unknown outcome is reported as a commit", func(r *rand.Rand, h *History) bool {
		t := &h.Txns[r.IntN(len(h.Txns))]
		was := t.Outcome
		t.Outcome, t.End = Committed, t.Start+r.Int64N(60)
		return was != Committed
	}},
	{"a transaction does what another one observed", func(r *rand.Rand, h *History) bool {
		a, b := &h.Txns[r.IntN(len(h.Txns))], &h.Txns[r.IntN(len(h.Txns))]
		a.Ops, b.Ops = b.Ops, a.Ops
		return a != b
	}},
}

// randomOp draws an operation of a kind, nil if the drawn transaction has none.
func randomOp(r *rand.Rand, h *History, k OpKind) *Op {
	t := &h.Txns[r.IntN(len(h.Txns))]
	from := r.IntN(len(t.Ops))
	for i := range t.Ops {
		if op := &t.Ops[(from+i)%len(t.Ops)]; op.Kind == k {
			return op
		}
	}
	return nil
}

func pickKind(r *rand.Rand, of ...OpKind) OpKind { return of[r.IntN(len(of))] }

// fullMix is the mix of drawMixed: all kinds of operations, on few keys.
var fullMix = opMix{txns: 6, keys: 2, reads: 5, writes: 3, adds: 3, deletes: 2, scans: 3, ranges: 2, unknowns: 25,
	negative: 30}

// TestCheckDetectsMutations corrupts legal histories in one way at a time. A history must be rejected if and only if no
// order of the transactions explains it, whether or not values are unique.
func TestCheckDetectsMutations(t *testing.T) {
	for seed, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(31, uint64(seed)))
			refused := 0
			for run := range 2000 {
				h := drawMixed(r, fullMix, run%4 == 0)
				if run%16 < 2 {
					v := Check(h)
					require.True(t, v.Exact && refAccepts(h), "run %d: a legal history is rejected: %s\n%v", run, dump(h), v)
				}
				if !m.do(r, h) {
					continue
				}
				want, v := refAccepts(h), Check(h)
				require.Equal(t, want, v.OK(), "run %d: %s\n%v", run, dump(h), v)
				require.Equal(t, want, v.Exact, "run %d", run)
				require.True(t, !want || CheckWith(h, Options{SearchSteps: -1}).OK(), "run %d: inference rejects a good history",
					run)
				if !want {
					refused++
				}
			}
			t.Logf("%d were to be refused", refused)
			require.Greater(t, refused, 20, "too few histories were bad")
		})
	}
}
