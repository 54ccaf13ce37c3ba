package outcome

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
)

// Config bounds what is remembered.
type Config struct {
	// Memory bounds the commits, and the aborts, in memory.
	Memory int
	// Retention is how long outcomes are kept in the log.
	Retention time.Duration
	// Nodes is the number of nodes whose gateways receive announcements, 0 for none.
	Nodes int
}

// Outcomes is what a shard knows of ids. It is used by the state machine of its shard only.
type Outcomes struct {
	*Memory
	env   *step.Env
	store *store.Store
	cfg   Config

	// lowWatermark is the durable one, on times in ids. clock is the clock by which it rises.
	lowWatermark int64
	clock        idClock
	// times are the spans of time of the ids that have committed or were applied.
	times idTimes
	// dirty: the state row must be written.
	dirty bool
	// lookups are those in flight, found those that have ended since the last Next.
	lookups map[kv.TxnID][]*lookup
	found   []Found
	// rows are the outcomes of this step. They are written after all other entries: ids that end in
	// one step began at about the same time, so their rows are neighbours in the store, and
	// inserting neighbours one after the other is cheaper.
	rows []entry.Entry
	// announced is the last announced number of aborts.
	announced uint64
}

// lookup is a read of an outcome in the log.
type lookup struct {
	waiter any
	// finished is the outcome that was written since the lookup began; the log may have been read
	// before.
	finished *entry.Outcome
}

// Found is the result of a lookup.
type Found struct {
	// Waiter is what LookUp was given.
	Waiter any
	// Outcome is what the log contains of the id, empty if that is nothing.
	Outcome *entry.Outcome
	// Err is set if the log could not be read, or the row could not be decoded.
	Err error
}

// Finished returns what the log contains of the id.
func (f *Found) Finished() Finished {
	o := f.Outcome
	return Finished{Committed: o.Committed, Applied: o.Applied, Fingerprint: o.Fingerprint}
}

// New returns the outcomes at the start of an incarnation, from its state row and fences.
func New(e *step.Env, s *store.Store, cfg Config, state *entry.State, fences []Fence) *Outcomes {
	o := &Outcomes{Memory: NewMemory(cfg.Memory, e.Mutants), env: e, store: s, cfg: cfg,
		lookups: map[kv.TxnID][]*lookup{}}
	o.initLowWatermark(state.LowWatermark)
	o.times = idTimesOf(state, o.clock.wall, int64(cfg.Retention))
	o.Memory.lowWatermark, o.uncertain = max(0, o.times[0].to+1), slices.Clone(o.times[1:])
	o.times.reserve()
	for _, f := range fences {
		o.fences.add(f.User, f.ID, 0) // no bound: a query was answered by it
	}
	return o
}

// LookUp reads the outcome of an id from the log for a waiter, the message that needs it. Next returns
// the result in a later step.
func (o *Outcomes) LookUp(id kv.TxnID, waiter any) {
	l := &lookup{waiter: waiter}
	o.lookups[id] = append(o.lookups[id], l)
	row := entry.Read{Kind: entry.ReadRow, Table: entry.TableOutcome, Key: o.env.IDKey(id), Commit: true}
	o.store.Read(row, func(r *entry.ReadResult) { o.onRead(id, l, r) })
}

// onRead ends a lookup.
func (o *Outcomes) onRead(id kv.TxnID, l *lookup, r *entry.ReadResult) {
	rest := slices.DeleteFunc(o.lookups[id], func(x *lookup) bool { return x == l })
	if len(rest) > 0 {
		o.lookups[id] = rest
	} else {
		delete(o.lookups, id)
	}
	f := Found{Waiter: l.waiter, Outcome: &entry.Outcome{}, Err: r.Err}
	switch {
	// History: the lookup reads no row; the id commits; the result of the read arrives. Without this
	// the waiter would commit the id again.
	case l.finished != nil:
		f.Outcome, f.Err = l.finished, nil
	case r.Err == nil && len(r.Rows) > 0:
		f.Err = f.Outcome.Unmarshal(r.Rows[0].Value)
	}
	o.found = append(o.found, f)
}

// Next returns a lookup that has ended; ok is false if there is none.
func (o *Outcomes) Next() (f Found, ok bool) {
	if len(o.found) == 0 {
		return f, false
	}
	f = o.found[0]
	o.found = slices.Delete(o.found, 0, 1)
	return f, true
}

