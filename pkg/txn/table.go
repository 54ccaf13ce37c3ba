package txn

import (
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
)

// table has the flows under way, from their start to their end. ids finds the attempt of an id, the
// newest if there are several; the others are in earlier.
type flowTable struct {
	gw      *flow.Gateway
	ids     map[kv.TxnID]flow.Flow
	earlier map[kv.TxnRef]flow.Flow
	pool    flow.Pool
	// failed remembers why interactive transactions ended while their client was silent.
	failures failures
}

func (t *flowTable) len() int { return len(t.ids) + len(t.earlier) }

func (t *flowTable) add(f flow.Flow) {
	ref := f.Base().Ref
	old := t.ids[ref.TxnID]
	if old != nil && old.Base().Ref != ref {
		t.earlier[old.Base().Ref] = old
	}
	t.ids[ref.TxnID] = f
}

func (t *flowTable) remove(f flow.Flow) {
	ref := f.Base().Ref
	if t.ids[ref.TxnID] == f {
		delete(t.ids, ref.TxnID)
		return
	}
	delete(t.earlier, ref)
}

// newest gives the newest attempt of an id that is under way, nil if there is none.
func (t *flowTable) newest(id kv.TxnID) flow.Flow { return t.ids[id] }

// find gives an attempt that is under way, nil if it is not.
func (t *flowTable) find(ref kv.TxnRef) flow.Flow {
	f := t.ids[ref.TxnID]
	if f != nil && f.Base().Ref == ref {
		return f
	}
	return t.earlier[ref]
}

// each visits all, in no order.
func (t *flowTable) each(visit func(flow.Flow)) {
	for _, f := range t.ids {
		visit(f)
	}
	for _, f := range t.earlier {
		visit(f)
	}
}

// byAge lists all, the oldest first.
func (t *flowTable) byAge() []flow.Flow {
	out := slices.AppendSeq(make([]flow.Flow, 0, t.len()), maps.Values(t.ids))
	out = slices.AppendSeq(out, maps.Values(t.earlier))
	slices.SortFunc(out, func(a, b flow.Flow) int { return a.Base().Ref.CompareAge(b.Base().Ref) })
	return out
}

// maxFailed bounds the transactions of which it is remembered why they ended.
const maxFailures = 4096

// failed remembers why interactive transactions ended while their client was silent.
type failures struct {
	byRef map[kv.TxnRef]*msg.Failure
	order []kv.TxnRef
}

// note remembers the failure of an interactive transaction that no request waits for.
func (m *failures) add(c *flow.Call, why *msg.Failure) {
	if c.Token != nil || why == nil || !c.Kind.IsInteractive() {
		return
	}
	if m.byRef == nil {
		m.byRef = map[kv.TxnRef]*msg.Failure{}
	}
	if len(m.order) >= maxFailures {
		for _, r := range m.order[:maxFailures/2] {
			delete(m.byRef, r)
		}
		m.order = slices.Clone(m.order[maxFailures/2:])
	}
	m.byRef[c.Ref] = why
	m.order = append(m.order, c.Ref)
}
