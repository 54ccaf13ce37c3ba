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

// wild makes a history by running random transactions of all kinds one after
// another: some fail, some end unknown and take effect late, or never. Counters
// are deleted, registers and counters are scanned and removed together, and,
// with repeats, values are written more than once.
func wild(r *rand.Rand, d diet, repeats bool) *History { return wildFrom(r, d, twinState{}, repeats) }

// wildFrom is wild on a state before the history.
func wildFrom(r *rand.Rand, d diet, st twinState, repeats bool) *History {
	h := &History{}
	n := 2 + r.IntN(d.txns-1)
	for i := range n {
		now := int64(i * 10)
		t := Txn{Client: i, ID: "t" + strconv.Itoa(i), Start: now - r.Int64N(40), End: now + r.Int64N(40), Outcome: Committed}
		after := maps.Clone(st)
		for o := range 1 + r.IntN(3) {
			t.Ops = append(t.Ops, wildOp(r, d, st, fmt.Sprintf("%d.%d", i, o), repeats))
			twinApply(after, &t.Ops[o])
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

func wildOp(r *rand.Rand, d diet, st twinState, unique string, repeats bool) Op {
	op := feedOp(r, d, st, unique)
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

// mutations break a history, or try to: the twin tells which did. Each reports
// whether it found something to change.
var mutations = []struct {
	name string
	do   func(*rand.Rand, *History) bool
}{
	{"an earlier or later value is read", func(r *rand.Rand, h *History) bool {
		op, w := anOp(r, h, Read), anOp(r, h, Write)
		if op == nil || w == nil || op.Saw == SawNumber || op.Key[0] == 'n' {
			return false
		}
		op.Key, op.Saw, op.Value = w.Key, SawValue, w.Value
		return true
	}},
	{"a value that nobody wrote is read", func(r *rand.Rand, h *History) bool {
		op := anOp(r, h, Read)
		if op == nil || op.Key[0] == 'n' {
			return false
		}
		op.Saw, op.Value = SawValue, "nobody's"
		return true
	}},
	{"a key is not found", func(r *rand.Rand, h *History) bool {
		op := anOp(r, h, Read)
		if op == nil || op.Saw == SawAbsent {
			return false
		}
		*op = Op{Kind: Read, Key: op.Key, Saw: SawAbsent}
		return true
	}},
	{"a key that is gone exists", func(r *rand.Rand, h *History) bool {
		op := anOp(r, h, Read)
		if op == nil || op.Saw != SawAbsent {
			return false
		}
		op.Saw = SawExists
		return true
	}},
	{"an increment is lost, or counts twice", func(r *rand.Rand, h *History) bool {
		op, a := anOp(r, h, pickKind(r, Read, Add)), anOp(r, h, Add)
		if op == nil || a == nil || op.Saw != SawNumber || op.Key != a.Key {
			return false
		}
		op.Number += a.Delta * (1 - 2*r.Int64N(2))
		return true
	}},
	{"a scan misses a key", func(r *rand.Rand, h *History) bool {
		op := anOp(r, h, Scan)
		if op == nil || len(op.Pairs) == 0 {
			return false
		}
		at := r.IntN(len(op.Pairs))
		op.Pairs = slices.Delete(slices.Clone(op.Pairs), at, at+1)
		return true
	}},
	{"a scan returns another value", func(r *rand.Rand, h *History) bool {
		op, w := anOp(r, h, Scan), anOp(r, h, Write)
		if op == nil || w == nil {
			return false
		}
		at, there := slices.BinarySearchFunc(op.Pairs, w.Key, func(p Pair, k string) int { return strings.Compare(p.Key, k) })
		op.Pairs = slices.Clone(op.Pairs)
		if p := (Pair{Key: w.Key, Saw: SawValue, Value: w.Value}); there {
			op.Pairs[at] = p
		} else {
			op.Pairs = slices.Insert(op.Pairs, at, p) // past its limit, at times, or out of its range
		}
		return true
	}},
	{"a scan returns more than its limit", func(r *rand.Rand, h *History) bool {
		op := anOp(r, h, Scan)
		if op == nil || len(op.Pairs) < 2 {
			return false
		}
		op.Limit = 1 + r.IntN(len(op.Pairs)-1)
		return true
	}},
	{"a deletion tells the contrary", func(r *rand.Rand, h *History) bool {
		switch op := anOp(r, h, pickKind(r, Delete, DeleteRange)); {
		case op == nil || op.Saw == SawNothing:
			return false
		case op.Kind == Delete:
			op.Saw = SawAbsent + SawExists - op.Saw
		default:
			op.Number += 1 - 2*r.Int64N(2)
		}
		return true
	}},
	{"somebody ran later", func(r *rand.Rand, h *History) bool {
		t := &h.Txns[r.IntN(len(h.Txns))]
		t.Start += 50
		t.End = max(t.Start, t.End-50)
		return t.Outcome == Committed
	}},
	{"somebody ran earlier", func(r *rand.Rand, h *History) bool {
		t := &h.Txns[r.IntN(len(h.Txns))]
		t.End -= 50
		t.Start = min(t.Start, t.End)
		return t.Outcome == Committed
	}},
	{"a commit is told as a failure", func(r *rand.Rand, h *History) bool {
		t := &h.Txns[r.IntN(len(h.Txns))]
		was := t.Outcome
		t.Outcome = Failed
		return was == Committed
	}},
	{"a failure, or what nobody knows, is told as a commit", func(r *rand.Rand, h *History) bool {
		t := &h.Txns[r.IntN(len(h.Txns))]
		was := t.Outcome
		t.Outcome, t.End = Committed, t.Start+r.Int64N(60)
		return was != Committed
	}},
	{"one of two does what the other saw", func(r *rand.Rand, h *History) bool {
		a, b := &h.Txns[r.IntN(len(h.Txns))], &h.Txns[r.IntN(len(h.Txns))]
		a.Ops, b.Ops = b.Ops, a.Ops
		return a != b
	}},
}

// anOp draws an operation of a kind, nil if the transaction drawn has none.
func anOp(r *rand.Rand, h *History, k OpKind) *Op {
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

// everything is the diet of wild: all there is, on few keys.
var everything = diet{txns: 6, keys: 2, reads: 5, writes: 3, adds: 3, deletes: 2, scans: 3, ranges: 2, unknowns: 25, negative: 30}

// TestJudgeNoticesEveryMutation breaks legal histories in one way at a time.
// What no order of the transactions explains must be refused, and everything
// else accepted, whether or not values are unique.
func TestJudgeNoticesEveryMutation(t *testing.T) {
	for seed, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(31, uint64(seed)))
			refused := 0
			for run := range 2000 {
				h := wild(r, everything, run%4 == 0)
				if run%16 < 2 {
					v := Judge(h)
					require.True(t, v.Exact && twinAccepts(h), "run %d: a legal history is refused: %s\n%v", run, dump(h), v)
				}
				if !m.do(r, h) {
					continue
				}
				want, v := twinAccepts(h), Judge(h)
				require.Equal(t, want, v.OK(), "run %d: %s\n%v", run, dump(h), v)
				require.Equal(t, want, v.Exact, "run %d", run)
				require.True(t, !want || JudgeWith(h, Options{SearchSteps: -1}).OK(), "run %d: inference refuses a good history", run)
				if !want {
					refused++
				}
			}
			t.Logf("%d were to be refused", refused)
			require.Greater(t, refused, 20, "too few histories were bad")
		})
	}
}
