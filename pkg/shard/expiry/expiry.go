package expiry

import (
	"bytes"
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/env"
	"github.com/linchpindb/linchpin/pkg/shard/store"
)

const (
	// duePerLook is how many keys a shard has deleted each time it looks for what is
	// due: by default a thousand a second, so that a million that are due at once are
	// no burden to others.
	duePerLook = 100
	// maxDue bounds the keys that are being deleted. As many have to be locked by
	// others for long before the rest wait for them.
	maxDue = 4096
)

// Config says who deletes keys.
type Config struct {
	// Node is the one whose gateway does; 0 if nobody does.
	Node kv.NodeID
	// Every is how often to look for keys that are due.
	Every time.Duration
	// Again is after what time a deletion is asked for anew that has not happened.
	Again time.Duration
}

// Deadlines is what a shard knows of the keys that expire there.
type Deadlines struct {
	env   *env.Env
	store *store.Store
	cfg   Config

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
	// asked counts deletions that were asked for in this incarnation.
	asked uint64
	stats Stats
}

// Stats count the keys that were deleted when they were due, and after what time that
// was, together, in nanoseconds.
type Stats struct{ Expired, LateNanos uint64 }

// dueKey is a key that is being deleted.
type dueKey struct {
	row, key []byte
	expires  int64
	// again is when to begin anew; gone: it has been deleted, or expires at another
	// time.
	again int64
	gone  bool
}

// New makes what a shard knows of deadlines when it starts. written: something was written
// in earlier incarnations.
func New(e *env.Env, st *store.Store, cfg Config, written bool) *Deadlines {
	d := &Deadlines{env: e, store: st, cfg: cfg, now: e.Now, wall: e.Wall, next: env.Never, due: map[string]*dueKey{}}
	if written {
		d.next = 0 // there may be some
	}
	return d
}

// sinceEpoch is the time by which keys expire, in nanoseconds.
func (d *Deadlines) sinceEpoch(now int64) int64 { return d.wall + now - d.now }

// Clock is that time in milliseconds, rounded up, so that what begins now and ends
// after some milliseconds does not do so too early.
func (d *Deadlines) Clock() int64 {
	const ms = int64(time.Millisecond)
	return (d.sinceEpoch(d.env.Now) + ms - 1) / ms
}

// isDue reports whether a deadline has passed.
func (d *Deadlines) isDue(expires int64) bool {
	if d.env.Mutants.Has(mutant.ExpiresEarly) {
		expires -= 50
	}
	return d.env.Now >= d.at(expires)
}

// at is when a deadline passes, by Now.
func (d *Deadlines) at(expires int64) int64 {
	if expires > math.MaxInt64/int64(time.Millisecond) {
		return env.Never
	}
	return max(expires*int64(time.Millisecond)-d.wall, 0) + d.now
}

// Settle keeps the deadline table as the newest values say: before has been
// replaced by what expires at after, by an effect. It is called in the step, and
// so in the batch, that writes the value.
func (d *Deadlines) Settle(key []byte, before, after int64, e *entry.Effect) {
	if e.Kind == entry.EffectDelete && e.Expires > 0 {
		d.stats.Expired++
		d.stats.LateNanos += uint64(max(d.env.Now-d.at(e.Expires), 0))
	}
	if before == after {
		return
	}
	if before != 0 {
		row := entry.DeadlineKey(before, key)
		d.env.Delete(entry.TableDeadline, row)
		if d.reading {
			d.gone[string(row)] = true
		}
		if k := d.due[string(row)]; k != nil {
			k.gone = true
			delete(d.due, string(row))
		}
	}
	if after == 0 || e.Kind == entry.EffectMoveIn && d.env.Mutants.Has(mutant.DeadlineLostAtMove) {
		return
	}
	row := entry.DeadlineKey(after, key)
	d.env.Write(entry.Entry{Table: entry.TableDeadline, Key: row, Value: []byte{}})
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
func (d *Deadlines) include(row []byte) {
	if d.next == env.Never || bytes.Compare(row, d.from) < 0 {
		d.from = row
		d.next, _, _ = entry.SplitDeadlineKey(row)
	}
}

// Next is when there is something to be done.
func (d *Deadlines) Next() int64 {
	next := env.Never
	if d.cfg.Node == 0 {
		return env.Never
	}
	if d.next != env.Never && !d.reading && len(d.due) < maxDue {
		next = d.at(d.next)
	}
	if len(d.order) > 0 {
		next = min(next, d.order[0].again)
	}
	return max(next, d.look)
}

// Tick has keys deleted that are due, and looks for more of them.
func (d *Deadlines) Tick() {
	if d.env.Now < d.Next() {
		return
	}
	d.look = d.env.Now + int64(d.cfg.Every)
	room := duePerLook
	for ; len(d.order) > 0 && (d.order[0].gone || d.order[0].again <= d.env.Now && room > 0); d.order = d.order[1:] {
		if k := d.order[0]; !k.gone {
			d.deleteDue(k)
			room--
		}
	}
	room = min(room, maxDue-len(d.due))
	if d.next == env.Never || d.reading || room <= 0 || d.env.Now < d.at(d.next) {
		return
	}
	d.reading, d.gone, d.fresh = true, map[string]bool{}, nil
	// One more tells when to look next.
	d.store.Read(entry.Read{Kind: entry.ReadRows, Table: entry.TableDeadline, Span: kv.Range(d.from, nil), Limit: room + 1},
		func(r *entry.ReadResult) { d.found(r, room) })
}

// found takes the first rows, of which at most room keys are deleted now.
func (d *Deadlines) found(r *entry.ReadResult, room int) {
	gone, fresh := d.gone, d.fresh
	d.reading, d.gone, d.fresh = false, nil, nil
	if r.Err != nil {
		d.store.Failed() // and is read again
	} else {
		d.next = env.Never
		for i := range r.Rows {
			row := r.Rows[i].Key
			expires, key, ok := entry.SplitDeadlineKey(row)
			if i == room || ok && !d.isDue(expires) {
				d.from, d.next = row, expires
				break
			}
			if ok && !gone[string(row)] && d.due[string(row)] == nil {
				k := &dueKey{row: row, key: key, expires: expires}
				d.due[string(row)] = k
				d.deleteDue(k)
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
func (d *Deadlines) deleteDue(k *dueKey) {
	d.asked++
	id := kv.TxnID{Time: d.env.IDTime, Rand: 1<<63 | uint64(d.env.ID)<<48 | uint64(d.env.Inc&math.MaxUint16)<<32 | d.asked&math.MaxUint32}
	m := msg.ToGateway(d.cfg.Node)
	m.Due = &msg.Due{ExpireKey: &msg.ExpireKey{Txn: kv.TxnRef{TxnID: id, Attempt: 1}, Key: k.key, Expires: k.expires}}
	d.env.Send(m)
	k.again = d.env.Now + int64(d.cfg.Again)
	d.order = append(d.order, k)
}

// Overdue is for how long the oldest deadline has passed that is known of, 0 if
// none has.
func (d *Deadlines) Overdue() time.Duration {
	first := env.Never
	if d.next > 0 {
		first = d.next
	}
	for _, k := range d.order {
		if !k.gone {
			first = min(first, k.expires)
		}
	}
	return time.Duration(max(d.env.Now-d.at(first), 0))
}

// Due is how many keys are due and being deleted.
func (d *Deadlines) Due() int { return len(d.due) }

// Stats gives the counters.
func (d *Deadlines) Stats() Stats { return d.stats }
