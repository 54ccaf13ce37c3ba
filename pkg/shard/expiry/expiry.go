package expiry

import (
	"bytes"
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
	"github.com/linchpindb/linchpin/pkg/shard/timeofday"
)

const (
	// maxDeletesPerTick is the number of deletions requested per look at the table: by default 1,000 per second,
	// so that a million keys that are due together do not delay other transactions.
	maxDeletesPerTick = 100
	// maxDue bounds the deletions in progress. It is reached only if so many of the keys stay locked for long.
	maxDue = 4096
	// maxSkippedRows is the number of rows that one read of the table returns at most while rows are skipped.
	maxSkippedRows = 1024
)

// Config are the parameters of deletions.
type Config struct {
	// Node is the node whose gateway deletes keys; 0 for none.
	Node kv.NodeID
	// Every is the interval between looks at the table.
	Every time.Duration
	// RetryAfter is after what time a deletion that has not happened is requested again.
	RetryAfter time.Duration
}

// Deadlines is the state of a shard's keys with a deadline.
type Deadlines struct {
	env   *step.Env
	store *store.Store
	clock *timeofday.Clock
	cfg   Config

	// nextRow is the first row of the next read: rows before it are deleted, in due, or skipped. nextDeadline is
	// a lower bound of the deadlines from there on, in milliseconds; step.Never if there is none.
	nextRow      []byte
	nextDeadline int64
	// skipped: before nextRow there are rows whose keys are not deleted, although their deadline has passed by
	// one of the clocks. restartAt is when to read them again, by Now.
	skipped   bool
	restartAt int64
	// fullScan: the table is read to its end. It is necessary when the clock that set a deadline, or the clock
	// of the shard, is in doubt: then a key may be due although its deadline has not passed by any clock.
	// firstLater is the first row whose deadline has not passed; the scan continues there. unreliable are the
	// clocks in doubt that rows name.
	fullScan   bool
	firstLater []byte
	unreliable map[uint64]bool
	// nextRead is when the table may be read again. While a read is in flight, removed are the rows deleted
	// meanwhile, and firstAdded is the first row added.
	nextRead   int64
	reading    bool
	removed    map[string]bool
	firstAdded []byte
	// due are the keys whose deletion is requested, by row. queue has them in the order of the requests, with
	// some that are done.
	due   map[string]*dueKey
	queue []*dueKey
	// requestCount is the number of deletions requested in this incarnation.
	requestCount uint64
	stats        Stats
}

// Stats are the number of keys deleted after their deadline, and the total delay after the deadlines, in
// nanoseconds.
type Stats struct{ Expired, LateNanos uint64 }

// dueKey is a key whose deletion is requested.
type dueKey struct {
	row, key []byte
	expires  int64
	// retryAt is when to request the deletion again. done: the key is deleted, or has another deadline.
	retryAt int64
	done    bool
}

// New returns the state at a start. written: earlier incarnations have written something.
func New(e *step.Env, st *store.Store, clock *timeofday.Clock, cfg Config, written bool) *Deadlines {
	d := &Deadlines{env: e, store: st, clock: clock, cfg: cfg, nextDeadline: step.Never, restartAt: step.Never,
		due: map[string]*dueKey{}, unreliable: map[uint64]bool{}}
	if written {
		d.restartScan() // there may be deadlines
	}
	return d
}

// Clock returns the time that decides whether a key has expired, in milliseconds. It is rounded up, so that a
// time to live that starts now does not end early.
func (d *Deadlines) Clock() int64 {
	const ms = int64(time.Millisecond)
	return (d.clock.At(d.env.Now) + ms - 1) / ms
}

// ClockID names the clock of Clock.
func (d *Deadlines) ClockID() uint64 { return d.clock.ID() }

// ClockChanged reads skipped rows again: the clock of the shard is proven now, or was replaced.
func (d *Deadlines) ClockChanged() {
	if d.skipped {
		d.restartAt = d.env.Now
	}
}

// restartScan reads the table again from its beginning.
func (d *Deadlines) restartScan() {
	d.nextRow, d.nextDeadline, d.skipped, d.restartAt = nil, 0, false, step.Never
	d.fullScan, d.firstLater, d.unreliable = !d.clock.Proven() || d.clock.Unproven(), nil, map[uint64]bool{}
}

// dueAt returns when a key is to be deleted, by Now; step.Never if that is unknown. A deadline of this
// incarnation passes by the clock that set it. One of an earlier incarnation passes by the clock of the shard
// if both clocks are reliable, and in any case when this incarnation has lasted for the time to live of the
// key.
//
//	set by                          due when
//	a clock of this incarnation     that clock passes the deadline: a clock that was wrong then and is right now
//	                                would end a time to live too early, or too late
//	an earlier incarnation          the clock of the shard passes it, if neither clock is in doubt
//	...                             or this incarnation has lasted for the time to live, whatever the clocks say
func (d *Deadlines) dueAt(expires int64, set entry.Deadline) int64 {
	offset, own := d.clock.Own(set.Clock)
	if own {
		return passTime(expires, offset)
	}
	due := step.Never
	if set.Ttl > 0 && set.Ttl < math.MaxInt64/int64(time.Millisecond)/2 {
		due = d.clock.Start() + set.Ttl*int64(time.Millisecond)
	}
	if d.clock.Proven() && d.clock.Reliable(set.Clock) {
		due = min(due, d.passesAt(expires))
	}
	return due
}

