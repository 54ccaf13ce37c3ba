package shard

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// keepName names an index that is kept for a scan.
type keepName struct{ txn kv.TxnRef }

// keep is an index whose versions garbage collection spares for a while. reply
// is how it was told, to a reader that had it fixed.
type keep struct {
	index   kv.Index
	expires int64
	reply   *msg.ReadReply
}

// fixedAlready deals with a copy of a request that has fixed an index, or of an
// older one. Who reads last is not registered, and forgotten with the answer: the
// copy would fix another index for him, and give up the one that he was told of.
func (m *Machine) fixedAlready(q *msg.Read) bool {
	k := m.keeps[keepName{q.Reader}]
	if q.KeepNanos == 0 || q.LeaseNanos > 0 || k == nil || k.reply == nil || q.Number > k.reply.Number {
		return false
	}
	if q.Number == k.reply.Number {
		env := msg.ToGateway(q.Gateway)
		env.ReadReply = k.reply
		m.send(env)
	}
	return true
}

func (m *Machine) keep(txn kv.TxnRef, index kv.Index, nanos int64) {
	nanos = min(nanos, int64(kv.DefaultScanKeep))
	if len(m.keeps) == 0 {
		m.keepTop = 0
	}
	m.keepTop = max(m.keepTop, index)
	k := m.keeps[keepName{txn}]
	if k == nil {
		k = &keep{}
		m.keeps[keepName{txn}] = k
	}
	k.index, k.expires = index, m.now+nanos
	m.timers.at(m.now + nanos)
}

// onScanAt reads a page of a range at a kept index, or at a pin.
func (m *Machine) onScanAt(s *msg.ScanAt) {
	k := m.keeps[keepName{s.Txn}]
	switch {
	case s.Done:
		delete(m.keeps, keepName{s.Txn})
		return
	case s.Number == 0:
		if k != nil && k.index == s.Index && s.Incarnation == m.inc {
			m.keep(s.Txn, k.index, s.KeepNanos)
		}
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
	m.askAt(entry.Read{Kind: entry.ReadRange, Table: entry.TableVersion, Span: kv.Range(s.Start, s.End), Index: s.Index, Reverse: s.Reverse,
		Limit: mvcc.ScanLimit(&msg.Op{Limit: s.Limit}), LimitBytes: kv.ScanPageBytes}, &coldRead{page: s})
}

func (m *Machine) pageRead(s *msg.ScanAt, r *entry.ReadResult) {
	rows, err := decodeRows(r)
	if err != nil {
		m.stats.ReadErrors++
		return // the gateway repeats it, and gives up at its deadline
	}
	page := &msg.ScanPage{Resume: rows.Resume, Pairs: make([]msg.Pair, len(rows.Rows))}
	for i, row := range rows.Rows {
		page.Pairs[i] = msg.Pair{Key: row.Key, Value: mvcc.Shown(&row.Value), Type: uint32(row.Value.Type), Version: row.Value.Version, Expires: row.Value.Expires}
	}
	m.replyPage(s, page)
}

func (m *Machine) replyPage(s *msg.ScanAt, p *msg.ScanPage) {
	p.Txn, p.Number, p.Shard = s.Txn, s.Number, m.cfg.ID
	env := msg.ToGateway(s.Gateway)
	env.ScanPage = p
	m.send(env)
}
