package shard

import (
	"bytes"
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Keys that expire (docs/decisions/0020). Of each there is a row in the deadline
// table, which comes and goes with the value that says so. The shard looks there
// for what is due, some of it at a time, and has the gateway of its node delete
// each key in a transaction: if the key still expires when it did. That is all
// that happens at a deadline. The clock says when a deletion begins, and nothing
// about the order of anything, so that one that jumps makes keys live longer, or
// shorter, and no reader see anything else than other readers do.
//
// The clock is the wall clock when the shard's life began, and goes on by its
// monotonic one: whoever sets the time changes nothing before the next restart.

const (
	// duePerLook is how many keys a shard has deleted each time it looks for what is
	// due: by default a thousand a second, so that a million that are due at once are
	// no burden to others.
	duePerLook = 100
	// maxDue bounds the keys that are being deleted. As many have to be locked by
	// others for long before the rest wait for them.
	maxDue = 4096
)

// deadlines is what a shard knows of the keys that expire there.
type deadlines struct {
	// now and wall are when this life began.
	now, wall int64
	// from is the row from which on to look for what is due: those before it are
	// gone, or in due. next is no later than any deadline from there on, in
	// milliseconds; never if there is none.
	from []byte
	next int64
	// look is when the table may be looked at again. While it is being read, gone
	// are the rows that have been removed meanwhile, and fresh is the first that
	// has been added.
	look    int64
	reading bool
	gone    map[string]bool
	fresh   []byte
	// due are the keys that are being deleted, by their rows; order is them by
	// when they were asked for, with some that are gone.
	due   map[string]*dueKey
	order []*dueKey
	// asked counts deletions that were asked for in this life.
	asked uint64
}

// dueKey is a key that is being deleted.
type dueKey struct {
	row, key []byte
	expires  int64
	// again is when to begin anew; gone: it has been deleted, or expires at another
	// time.
	again int64
	gone  bool
}

func (m *Machine) initDeadlines(rec Recovered) {
	m.deadlines = deadlines{now: m.now, wall: m.wall, next: never, due: map[string]*dueKey{}}
	if rec.State.Index > 0 {
		m.deadlines.next = 0 // there may be some
	}
}

// sinceEpoch is the time by which keys expire, in nanoseconds.
func (d *deadlines) sinceEpoch(now int64) int64 { return d.wall + now - d.now }

// clock is that time in milliseconds, rounded up, so that what begins now and ends
// after some milliseconds does not do so too early.
func (m *Machine) clock() int64 {
	const ms = int64(time.Millisecond)
	return (m.deadlines.sinceEpoch(m.now) + ms - 1) / ms
}

// isDue reports whether a deadline has passed.
func (m *Machine) isDue(expires int64) bool {
	if m.cfg.Mutants.Has(mutant.ExpiresEarly) {
		expires -= 50
	}
	return m.now >= m.deadlines.at(expires)
}

// at is when a deadline passes, by Now.
func (d *deadlines) at(expires int64) int64 {
	if expires > math.MaxInt64/int64(time.Millisecond) {
		return never
	}
	return max(expires*int64(time.Millisecond)-d.wall, 0) + d.now
}

// Clock is the time by which keys expire here.
func (v *view) Clock() int64 { return v.m.clock() }

// Clock is the same for reads in the past: what has expired since is shown with
// nothing left.
func (p *pastRead) Clock() int64 { return p.m.clock() }

// settleDeadline keeps the deadline table as the newest values say: before has been
// replaced by what expires at after, by an effect. It is called in the step, and
// so in the batch, that writes the value.
func (m *Machine) settleDeadline(key []byte, before, after int64, e *entry.Effect) {
	if e.Kind == entry.EffectDelete && e.Expires > 0 {
		m.stats.Expired++
		m.stats.ExpiredLateNanos += uint64(max(m.now-m.deadlines.at(e.Expires), 0))
	}
	if before == after {
		return
	}
	d := &m.deadlines
	if before != 0 {
		row := entry.DeadlineKey(before, key)
		m.del(entry.TableDeadline, row)
		if d.reading {
			d.gone[string(row)] = true
		}
		if k := d.due[string(row)]; k != nil {
			k.gone = true
			delete(d.due, string(row))
		}
	}
	if after == 0 || e.Kind == entry.EffectMoveIn && m.cfg.Mutants.Has(mutant.DeadlineLostAtMove) {
		return
	}
	row := entry.DeadlineKey(after, key)
	m.write(entry.Entry{Table: entry.TableDeadline, Key: row, Value: []byte{}})
	if !d.reading {
		d.include(row)
		return
	}
	delete(d.gone, string(row))
	if d.fresh == nil || bytes.Compare(row, d.fresh) < 0 {
		d.fresh = row
	}
}

// include has a row be looked at.
func (d *deadlines) include(row []byte) {
	if d.next == never || bytes.Compare(row, d.from) < 0 {
		d.from = row
		d.next, _, _ = entry.SplitDeadlineKey(row)
	}
}

// nextDeadline is when there is something to be done.
func (m *Machine) nextDeadline() int64 {
	d := &m.deadlines
	next := never
	if m.cfg.Node == 0 {
		return never
	}
	if d.next != never && !d.reading && len(d.due) < maxDue {
		next = d.at(d.next)
	}
	if len(d.order) > 0 {
		next = min(next, d.order[0].again)
	}
	return max(next, d.look)
}

// tickDeadlines has keys deleted that are due, and looks for more of them.
func (m *Machine) tickDeadlines() {
	if m.now < m.nextDeadline() {
		return
	}
	d := &m.deadlines
	d.look = m.now + int64(m.cfg.DueEvery)
	room := duePerLook
	for ; len(d.order) > 0 && (d.order[0].gone || d.order[0].again <= m.now && room > 0); d.order = d.order[1:] {
		if k := d.order[0]; !k.gone {
			m.deleteDue(k)
			room--
		}
	}
	room = min(room, maxDue-len(d.due))
	if d.next == never || d.reading || room <= 0 || m.now < d.at(d.next) {
		return
	}
	d.reading, d.gone, d.fresh = true, map[string]bool{}, nil
	// One more tells when to look next.
	m.ask(entry.Read{Kind: entry.ReadRows, Table: entry.TableDeadline, Span: kv.Range(d.from, nil), Limit: room + 1},
		&coldRead{then: func(r *entry.ReadResult) { m.deadlinesRead(r, room) }})
}

// deadlinesRead takes the first rows, of which at most room keys are deleted now.
func (m *Machine) deadlinesRead(r *entry.ReadResult, room int) {
	d := &m.deadlines
	gone, fresh := d.gone, d.fresh
	d.reading, d.gone, d.fresh = false, nil, nil
	if r.Err != nil {
		m.stats.ReadErrors++ // and is read again
	} else {
		d.next = never
		for i := range r.Rows {
			row := r.Rows[i].Key
			expires, key, ok := entry.SplitDeadlineKey(row)
			if i == room || ok && !m.isDue(expires) {
				d.from, d.next = row, expires
				break
			}
			if ok && !gone[string(row)] && d.due[string(row)] == nil {
				k := &dueKey{row: row, key: key, expires: expires}
				d.due[string(row)] = k
				m.deleteDue(k)
			}
		}
	}
	if fresh != nil {
		d.include(fresh)
	}
}

// deleteDue has a key deleted by the gateway of this node. The transaction is as old
// as this moment: it waits for all who have begun before. If the message came twice,
// to two lives of the gateway, or when the key has moved, it would be run twice; then
// the second finds nothing that still expires when the first did.
func (m *Machine) deleteDue(k *dueKey) {
	d := &m.deadlines
	d.asked++
	id := kv.TxnID{Time: m.ids.wall, Rand: 1<<63 | uint64(m.cfg.ID)<<48 | uint64(m.inc&math.MaxUint16)<<32 | d.asked&math.MaxUint32}
	env := msg.ToGateway(m.cfg.Node)
	env.Due = &msg.Due{ExpireKey: &msg.ExpireKey{Txn: kv.TxnRef{TxnID: id, Attempt: 1}, Key: k.key, Expires: k.expires}}
	m.send(env)
	k.again = m.now + int64(m.cfg.DueAgain)
	d.order = append(d.order, k)
}

// overdue is for how long the oldest deadline has passed that is known of, 0 if
// none has.
func (m *Machine) overdue() time.Duration {
	d := &m.deadlines
	first := never
	if d.next > 0 {
		first = d.next
	}
	for _, k := range d.order {
		if !k.gone {
			first = min(first, k.expires)
		}
	}
	return time.Duration(max(m.now-d.at(first), 0))
}