// passesAt returns when a deadline passes by the clock of the shard, by Now.
func (d *Deadlines) passesAt(expires int64) int64 { return passTime(expires, d.clock.At(0)) }

// firstPassing returns when a deadline passes by any clock of the incarnation.
func (d *Deadlines) firstPassing(expires int64) int64 { return passTime(expires, d.clock.Highest()) }

// passTime returns when a deadline passes by the clock with an offset, by Now.
func passTime(expires, offset int64) int64 {
	if expires > math.MaxInt64/int64(time.Millisecond) {
		return step.Never
	}
	nanos := expires * int64(time.Millisecond)
	if offset < 0 && nanos > math.MaxInt64+offset {
		return step.Never
	}
	return nanos - offset
}

// Settle updates the deadline table for an effect that replaces the deadline before by after; 0 is none. It
// is called in the step, and so in the batch, that writes the value.
//
// The table has one row per key with a deadline. A crash leaves value and row, or neither; so no key that has a
// deadline is missing from the table.
func (d *Deadlines) Settle(key []byte, before, after int64, e *entry.Effect) {
	// A deletion that was requested by requestDelete has applied.
	if e.Kind == entry.EffectDelete && e.Expires > 0 {
		d.stats.Expired++
		d.stats.LateNanos += uint64(max(d.env.Now-d.passesAt(e.Expires), 0))
	}
	// Most writes do not change the deadline.
	if before == after {
		return
	}
	if before != 0 {
		row := entry.DeadlineKey(before, key)
		d.env.Delete(entry.TableDeadline, row)
		if d.reading {
			d.removed[string(row)] = true
		}
		if k := d.due[string(row)]; k != nil {
			k.done = true
			delete(d.due, string(row))
		}
	}
	if d.hasNoRow(after, e) {
		return
	}
	row := entry.DeadlineKey(after, key)
	d.env.Put(entry.TableDeadline, row, &entry.Deadline{Ttl: e.Ttl, Clock: e.Clock})
	// A row that is added while the table is read may be before or after the rows in the result.
	if !d.reading {
		d.scheduleRow(row)
		return
	}
	// The row was deleted and written again while the table is read: the result may have either.
	delete(d.removed, string(row))
	if d.firstAdded == nil || bytes.Compare(row, d.firstAdded) < 0 {
		d.firstAdded = row
	}
}

// scheduleRow ensures that a row is read.
func (d *Deadlines) scheduleRow(row []byte) {
	if d.nextDeadline == step.Never || bytes.Compare(row, d.nextRow) < 0 {
		d.nextRow = row
		d.nextDeadline, _, _ = entry.SplitDeadlineKey(row)
	}
}

// Next is when Tick has something to do.
func (d *Deadlines) Next() int64 {
	next := step.Never
	if d.cfg.Node == 0 {
		return step.Never
	}
	if !d.reading && len(d.due) < maxDue {
		next = d.restartAt
		if d.nextDeadline != step.Never {
			next = min(next, d.nextRowTime())
		}
	}
	if len(d.queue) > 0 {
		next = min(next, d.queue[0].retryAt)
	}
	return max(min(next, d.clock.Next()), d.nextRead)
}

// Tick requests deletions again that have not happened, and reads more due rows.
func (d *Deadlines) Tick() {
	if d.env.Now < d.Next() {
		return
	}
	d.nextRead = d.env.Now + int64(d.cfg.Every)
	room := maxDeletesPerTick
	for ; len(d.queue) > 0 && (d.queue[0].done || d.queue[0].retryAt <= d.env.Now && room > 0); d.queue = d.queue[1:] {
		if k := d.queue[0]; !k.done {
			d.requestDelete(k)
			room--
		}
	}
	room = min(room, maxDue-len(d.due))
	if d.reading || room <= 0 {
		return
	}
	if d.env.Now >= d.restartAt {
		d.restartScan()
	}
	if d.nextDeadline == step.Never || d.env.Now < d.nextRowTime() {
		return
	}
	d.readDue(room)
}

// nextRowTime is when nextRow is to be read.
func (d *Deadlines) nextRowTime() int64 {
	if d.fullScan {
		return d.env.Now
	}
	return d.firstPassing(d.nextDeadline)
}

// readDue reads due rows, of which at most room keys are deleted.
func (d *Deadlines) readDue(room int) {
	d.reading, d.removed, d.firstAdded = true, map[string]bool{}, nil
	limit := room + 1 // one more, which determines when to read next
	if d.skipped || d.fullScan && len(d.nextRow) > 0 {
		limit = max(limit, maxSkippedRows)
	}
	d.store.Read(
		entry.Read{Kind: entry.ReadRows, Table: entry.TableDeadline, Span: kv.Range(d.nextRow, nil), Limit: limit},
		func(r *entry.ReadResult) { d.onDueRows(r, room, limit) })
}

