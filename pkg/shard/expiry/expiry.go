package expiry

import (
	"bytes"
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
	"github.com/linchpindb/linchpin/pkg/shard/timeofday"
)

const (
	// duePerLook is how many keys a shard has deleted each time it looks for what is
	// due: by default a thousand a second, so that a million that are due at once are
	// no burden to others.
	duePerLook = 100
	// maxDue bounds the keys that are being deleted. As many have to be locked by
	// others for long before the rest wait for them.
	maxDue = 4096
	// passLimit is how many rows of the deadline table a look reads at most while it passes
	// over keys that are not deleted yet.
	passLimit = 1024
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
	env   *step.Env
	store *store.Store
	clock *timeofday.Clock
	cfg   Config

	// from is the row from which on to look for what is due: those before it are
	// gone, in due, or passed over. next is no later than any deadline from there on, in
	// milliseconds; never if there is none.
	from []byte
	next int64
	// passed: there are rows before from whose keys are not deleted yet, though their deadline
	// has passed by one of the clocks. restart is when to look at them again, by Now.
	passed  bool
	restart int64
	// whole: the table is read to its end, since a key may be due of which the deadline has not
	// passed by any clock: the clock that set it, or the shard's, is in doubt. later is the first
	// row whose deadline has not passed, from which to go on; suspect are the clocks in doubt
	// that rows name.
	whole   bool
	later   []byte
	suspect map[uint64]bool
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
func New(e *step.Env, st *store.Store, clock *timeofday.Clock, cfg Config, written bool) *Deadlines {
	d := &Deadlines{env: e, store: st, clock: clock, cfg: cfg, next: step.Never, restart: step.Never,
		due: map[string]*dueKey{}, suspect: map[uint64]bool{}}
	if written {
		d.readAgain() // there may be some
	}
	return d
}

// Clock is the time by which keys expire, in milliseconds, rounded up, so that what begins
// now and ends after some milliseconds does not do so too early.
func (d *Deadlines) Clock() int64 {
	const ms = int64(time.Millisecond)
	return (d.clock.At(d.env.Now) + ms - 1) / ms
}

// ClockID names the clock that Clock reads.
func (d *Deadlines) ClockID() uint64 { return d.clock.ID() }

// ClockChanged has everything looked at again: the shard's clock is proven now, or there is
// another one.
func (d *Deadlines) ClockChanged() {
	if d.passed {
		d.restart = d.env.Now
	}
}

// readAgain has the table looked at from its beginning.
func (d *Deadlines) readAgain() {
	d.from, d.next, d.passed, d.restart = nil, 0, false, step.Never
	d.whole, d.later, d.suspect = !d.clock.Proven() || d.clock.Unproven(), nil, map[uint64]bool{}
}

// dueAt is when a key is to be deleted, by Now; env.Never if that is not known. A deadline
// that this incarnation has set passes by the clock that set it. One of an earlier
// incarnation passes by the shard's clock, if both clocks can be relied on; and in any case
// when this incarnation has lasted for as long as the key was to live.
func (d *Deadlines) dueAt(expires int64, set entry.Deadline) int64 {
	offset, own := d.clock.Own(set.Clock)
	if own {
		return at(expires, offset)
	}
	due := step.Never
	if set.Ttl > 0 && set.Ttl < math.MaxInt64/int64(time.Millisecond)/2 {
		due = d.clock.Start() + set.Ttl*int64(time.Millisecond)
	}
	if d.clock.Proven() && d.clock.Reliable(set.Clock) {
		due = min(due, d.at(expires))
	}
	return due
}

// isDue reports whether a key is to be deleted now.
func (d *Deadlines) isDue(due int64) bool {
	if d.env.Mutants.Has(mutant.ExpiresEarly) {
		due -= int64(50 * time.Millisecond)
	}
	return d.env.Now >= due
}

// at is when a deadline passes by the shard's clock, by Now.
func (d *Deadlines) at(expires int64) int64 { return at(expires, d.clock.At(0)) }

// first is when a deadline passes by any of the incarnation's clocks.
func (d *Deadlines) first(expires int64) int64 { return at(expires, d.clock.Highest()) }

// at is when a deadline passes by a clock, by Now.
func at(expires, offset int64) int64 {
	if expires > math.MaxInt64/int64(time.Millisecond) {
		return step.Never
	}
	nanos := expires * int64(time.Millisecond)
	if offset < 0 && nanos > math.MaxInt64+offset {
		return step.Never
	}
	return nanos - offset
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
	d.env.Put(entry.TableDeadline, row, &entry.Deadline{Ttl: e.Ttl, Clock: e.Clock})
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
	if d.next == step.Never || bytes.Compare(row, d.from) < 0 {
		d.from = row
		d.next, _, _ = entry.SplitDeadlineKey(row)
	}
}

// Next is when there is something to be done.
func (d *Deadlines) Next() int64 {
	next := step.Never
	if d.cfg.Node == 0 {
		return step.Never
	}
	if !d.reading && len(d.due) < maxDue {
		next = d.restart
		if d.next != step.Never {
			next = min(next, d.lookAt())
		}
	}
	if len(d.order) > 0 {
		next = min(next, d.order[0].again)
	}
	return max(min(next, d.clock.Next()), d.look)
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
	if d.reading || room <= 0 {
		return
	}
	if d.env.Now >= d.restart {
		d.readAgain()
	}
	if d.next == step.Never || d.env.Now < d.lookAt() {
		return
	}
	d.read(room)
}

// lookAt is when the row at from is to be looked at.
func (d *Deadlines) lookAt() int64 {
	if d.whole {
		return d.env.Now
	}
	return d.first(d.next)
}

// read looks for rows that are due, of which at most room keys are deleted.
func (d *Deadlines) read(room int) {
	d.reading, d.gone, d.fresh = true, map[string]bool{}, nil
	limit := room + 1 // one more tells when to look next
	if d.passed || d.whole && len(d.from) > 0 {
		limit = max(limit, passLimit)
	}
	d.store.Read(entry.Read{Kind: entry.ReadRows, Table: entry.TableDeadline, Span: kv.Range(d.from, nil), Limit: limit},
		func(r *entry.ReadResult) { d.found(r, room, limit) })
}

// found takes the first rows, of which at most room keys are deleted now.
func (d *Deadlines) found(r *entry.ReadResult, room, limit int) {
	gone, fresh := d.gone, d.fresh
	d.reading, d.gone, d.fresh = false, nil, nil
	if r.Err != nil {
		d.store.Failed() // and is read again
	} else {
		d.next = step.Never
		for i := range r.Rows {
			row := r.Rows[i].Key
			expires, key, ok := entry.SplitDeadlineKey(row)
			later := ok && !d.isDue(d.first(expires))
			if room == 0 || i == limit-1 || later && !d.whole {
				d.from, d.next = row, expires
				break
			}
			if ok && !gone[string(row)] && d.due[string(row)] == nil && d.takes(&r.Rows[i], key, expires, later) {
				room--
			}
		}
		d.endWhole()
	}
	if fresh != nil {
		d.include(fresh)
	}
}

// takes has a row's key deleted, and reports whether it has. If the key is not due yet the row
// is passed over; later: its deadline has not passed.
func (d *Deadlines) takes(row *entry.Row, key []byte, expires int64, later bool) bool {
	var set entry.Deadline
	err := set.Unmarshal(row.Value)
	if err != nil {
		set = entry.Deadline{} // a row of an older version, which has none
	}
	_, own := d.clock.Own(set.Clock)
	if !own && !d.clock.Reliable(set.Clock) {
		d.suspect[set.Clock] = true
	}
	if later {
		if d.later == nil || bytes.Compare(row.Key, d.later) < 0 {
			d.later = row.Key
		}
		if own || d.clock.Proven() && d.clock.Reliable(set.Clock) {
			return false
		}
	}
	due := d.dueAt(expires, set)
	if !d.isDue(due) {
		d.passed, d.restart = true, min(d.restart, due)
		return false
	}
	k := &dueKey{row: row.Key, key: key, expires: expires}
	d.due[string(row.Key)] = k
	d.deleteDue(k)
	return true
}

// endWhole goes back to the first row whose deadline has not passed, when the table has been
// read to its end.
func (d *Deadlines) endWhole() {
	if !d.whole || d.next != step.Never {
		return
	}
	d.whole = false
	if d.clock.Proven() {
		d.clock.Retain(d.suspect)
	}
	if d.later != nil {
		d.from = d.later
		d.next, _, _ = entry.SplitDeadlineKey(d.later)
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
	m.Body = &msg.Due{ExpireKey: &msg.ExpireKey{Txn: kv.TxnRef{TxnID: id, Attempt: 1}, Key: k.key, Expires: k.expires}}
	d.env.Send(m)
	k.again = d.env.Now + int64(d.cfg.Again)
	d.order = append(d.order, k)
}

// Overdue is for how long the oldest deadline has passed that is known of, 0 if
// none has.
func (d *Deadlines) Overdue() time.Duration {
	first := step.Never
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

// Suspended is why keys that earlier incarnations have given a time to live are not deleted by
// the time of day; None if they are.
func (d *Deadlines) Suspended() timeofday.Doubt {
	if d.clock.Proven() {
		return timeofday.None
	}
	return d.clock.Doubt()
}

// Due is how many keys are due and being deleted.
func (d *Deadlines) Due() int { return len(d.due) }

// Stats gives the counters.
func (d *Deadlines) Stats() Stats { return d.stats }
