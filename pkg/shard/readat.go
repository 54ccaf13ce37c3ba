package shard

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/pins"
)

// pastRead reads what was visible at a pin, or at an index that is kept for a
// reader. It is registered nowhere and holds nobody: what is in the past stays
// as it was. It is what its operations see (mvcc.View).
type pastRead struct {
	q *msg.Read
	// pins are items in memory whose values it uses, so that the cache counts what it
	// has decoded and read of them.
	pins    []*mvcc.Item
	values  map[string]entry.Value
	rows    map[uint32]mvcc.RangeRows
	scans   scans
	missing int
	err     error
	m       *Machine
}

// pastName tells requests apart.
type pastName struct {
	reader kv.TxnRef
	number uint32
}

func isPast(q *msg.Read) bool { return q.Pin != 0 || !q.Kept.IsZero() }

// onReadPast begins a read in the past. A repeat that comes while it is under
// way is dropped; one that comes later reads the same again.
func (m *Machine) onReadPast(q *msg.Read) {
	name := pastName{q.Reader, q.Number}
	if m.past[name] {
		return
	}
	var f *msg.Failure
	if q.Pin != 0 {
		ok, gone := m.readable(q.Pin, q.Index)
		if !ok && gone == nil {
			return // it will be repeated
		}
		f = gone
	} else if k := m.keeps[keepName{q.Kept}]; k == nil || k.index != q.Index {
		f = failure(msg.ReasonIncarnation, kv.KindAborted, "a shard no longer keeps the state at which the transaction reads")
	} else if q.KeepNanos > 0 {
		m.keep(q.Kept, k.index, q.KeepNanos)
	}
	p := &pastRead{m: m, q: q, values: map[string]entry.Value{}, rows: map[uint32]mvcc.RangeRows{}}
	if f != nil {
		m.replyPast(p, f)
		return
	}
	m.past[name] = true
	p.missing = 1
	for i := range q.Ops {
		m.askPast(p, &q.Ops[i])
	}
	p.scans.begin()
	m.pastArrived(p, nil)
}

// readable reports whether a pin can be read here, or why not. If that is not
// known, the keeper is asked.
func (m *Machine) readable(pin uint64, index kv.Index) (bool, *msg.Failure) {
	v := m.pins.known.Verdict(pin, index)
	switch {
	case v == pins.Readable, m.cfg.Mutants.Has(mutant.PinUnchecked):
		return true, nil
	case v == pins.Unheard:
		m.askPins()
		return false, nil
	}
	f := failure(msg.ReasonRequest, kv.KindTooOld, "the snapshot is no longer kept: it has expired or was dropped")
	f.Hint = pins.KeepLonger
	return false, f
}

// askPast looks up what an operation sees, in memory if nothing newer has
// become visible, in the log otherwise.
func (m *Machine) askPast(p *pastRead, op *msg.Op) {
	span := op.Span()
	if !span.IsPoint() {
		if span.IsEmpty() {
			return
		}
		p.missing++
		r := entry.Read{Kind: entry.ReadRange, Table: entry.TableVersion, Span: span, Index: p.q.Index, Limit: mvcc.ScanLimit(op), LimitBytes: scanBytes}
		p.scans.next = append(p.scans.next, func() {
			m.askAt(r, &coldRead{then: func(r *entry.ReadResult) { m.pastScanned(p, op.Seq, r) }})
		})
		return
	}
	if _, ok := p.values[string(op.Key)]; ok {
		return
	}
	if it := m.store.Get(op.Key); it != nil && it.Loaded && it.Index <= p.q.Index {
		p.pins = append(p.pins, m.store.Pin(op.Key))
		adt.Remember(&it.Value)
		p.values[string(op.Key)] = it.Value
		return
	}
	p.values[string(op.Key)] = entry.Value{}
	p.missing++
	m.askAt(entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: op.Key, Index: p.q.Index},
		&coldRead{then: func(r *entry.ReadResult) {
			f, err := m.found(r)
			p.values[string(op.Key)] = f.Value
			m.pastArrived(p, err)
		}})
}

// pastScanned takes the rows of a range.
func (m *Machine) pastScanned(p *pastRead, seq uint32, r *entry.ReadResult) {
	rows, err := decodeRows(r)
	dropped, large := p.scans.arrived(r)
	p.missing -= dropped
	if large != nil {
		err, p.rows = large, map[uint32]mvcc.RangeRows{}
	} else {
		p.rows[seq] = rows
	}
	m.pastArrived(p, err)
}

// pastArrived: one thing less is missing.
func (m *Machine) pastArrived(p *pastRead, err error) {
	if err != nil {
		p.err = err
	}
	if p.missing--; p.missing > 0 {
		return
	}
	m.pastComplete(p)
}

// pastComplete answers, unless pages turn out to be lacking.
func (m *Machine) pastComplete(p *pastRead) {
	if p.err != nil {
		m.pastOver(p)
		m.replyPast(p, failureOf(p.err))
		return
	}
	x := mvcc.Exec(p, p.q.Ops, func(kv.Version) kv.Version { return kv.Version{} })
	if len(x.Absent) > 0 {
		m.fillPast(p, x.Absent)
		return
	}
	m.pastOver(p)
	if x.Failure != nil {
		m.replyPast(p, x.Failure)
		return
	}
	m.stats.PastReads++
	env := m.pastReply(p)
	env.ReadReply.Results = x.Results
	m.send(env)
}

// pastOver gives back what a read in the past has held.
func (m *Machine) pastOver(p *pastRead) {
	delete(m.past, pastName{p.q.Reader, p.q.Number})
	for _, it := range p.pins {
		m.store.Unpin(it)
	}
}

func (m *Machine) pastReply(p *pastRead) *msg.Envelope {
	m.readings++
	env := msg.ToGateway(p.q.Gateway)
	env.ReadReply = &msg.ReadReply{Reader: p.q.Reader, Number: p.q.Number, Index: p.q.Index,
		Reading: msg.Reading{Shard: m.cfg.ID, Incarnation: m.inc, Number: m.readings}}
	return env
}

func (m *Machine) replyPast(p *pastRead, f *msg.Failure) {
	env := m.pastReply(p)
	env.ReadReply.Failure = f
	m.send(env)
}

func (p *pastRead) Value(key []byte) (entry.Value, error) {
	v := p.values[string(key)]
	if to, moved := v.MovedTo(); moved {
		return v, mvcc.Elsewhere{Shard: to}
	}
	if home := p.m.home(key); home != p.m.cfg.ID && !v.Exists() && !p.marked(key) {
		return v, mvcc.Elsewhere{Shard: home}
	}
	return v, nil
}

// marked reports whether the key's home has said that it lived here. Otherwise
// a key of which nothing is known here, or that was gone, may have been there.
func (p *pastRead) marked(key []byte) bool {
	return slices.ContainsFunc(p.q.Ops, func(op msg.Op) bool { return op.Marked && bytes.Equal(op.Key, key) })
}

// Pending: nothing is undecided in the past.
func (p *pastRead) Pending([]byte) (low, high int64) { return 0, 0 }

// Calls see the value alone.
func (p *pastRead) Calls() *mvcc.Calls { return &mvcc.Calls{Txn: p.q.Reader} }

func (p *pastRead) Rows(seq uint32) mvcc.RangeRows { return p.rows[seq] }
