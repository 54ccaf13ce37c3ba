package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// KeyVerdict is the result of Linearizable for one key.
type KeyVerdict struct {
	Key string
	// Result is porcupine's: Ok, Illegal, or Unknown after a timeout.
	Result porcupine.CheckResult
	// Txns is the number of transactions that accessed the key.
	Txns int
}

// LinearVerdict is the result of Linearizable.
type LinearVerdict struct {
	Result porcupine.CheckResult
	// Bad lists the keys that are not Ok, illegal ones first, each group in order.
	Bad []KeyVerdict
	// Keys is the number of checked keys. Skipped is the number of unchecked transactions, which access several keys or a
	// range.
	Keys, Skipped int
}

// OK reports whether every key is certainly linearizable.
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

// Linearizable checks each key separately with porcupine: registers with get, put, delete and compare-and-set (a Read
// and a Write in one transaction), and counters. It uses the transactions on a single key. These are linearizable if
// the history is strictly serializable, and values need not be unique. A key that other transactions wrote as well is
// skipped. The timeout applies to each key; 0 is no bound.
//
// A transaction of unknown outcome may take effect at any time after its start. If it never did, it is placed after all
// other transactions, where no other transaction reads it. If its own observations do not hold, as in a failed
// compare-and-set, it has no effect.
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
		return strings.Compare(a.Key, b.Key)
	})
	return v
}

// single reports whether a transaction accesses one key only.
func single(t *Txn) bool {
	for _, op := range t.Ops {
		if op.Kind == Scan || op.Kind == DeleteRange || op.Key != t.Ops[0].Key {
			return false
		}
	}
	return true
}

// keyModel is the model of one key: a cell whose obs is obsAbsent, obsValue or obsNumber, or obsNone while its state is
// not known.
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
			s := describeTxn(t)
			for _, op := range t.Ops {
				s += fmt.Sprintf(" %v %v", op.Kind, seenCell(op.Saw, op.Value, op.Number))
			}
			return s
		},
		DescribeState: func(state any) string { return state.(cell).String() },
	}
}

// stepKey executes operations on the state of their key.
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

// stepAdd adds to a counter. An unknown number stays unknown unless the sum was returned.
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
