package shard

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
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
	if len(m.keeps) == 0 {
		m.keepTop = 0
	}
	m.keepTop = max(m.keepTop, index)
	m.keeps[keepName{txn}] = &keep{index: index, expires: m.now + nanos}
	m.timers.at(m.now + nanos)
}

// onScanAt reads a page of a range at a kept index, or at a pin.
func (m *Machine) onScanAt(s *msg.ScanAt) {
	k := m.keeps[keepName{s.Txn}]
	switch {
	case s.Done:
		delete(m.keeps, keepName{s.Txn})
		return
	case s.Pin != 0:
		if ok, gone := m.readable(s.Pin, s.Index); !ok {
			if gone != nil {
				m.replyPage(s, &msg.ScanPage{Gone: true})
			}
			return // else it will be repeated
		}
	case k == nil || k.index != s.Index || s.Incarnation != m.inc:
		m.replyPage(s, &msg.ScanPage{Gone: true})
		return
	default:
		m.keep(s.Txn, k.index, s.KeepNanos)
	}
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
