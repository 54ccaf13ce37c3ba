package shard

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// keepName names an index that is kept for a scan.
type keepName struct{ txn kv.TxnRef }

// keep is an index whose versions garbage collection spares for a while.
type keep struct {
	index   kv.Index
	expires int64
}

func (m *Machine) keep(txn kv.TxnRef, index kv.Index, nanos int64) {
	nanos = min(nanos, int64(kv.DefaultScanKeep))
	m.keeps[keepName{txn}] = &keep{index: index, expires: m.now + nanos}
	m.timers.at(m.now + nanos)
}

// horizon is the lowest index at which somebody may still read.
func (m *Machine) horizon() kv.Index {
	h := m.index
	if m.cfg.Mutants.Has(mutant.GarbageTooEarly) {
		return h
	}
	for _, k := range m.keeps {
		h = min(h, k.index)
	}
	for _, c := range m.cold {
		h = min(h, c.index)
	}
	return h
}

// onScanAt reads a page of a range at a kept index.
func (m *Machine) onScanAt(s *msg.ScanAt) {
	k := m.keeps[keepName{s.Txn}]
	switch {
	case s.Done:
		delete(m.keeps, keepName{s.Txn})
		return
	case k == nil || k.index != s.Index || s.Incarnation != m.inc:
		m.replyPage(s, &msg.ScanPage{Gone: true})
		return
	}
	m.keep(s.Txn, k.index, s.KeepNanos)
	m.askAt(entry.Read{Kind: entry.ReadRange, Table: entry.TableVersion, Span: kv.Range(s.Start, s.End), Index: s.Index,
		Limit: mvcc.ScanLimit(&msg.Op{Limit: s.Limit}), LimitBytes: scanBytes}, &coldRead{page: s})
}

func (m *Machine) pageRead(s *msg.ScanAt, r *entry.ReadResult) {
	rows, err := decodeRows(r)
	if err != nil {
		m.stats.ReadErrors++
		return // the gateway repeats it, and gives up at its deadline
	}
	page := &msg.ScanPage{Resume: rows.Resume, Pairs: make([]msg.Pair, len(rows.Rows))}
	for i, row := range rows.Rows {
		page.Pairs[i] = msg.Pair{Key: row.Key, Value: row.Value.Payload, Type: uint32(row.Value.Type), Version: row.Value.Version}
	}
	m.replyPage(s, page)
}

func (m *Machine) replyPage(s *msg.ScanAt, p *msg.ScanPage) {
	p.Txn, p.Number, p.Shard = s.Txn, s.Number, m.cfg.ID
	env := msg.ToGateway(s.Gateway)
	env.ScanPage = p
	m.send(env)
}

// collect removes versions that nobody can read any more.
func (m *Machine) collect() {
	m.out.Entries = append(m.out.Entries, m.garbage.Collect(m.horizon())...)
}

// sweepRows is how many versions one step of a sweep looks at.
const sweepRows = 2000

// sweep walks all versions of the shard, a piece at a time, and removes what
// the notes of garbage have forgotten. It begins after a restart.
func (m *Machine) sweep(from []byte) {
	m.sweeping = true
	h := m.horizon()
	m.askAt(entry.Read{Kind: entry.ReadGarbage, Table: entry.TableVersion, Span: kv.Range(from, nil), Index: h, Limit: sweepRows},
		&coldRead{then: func(r *entry.ReadResult) {
			m.sweeping = false
			if r.Err != nil {
				m.stats.ReadErrors++
				return
			}
			for _, g := range r.Garbage {
				m.write(entry.Entry{Action: entry.DeleteBelow, Table: entry.TableVersion, Key: g.Key, Index: g.Below})
			}
			m.stats.Swept += uint64(len(r.Garbage))
			m.sweepFrom = slices.Clone(r.Resume)
			if r.Resume == nil {
				m.garbage.Lost = false
			}
		}})
}
