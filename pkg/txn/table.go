package txn

import (
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
)

// flowTable has the flows in flight, delivers messages and time to them, and applies their outcomes.
// ids has the newest attempt of each id; earlier has the others, which are interactive attempts whose
// client has begun a new one.
type flowTable struct {
	gw      *flow.Gateway
	ids     map[kv.TxnID]flow.Flow
	earlier map[kv.TxnRef]flow.Flow
	pool    flow.Pool
	// failures remembers why interactive transactions ended between two requests.
	failures failures
}

func (t *flowTable) len() int { return len(t.ids) + len(t.earlier) }

// add adds a flow. If an earlier attempt of its id is in flight, both are.
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

// newest returns the newest attempt of an id, nil if none is in flight.
func (t *flowTable) newest(id kv.TxnID) flow.Flow { return t.ids[id] }

// find returns an attempt, nil if it is not in flight. A message of an earlier attempt never finds the
// newest one.
func (t *flowTable) find(ref kv.TxnRef) flow.Flow {
	f := t.ids[ref.TxnID]
	if f != nil && f.Base().Ref == ref {
		return f
	}
	return t.earlier[ref]
}

// each visits all flows, in no order.
func (t *flowTable) each(visit func(flow.Flow)) {
	for _, f := range t.ids {
		visit(f)
	}
	for _, f := range t.earlier {
		visit(f)
	}
}

// byAge lists all flows, the oldest first. Tick uses it: with an order by map, runs would not be
// reproducible.
func (t *flowTable) byAge() []flow.Flow {
	out := slices.AppendSeq(make([]flow.Flow, 0, t.len()), maps.Values(t.ids))
	out = slices.AppendSeq(out, maps.Values(t.earlier))
	slices.SortFunc(out, func(a, b flow.Flow) int { return a.Base().Ref.CompareAge(b.Base().Ref) })
	return out
}

// maxFailures bounds the transactions whose failures are remembered.
const maxFailures = 4096

// failures remembers why interactive transactions ended while no request of their client was in
// flight (for example, an idle transaction was aborted). The next request of the client gets the reason,
// and not only that the transaction is not open.
type failures struct {
	byRef map[kv.TxnRef]*msg.Failure
	order []kv.TxnRef
}

// add remembers the failure of an interactive transaction if no request can report it. If there are
// too many, the older half is forgotten.
func (m *failures) add(c *flow.Call, why *msg.Failure) {
	if c.Handle != nil || why == nil || !c.Kind.IsInteractive() {
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