// onDueRows handles the rows that were read, of which at most room keys are deleted.
//
// The table may have changed since the read was sent:
//
//	deleted rows         removed has them: their keys have another deadline, or none
//	added rows           may precede the result: the next read begins at the first of them
//	rows in due          their deletions are requested already
func (d *Deadlines) onDueRows(r *entry.ReadResult, room, limit int) {
	removed, added := d.removed, d.firstAdded
	d.reading, d.removed, d.firstAdded = false, nil, nil
	if r.Err != nil {
		d.store.CountReadError() // it is read again
	} else {
		d.nextDeadline = step.Never
		for i := range r.Rows {
			row := r.Rows[i].Key
			expires, key, ok := entry.SplitDeadlineKey(row)
			later := ok && !d.isDue(d.firstPassing(expires))
			if room == 0 || i == limit-1 || later && !d.fullScan {
				d.nextRow, d.nextDeadline = row, expires
				break
			}
			if ok && !removed[string(row)] && d.due[string(row)] == nil && d.deleteIfDue(&r.Rows[i], key, expires, later) {
				room--
			}
		}
		d.endFullScan()
	}
	if added != nil {
		d.scheduleRow(added)
	}
}

// deleteIfDue requests the deletion of a row's key, and reports whether it has. A key that is not due is
// skipped; later: its deadline has not passed by any clock of the incarnation.
func (d *Deadlines) deleteIfDue(row *entry.Row, key []byte, expires int64, later bool) bool {
	var set entry.Deadline
	err := set.Unmarshal(row.Value)
	if err != nil {
		set = entry.Deadline{} // a row of an older version, which names no clock
	}
	_, own := d.clock.Own(set.Clock)
	// The clock must be remembered as unreliable as long as a row names it.
	if !own && !d.clock.Reliable(set.Clock) {
		d.unreliable[set.Clock] = true
	}
	if later {
		if d.firstLater == nil || bytes.Compare(row.Key, d.firstLater) < 0 {
			d.firstLater = row.Key
		}
		if own || d.clock.Proven() && d.clock.Reliable(set.Clock) {
			return false
		}
	}
	due := d.dueAt(expires, set)
	if !d.isDue(due) {
		d.skipped, d.restartAt = true, min(d.restartAt, due)
		return false
	}
	k := &dueKey{row: row.Key, key: key, expires: expires}
	d.due[string(row.Key)] = k
	d.requestDelete(k)
	return true
}

// endFullScan returns to the first row whose deadline has not passed, when the table has been read to its
// end.
func (d *Deadlines) endFullScan() {
	if !d.fullScan || d.nextDeadline != step.Never {
		return
	}
	d.fullScan = false
	if d.clock.Proven() {
		d.clock.RetainUnproven(d.unreliable)
	}
	// From here on deadlines are read in order, as they pass.
	if d.firstLater != nil {
		d.nextRow = d.firstLater
		d.nextDeadline, _, _ = entry.SplitDeadlineKey(d.firstLater)
	}
}

// requestDelete requests the deletion of a key from the gateway of this node. The transaction is as old as
// this moment, so it waits for older ones.
//
// The deletion may be executed twice: if the message is repeated across a restart of the gateway, or if the
// key has moved. The second execution finds that the key does not have the deadline any more, and changes
// nothing.
func (d *Deadlines) requestDelete(k *dueKey) {
	d.requestCount++
	id := kv.TxnID{
		Time: d.env.IDTime,
		Rand: 1<<63 | uint64(d.env.ID)<<48 | uint64(d.env.Inc&math.MaxUint16)<<32 | d.requestCount&math.MaxUint32,
	}
	m := msg.ToGateway(d.cfg.Node)
	m.Body = &msg.Due{ExpireKey: &msg.ExpireKey{Txn: kv.TxnRef{TxnID: id, Attempt: 1}, Key: k.key, Expires: k.expires}}
	d.env.Send(m)
	// The transaction may abort, or the message may be lost.
	k.retryAt = d.env.Now + int64(d.cfg.RetryAfter)
	d.queue = append(d.queue, k)
}

// Overdue returns for how long the oldest known deadline has passed, 0 if none has.
func (d *Deadlines) Overdue() time.Duration {
	first := step.Never
	if d.nextDeadline > 0 {
		first = d.nextDeadline
	}
	for _, k := range d.queue {
		if !k.done {
			first = min(first, k.expires)
		}
	}
	return time.Duration(max(d.env.Now-d.passesAt(first), 0))
}

// Suspended returns why deadlines of earlier incarnations do not pass by the time of day; None if they do.
func (d *Deadlines) Suspended() timeofday.Doubt {
	if d.clock.Proven() {
		return timeofday.None
	}
	return d.clock.Doubt()
}

// Due is the number of deletions in progress.
func (d *Deadlines) Due() int { return len(d.due) }

// Stats returns the counters.
func (d *Deadlines) Stats() Stats { return d.stats }