// Finish records an outcome in memory and in the log. It does not keep x.
func (o *Outcomes) Finish(id kv.TxnID, x *entry.Outcome) {
	if o.times.add(id.Time) {
		o.dirty = true
	}
	o.RecordFinished(id, Finished{Committed: x.Committed, Applied: x.Applied, Fingerprint: x.Fingerprint})
	o.rows = append(o.rows, entry.Entry{Table: entry.TableOutcome, Key: o.env.IDKey(id), Value: o.env.Encode(x)})
	for _, l := range o.lookupsOf(id) {
		now := *x
		l.finished = &now
	}
}

// Flush writes the outcomes of the step, and reports whether the state row must be written.
func (o *Outcomes) Flush() bool {
	for _, e := range o.rows {
		o.env.Write(e)
	}
	o.rows = step.Emptied(o.rows)
	dirty := o.dirty
	o.dirty = false
	return dirty
}

// Fill sets the fields of a state row that the next incarnation needs.
func (o *Outcomes) Fill(s *entry.State) {
	s.LowWatermark = o.lowWatermark
	o.times.fill(s)
}

// FillClean does the same at a clean shutdown, after which nothing commits: the spans need no
// reserve.
func (o *Outcomes) FillClean(s *entry.State) {
	o.trimReserve()
	o.times.fill(s)
}

// IDFailure returns why no transaction with this id can be decided here; nil if memory has no
// reason.
func (o *Outcomes) IDFailure(id kv.TxnID) *msg.Failure {
	switch {
	case id.Time < o.lowWatermark:
		return msg.Fail(msg.ReasonTooOld, kv.KindTooOld, "the transaction is older than the outcomes that the store keeps")
	case o.IsFenced(id):
		return FencedFailure()
	}
	return nil
}

// FencedFailure is the failure of a transaction whose id a query has closed.
func FencedFailure() *msg.Failure {
	return msg.Fail(msg.ReasonFenced, kv.KindAborted, "a query of the outcome has aborted the transaction")
}

// CommitFailure returns why a commit cannot be decided here: because of its id, or because it was
// aborted. known is what its gateway knew of this shard. If the abort may have been evicted from
// memory, the commit is presumed aborted; that holds for requests of this incarnation only.
func (o *Outcomes) CommitFailure(txn kv.TxnRef, commit kv.CommitID, user kv.Account, known kv.KnownState) *msg.Failure {
	f := o.IDFailure(txn.TxnID)
	if f != nil {
		return f
	}
	f, dead := o.FindAbort(commit)
	switch {
	case dead && f != nil:
		return f
	case dead:
		return msg.Fail(msg.ReasonTombstone, kv.KindAborted, "the commit was cancelled")
	case known.Incarnation == o.env.Inc && o.IsPresumedAborted(user, known.Aborts):
		return msg.Fail(msg.ReasonTombstone, kv.KindAborted,
			"the commit was sent before the oldest abort that the shard remembers")
	}
	return nil
}

// Fence is a row of the table of fences: an id that is closed for good.
type Fence struct {
	ID kv.TxnID
	// User has queried the outcome; 0 if the row does not contain it.
	User kv.Account
}

// Unmarshal decodes a row.
func (f *Fence) Unmarshal(key, value []byte) error {
	if len(value) == 2 {
		f.User = kv.Account(binary.BigEndian.Uint16(value))
	}
	return f.ID.Unmarshal(key)
}

// WriteFence closes an id for good, in memory and in the log. It reports false, and does nothing, if
// the user has too many fences.
func (o *Outcomes) WriteFence(user kv.Account, id kv.TxnID) bool {
	if !o.fences.add(user, id, kv.MaxFences) {
		return false
	}
	o.logFence(user, id)
	return true
}

// Announce sends all gateways the number of aborts once it has grown by an eighth of the memory.
// Requests name the number that their gateway knows, and a low one is presumed aborted. Responses
// contain it too, but a gateway that has sent nothing for a while has received none.
func (o *Outcomes) Announce() {
	made := o.AbortCount()
	if made-o.announced < uint64(max(o.cfg.Memory/8, 1)) || o.cfg.Nodes == 0 {
		return
	}
	o.announced = made
	for n := range o.cfg.Nodes {
		m := msg.ToGateway(kv.NodeID(n + 1))
		m.Body = &msg.Announcement{Shard: o.env.ID, Incarnation: o.env.Inc, Aborts: made}
		o.env.Send(m)
	}
}
