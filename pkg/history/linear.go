package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// KeyVerdict is what Linearizable found for one key.
type KeyVerdict struct {
	Key string
	// Result is porcupine's: Ok, Illegal, or Unknown when time ran out.
	Result porcupine.CheckResult
	// Txns is how many transactions touched the key.
	Txns int
}

// LinearVerdict is what Linearizable found.
type LinearVerdict struct {
	Result porcupine.CheckResult
	// Bad are the keys that are not Ok, in order; illegal ones first.
	Bad []KeyVerdict
	// Keys is how many keys were checked, Skipped how many transactions
	// were not, as they touch several keys or a range.
	Keys, Skipped int
}

// OK reports whether every key is linearizable for certain.
func (v LinearVerdict) OK() bool { return v.Result == porcupine.Ok }

func (v LinearVerdict) String() string {
	s := fmt.Sprintf("%d keys linearizable", v.Keys-len(v.Bad))
	for _, b := range v.Bad {
		what := "is NOT linearizable"
		if b.Result == porcupine.Unknown {
			what = "could not be decided in time"
		}
		s += fmt.Sprintf("\n%q with %d transactions %s", b.Key, b.Txns, what)
	}
	if v.Skipped > 0 {
		s += fmt.Sprintf("\n%d transactions of several keys were skipped", v.Skipped)
	}
	return s
}

// Linearizable checks each key on its own with porcupine: registers with get,
// put, delete and compare-and-set (a Read and a Write in one transaction), and
// counters. It takes the transactions that touch one key only, which are
// linearizable if the history is strictly serializable, and does not need
// unique values. A key that others wrote as well is left out. Timeout bounds each key; 0 is no bound.
//
// A transaction of unknown outcome may take effect at any time after its
// start: late enough that nobody sees it, if it never did. Where its own
// observations do not hold, as in a compare-and-set that failed, it has no
// effect.
func Linearizable(h *History, timeout time.Duration) LinearVerdict {
	v := LinearVerdict{Result: porcupine.Ok}
	byKey, mixed := map[string][]porcupine.Operation{}, map[string]bool{}
	ranged := false
	for i := range h.Txns {
		t := &h.Txns[i]
		if t.Outcome == Failed || len(t.Ops) == 0 {
			continue
		}
		if single(t) {
			op := porcupine.Operation{ClientId: max(t.Client, 0), Input: t, Call: t.Start, Return: t.End}
			byKey[t.Ops[0].Key] = append(byKey[t.Ops[0].Key], op)
			continue
		}
		v.Skipped++
		for _, op := range t.Ops {
			mixed[op.Key] = mixed[op.Key] || op.Kind == Write || op.Kind == Delete || op.Kind == Add
			ranged = ranged || op.Kind == DeleteRange
		}
	}
	m := keyModel(h.InitialUnknown)
	for key, ops := range byKey {
		if mixed[key] || ranged {
			v.Skipped += len(ops)
			continue
		}
		v.Keys++
		if r := porcupine.CheckOperationsTimeout(m, ops, timeout); r != porcupine.Ok {
			v.Bad = append(v.Bad, KeyVerdict{Key: key, Result: r, Txns: len(ops)})
			if v.Result != porcupine.Illegal {
				v.Result = r
			}
		}
	}
	slices.SortFunc(v.Bad, func(a, b KeyVerdict) int {
		if (a.Result == porcupine.Illegal) != (b.Result == porcupine.Illegal) {
			if a.Result == porcupine.Illegal {
				return -1
			}
			return 1
		}
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return v
}

// single reports whether a transaction is about one key.
func single(t *Txn) bool {
	for _, op := range t.Ops {
		if op.Kind == Scan || op.Kind == DeleteRange || op.Key != t.Ops[0].Key {
			return false
		}
	}
	return true
}

// keyModel is one key: a cell whose obs is obsAbsent, obsValue or obsNumber, or
// obsNone while nothing is known of it.
func keyModel(initialUnknown bool) porcupine.Model {
	initial := cell{obs: obsAbsent}
	if initialUnknown {
		initial = cell{}
	}
	return porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, _ any) (bool, any) {
			t := input.(*Txn)
			after, ok := stepKey(state.(cell), t.Ops)
			if !ok && t.Outcome == Unknown {
				return true, state
			}
			return ok, after
		},
		DescribeOperation: func(input, _ any) string {
			t := input.(*Txn)
			s := who(t)
			for _, op := range t.Ops {
				s += fmt.Sprintf(" %v %v", op.Kind, seenCell(op.Saw, op.Value, op.Number))
			}
			return s
		},
		DescribeState: func(state any) string { return state.(cell).String() },
	}
}

// stepKey plays operations on the state of their key.
func stepKey(c cell, ops []Op) (cell, bool) {
	for _, op := range ops {
		if op.Kind != Add && op.Saw != SawNothing {
			seen := seenCell(op.Saw, op.Value, op.Number)
			if c.obs == obsNone {
				c = seen
			} else if !c.agrees(seen) {
				return c, false
			}
			if c.obs == obsExists && seen.obs != obsExists {
				c = seen
			}
		}
		switch op.Kind {
		case Write:
			c = cell{obs: obsValue, value: op.Value}
		case Delete:
			c = cell{obs: obsAbsent}
		case Add:
			after, ok := stepAdd(c, op)
			if !ok {
				return c, false
			}
			c = after
		}
	}
	return c, true
}

// stepAdd adds to a counter. An unknown number stays unknown unless the sum
// was told.
func stepAdd(c cell, op Op) (cell, bool) {
	switch c.obs {
	case obsValue:
		return c, false
	case obsNone, obsExists:
		if op.Saw == SawNumber {
			return cell{obs: obsNumber, num: op.Number}, true
		}
		return cell{obs: obsExists}, true
	}
	sum := c.num + op.Delta // an absent counter is zero
	return cell{obs: obsNumber, num: sum}, op.Saw != SawNumber || op.Number == sum
}
