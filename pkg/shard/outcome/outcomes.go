package outcome

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/record"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
)

// Config says how much is remembered, and for how long.
type Config struct {
	// Memory bounds the commits, and the aborts, that are remembered without asking the log.
	Memory int
	// Retention is how long outcomes are kept.
	Retention time.Duration
	// Nodes is how many nodes are told how many attempts have been aborted; 0 if none is.
	Nodes int
}

// Outcomes is what a shard knows of ids.
type Outcomes struct {
	*record.Memory
	env   *step.Env
	store *store.Store
	cfg   Config

	// floor is the low watermark on the times of ids; clock is that by which it rises.
	lowWatermark int64
	clock idClock
	// times are those of ids that have committed or were applied, as far as the state row says.
	times idTimes
	// dirty: the state row has to be written.
	dirty bool
	// lookups are under way.
	lookups map[kv.TxnID][]*lookup
	// rows are the step's rows of the table of outcomes. They are written after all others: ids
	// that end together began together, so that these rows are neighbours in the store, and are
	// cheaper to insert one after the other.
	rows []entry.Entry
	// told is how many aborts gateways have been told of.
	announced uint64
}

// lookup is a query of the log for an id's outcome that has no answer yet.
type lookup struct {
	// now is what became of the id since: the answer may have been read before.
	finished *entry.Outcome
}

// New makes what a shard knows at the begin of an incarnation, from its state row and fences.
func New(e *step.Env, s *store.Store, cfg Config, state *entry.State, fences []Fence) *Outcomes {
	o := &Outcomes{Memory: record.NewMemory(cfg.Memory, e.Mutants), env: e, store: s, cfg: cfg, lookups: map[kv.TxnID][]*lookup{}}
	o.initLowWatermark(state.Floor)
	o.times = idTimesOf(state, o.clock.wall, int64(cfg.Retention))
	o.ForgetUpTo(o.times[0].to)
	for _, t := range o.times[1:] {
		o.ForgetBetween(t.from, t.to)
	}
	o.times.reserve()
	for _, f := range fences {
		o.RecoverFence(f.User, f.ID)
	}
	return o
}

// LookUp asks the log for the outcome of an id, and calls then with it.
func (o *Outcomes) LookUp(id kv.TxnID, then func(*entry.Outcome, error)) {
	l := &lookup{}
	o.lookups[id] = append(o.lookups[id], l)
	o.store.Read(entry.Read{Kind: entry.ReadRow, Table: entry.TableOutcome, Key: o.env.IDKey(id), Commit: true}, func(r *entry.ReadResult) {
		rest := slices.DeleteFunc(o.lookups[id], func(x *lookup) bool { return x == l })
		if len(rest) > 0 {
			o.lookups[id] = rest
		} else {
			delete(o.lookups, id)
		}
		if l.finished != nil {
			then(l.finished, nil)
			return
		}
		found := &entry.Outcome{}
		err := r.Err
		if err == nil && len(r.Rows) > 0 {
			err = found.Unmarshal(r.Rows[0].Value)
		}
		then(found, err)
	})
}

// Finish records an outcome, in memory and in the log. It does not keep x.
func (o *Outcomes) Finish(id kv.TxnID, x *entry.Outcome) {
	if o.times.add(id.Time) {
		o.dirty = true
	}
	o.Memory.Finish(id, record.Finished{Committed: x.Committed, Applied: x.Applied, Fingerprint: x.Fingerprint})
	o.rows = append(o.rows, entry.Entry{Table: entry.TableOutcome, Key: o.env.IDKey(id), Value: o.env.Encode(x)})
	for _, l := range o.lookups[id] {
		if o.env.Mutants.Has(mutant.LookUpBlind) {
			break
		}
		now := *x
		l.finished = &now
	}
}

// Flush writes the step's outcomes, and reports whether the state row has to be written.
func (o *Outcomes) Flush() bool {
	for _, e := range o.rows {
		o.env.Write(e)
	}
	o.rows = step.Emptied(o.rows)
	dirty := o.dirty
	o.dirty = false
	return dirty
}

// Fill writes what the next incarnation has to know into a state row.
func (o *Outcomes) Fill(s *entry.State) {
	s.Floor = o.lowWatermark
	o.times.fill(s)
}

// Rest does the same at a clean stop, when nothing more will commit.
func (o *Outcomes) FillClean(s *entry.State) {
	o.times.trimReserve()
	o.times.fill(s)
}

// Closed tells why a transaction cannot be decided here any more, as far as is remembered; nil if
// it can.
func (o *Outcomes) IDFailure(id kv.TxnID) *msg.Failure {
	switch {
	case id.Time < o.lowWatermark:
		return msg.Fail(msg.ReasonTooOld, kv.KindTooOld, "the transaction is older than the outcomes that the store keeps")
	case o.IsFenced(id):
		return FencedFailure()
	}
	return nil
}

// FencedFailure is that of a transaction that an enquiry has closed.
func FencedFailure() *msg.Failure {
	return msg.Fail(msg.ReasonFenced, kv.KindAborted, "a query of the outcome has aborted the transaction")
}

// ClosedCommit is Closed for one commit of a user's attempt, and what its gateway knew of this shard.
// One of this incarnation whose abort may have been forgotten is presumed to be aborted.
func (o *Outcomes) CommitFailure(txn kv.TxnRef, commit kv.CommitID, user kv.Account, known kv.Known) *msg.Failure {
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
		return msg.Fail(msg.ReasonTombstone, kv.KindAborted, "the commit was sent before the oldest abort that the shard remembers")
	}
	return nil
}

// Fence is a row of the table of fences: an id that is closed for good.
type Fence struct {
	ID kv.TxnID
	// User is who asked about it, 0 if that was not written down.
	User kv.Account
}

// Unmarshal reads a row.
func (f *Fence) Unmarshal(key, value []byte) error {
	if len(value) == 2 {
		f.User = kv.Account(binary.BigEndian.Uint16(value))
	}
	return f.ID.Unmarshal(key)
}

// Close closes an id for good, in memory and in the log, for a user who asks about it. It reports
// false, and does nothing, if the user has closed as many as anybody may.
func (o *Outcomes) WriteFence(user kv.Account, id kv.TxnID) bool {
	if !o.Fence(user, id) {
		return false
	}
	if !o.env.Mutants.Has(mutant.FencesForgotten) {
		o.env.Write(entry.Entry{Table: entry.TableFence, Key: o.env.IDKey(id), Value: binary.BigEndian.AppendUint16(nil, uint16(user))})
	}
	return true
}

// Announce tells all gateways how many attempts have been aborted, so that what they send is not
// taken for a message that was sent long ago. Answers say it too, but some gateways may have had
// none.
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
