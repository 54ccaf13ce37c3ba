package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The reference model of Check: it executes the operations on a map, in every order that real time allows, with and
// without the transactions of unknown outcome.

type refState map[string]any // string or int64

func refAccepts(h *History) bool { return refPlace(h.live(), refState{}, refExecute) }

// live returns the transactions that have not failed.
func (h *History) live() (live []*Txn) {
	for i := range h.Txns {
		if h.Txns[i].Outcome != Failed {
			live = append(live, &h.Txns[i])
		}
	}
	return live
}

// refPlace reports whether an order of the transactions that real time allows, with or without those of unknown
// outcome, can be executed. execute reports whether the observations of operations are right, and changes the state.
func refPlace(left []*Txn, st refState, execute func(refState, []Op) bool) bool {
	done := true
	for i, t := range left {
		done = done && t.Outcome == Unknown
		late := slices.ContainsFunc(left, func(u *Txn) bool { return u != t && u.Outcome == Committed && u.End < t.Start })
		after := maps.Clone(st)
		if !late && execute(after, t.Ops) && refPlace(slices.Delete(slices.Clone(left), i, i+1), after, execute) {
			return true
		}
	}
	return done
}

func refExecute(st refState, ops []Op) bool {
	for _, op := range ops {
		v, exists := st[op.Key]
		switch op.Kind {
		case Read:
			if !refObserves(op.Saw, op.Value, op.Number, v, exists) {
				return false
			}
		case Write:
			st[op.Key] = op.Value
		case Delete:
			if op.Saw != SawNothing && (op.Saw == SawExists) != exists {
				return false
			}
			delete(st, op.Key)
		case Add:
			n, _ := v.(int64)
			if op.Saw == SawNumber && n+op.Delta != op.Number {
				return false
			}
			st[op.Key] = n + op.Delta
		case Scan:
			var got []Pair
			for _, k := range refRange(st, op) {
				if op.Limit > 0 && len(got) == op.Limit {
					break
				}
				got = append(got, refPair(k, st[k]))
			}
			if !slices.Equal(got, op.Pairs) {
				return false
			}
		case DeleteRange:
			ks := refRange(st, op)
			if op.Saw == SawNumber && op.Number != int64(len(ks)) {
				return false
			}
			for _, k := range ks {
				delete(st, k)
			}
		}
	}
	return true
}

func refObserves(s Saw, value string, number int64, v any, exists bool) bool {
	switch s {
	case SawAbsent:
		return !exists
	case SawExists:
		return exists
	case SawNumber:
		return exists && v == any(number)
	}
	return exists && v == any(value)
}

func refPair(k string, v any) Pair {
	if n, ok := v.(int64); ok {
		return Pair{Key: k, Saw: SawNumber, Number: n}
	}
	return Pair{Key: k, Saw: SawValue, Value: v.(string)}
}

func refRange(st refState, op Op) []string {
	var ks []string
	for k := range st {
		if k >= op.Key && (op.End == "" || k < op.End) {
			ks = append(ks, k)
		}
	}
	slices.Sort(ks)
	return ks
}

// opMix describes what random transactions consist of.
type opMix struct {
	name                              string
	txns, keys                        int
	reads, writes, deletes, adds      int // shares; counters have their own keys
	scans, ranges, negative, unknowns int
	// inferred is the least share of the bad histories that inference rejects without a search.
	inferred float64
}

// drawHistory draws a history by running random transactions one after another, each at an instant within its interval.
func drawHistory(r *rand.Rand, d opMix) *History {
	st := refState{}
	h := &History{}
	n := 2 + r.IntN(d.txns-1)
	for i := range n {
		now := int64(i * 10)
		t := Txn{Client: i, ID: "t" + strconv.Itoa(i), Start: now - r.Int64N(40), End: now + r.Int64N(40), Outcome: Committed}
		for o := range 1 + r.IntN(3) {
			t.Ops = append(t.Ops, drawOp(r, d, st, fmt.Sprintf("%d.%d", i, o)))
			refApply(st, &t.Ops[o])
		}
		if r.IntN(100) < d.unknowns {
			t.Outcome, t.End = Unknown, Never
		}
		h.Txns = append(h.Txns, t)
	}
	r.Shuffle(n, func(i, j int) { h.Txns[i], h.Txns[j] = h.Txns[j], h.Txns[i] })
	return h
}

func drawOp(r *rand.Rand, d opMix, st refState, unique string) Op {
	key := fmt.Sprintf("k%d", r.IntN(d.keys))
	counter := fmt.Sprintf("n%d", r.IntN(d.keys))
	if d.adds > 0 && r.IntN(4) == 0 {
		key = counter
	}
	switch p := r.IntN(d.reads + d.writes + d.deletes + d.adds + d.scans + d.ranges); {
	case p < d.reads:
		return Op{Kind: Read, Key: key}
	case p < d.reads+d.writes:
		return Op{Kind: Write, Key: "k" + key[1:], Value: unique}
	case p < d.reads+d.writes+d.deletes:
		return Op{Kind: Delete, Key: "k" + key[1:], Saw: Saw(r.IntN(2)) * SawExists}
	case p < d.reads+d.writes+d.deletes+d.adds:
		op := Op{Kind: Add, Key: counter, Delta: 1 + r.Int64N(2), Saw: Saw(r.IntN(2)) * SawNumber}
		if r.IntN(100) < d.negative {
			op.Delta = -op.Delta
		}
		return op
	case p < d.reads+d.writes+d.deletes+d.adds+d.scans:
		return Op{Kind: Scan, Key: "k" + strconv.Itoa(r.IntN(d.keys)), Limit: r.IntN(3)}
	}
	return Op{Kind: DeleteRange, Key: "k" + strconv.Itoa(r.IntN(d.keys)), End: "k9", Saw: Saw(r.IntN(2)) * SawNumber}
}

// refApply executes an operation and fills in what it observes.
func refApply(st refState, op *Op) {
	v, exists := st[op.Key]
	switch op.Kind {
	case Read:
		op.Saw = SawAbsent
		if exists {
			p := refPair(op.Key, v)
			op.Saw, op.Value, op.Number = p.Saw, p.Value, p.Number
		}
	case Delete:
		if op.Saw != SawNothing && !exists {
			op.Saw = SawAbsent
		}
	case Add:
		n, _ := v.(int64)
		if op.Saw == SawNumber {
			op.Number = n + op.Delta
		}
	case Scan:
		for _, k := range refRange(st, *op) {
			if op.Limit == 0 || len(op.Pairs) < op.Limit {
				op.Pairs = append(op.Pairs, refPair(k, st[k]))
			}
		}
	case DeleteRange:
		if op.Saw == SawNumber {
			op.Number = int64(len(refRange(st, *op)))
		}
	}
	if !refExecute(st, []Op{*op}) {
		panic("the reference model contradicts itself")
	}
}

// corrupt changes an observation, or the interval of a transaction.
func corrupt(r *rand.Rand, h *History) {
	t := &h.Txns[r.IntN(len(h.Txns))]
	op := &t.Ops[r.IntN(len(t.Ops))]
	other := h.Txns[r.IntN(len(h.Txns))]
	from := other.Ops[r.IntN(len(other.Ops))]
	switch {
	case op.Kind == Read && r.IntN(4) == 0:
		op.Saw, op.Value, op.Number = SawAbsent, "", 0
	case op.Kind == Read && op.Saw == SawNumber:
		op.Number += 1 - 2*r.Int64N(2)
	case op.Kind == Read && from.Kind == Write && op.Key[0] == 'k':
		op.Key, op.Saw, op.Value = from.Key, SawValue, from.Value
	case op.Kind == Read && from.Kind == Read && from.Saw != SawNumber && op.Saw != SawNumber && op.Key[0] == from.Key[0]:
		op.Key, op.Saw, op.Value = from.Key, from.Saw, from.Value
	case op.Kind == Add && op.Saw == SawNumber:
		op.Number += 1 - 2*r.Int64N(2)
	case op.Kind == Delete && op.Saw != SawNothing:
		op.Saw = SawAbsent + SawExists - op.Saw
	case op.Kind == DeleteRange && op.Saw == SawNumber:
		op.Number += 1 - 2*r.Int64N(2)
	case op.Kind == Scan && len(op.Pairs) > 0:
		at := r.IntN(len(op.Pairs))
		op.Pairs = slices.Delete(slices.Clone(op.Pairs), at, at+1)
	case t.Outcome == Committed:
		t.Start += 15
		t.End = max(t.Start, t.End-15)
	}
}

var opMixes = []opMix{
	{name: "reads and writes", txns: 7, keys: 3, reads: 5, writes: 3, inferred: 1},
	{name: "one hot key", txns: 7, keys: 1, reads: 3, writes: 2, inferred: 1},
	{name: "deletions", txns: 7, keys: 2, reads: 5, writes: 3, deletes: 2, inferred: 0.99},
	{name: "counters", txns: 7, keys: 2, reads: 4, writes: 1, adds: 4, inferred: 0.98},
	{name: "counters both ways", txns: 7, keys: 2, reads: 4, writes: 1, adds: 4, negative: 40, inferred: 0.95},
	{name: "ranges", txns: 6, keys: 4, reads: 2, writes: 4, scans: 4, deletes: 1, ranges: 1, inferred: 0.7},
	{name: "unknown outcomes", txns: 6, keys: 2, reads: 5, writes: 3, adds: 2, deletes: 1, unknowns: 30, inferred: 0.95},
}

func TestCheckMatchesReference(t *testing.T) {
	for seed, d := range opMixes {
		t.Run(d.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, uint64(seed)))
			refused, inferred := 0, 0
			for run := range 1200 {
				h := drawHistory(r, d)
				if run%4 > 0 {
					for range run % 4 {
						corrupt(r, h)
					}
				}
				want := refAccepts(h)
				require.True(t, want || run%4 > 0, "the reference model rejects a serial run")
				v := Check(h)
				require.Equal(t, want, v.OK(), "run %d: %s\n%v", run, dump(h), v)
				require.Equal(t, want, v.Exact, "run %d", run)
				alone := CheckWith(h, Options{SearchSteps: -1})
				require.True(t, !want || alone.OK(), "run %d: inference rejects a good history", run)
				if !want {
					refused++
				}
				if !alone.OK() {
					inferred++
				}
			}
			t.Logf("of %d bad histories inference alone refuses %d", refused, inferred)
			require.Greater(t, refused, 60, "too few histories were bad")
			require.GreaterOrEqual(t, float64(inferred), d.inferred*float64(refused))
		})
	}
}

func dump(h *History) string {
	s := ""
	for _, t := range h.Txns {
		s += fmt.Sprintf("\n%s %v %v", t.ID, intervalText(t.Start, t.End), t.Outcome)
		for _, op := range t.Ops {
			s += fmt.Sprintf("\n    %v %+v", op.Kind, op)
		}
	}
	return s
}
