package shard

import (
	"encoding/binary"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/record"
)

// onCancel: the gateway wants an end. If nothing is decided, the answer is
// no, for good.
func (m *Machine) onCancel(c *msg.Cancel) {
	rec := m.recs.Get(c.Txn)
	switch {
	case rec != nil && rec.State == record.Committed:
		m.answerAgain(canceller(c))
		return
	case rec != nil:
		rec.Gateway = c.Gateway
		m.abort(rec, m.givenUp(c.Txn))
		return
	}
	m.lookUpOrAbort(c)
}

// givenUp is the failure of what is cancelled. If another commit of the transaction is
// under way, or was made, then that decides.
func (m *Machine) givenUp(txn kv.TxnRef) *msg.Failure {
	if f := m.rivals(txn); f != nil {
		return f
	}
	if m.decidedElsewhere(txn) {
		return rival()
	}
	return failure(msg.ReasonCancelled, kv.KindAborted, "the transaction was given up by its gateway")
}

func canceller(c *msg.Cancel) asker { return asker{c.Txn, c.Gateway, c.Known()} }

func (m *Machine) lookUpOrAbort(c *msg.Cancel) {
	tombstone := func() {
		f := m.closedRecord(c.Txn)
		if f == nil {
			f = m.givenUp(c.Txn)
			m.memory.Kill(c.User, c.Txn, c.Aborts, f)
		}
		m.killedToo(c.User, c.Txn, c.Known())
		m.answerAbort(canceller(c), f)
	}
	switch f := m.memory.Finished(c.Txn.TxnID); {
	case f.Committed != 0:
		m.answerAgain(canceller(c))
		return
	case f.Applied != 0:
		m.answerAbort(canceller(c), overtaken())
		return
	}
	if c.Incarnation == m.inc && m.memory.Complete(c.Txn.TxnID) {
		tombstone()
		return
	}
	m.lookUp(c.Txn.TxnID, func(o *entry.Outcome, err error) {
		switch {
		case err != nil:
		case o.Committed != 0:
			m.answerFinished(canceller(c), o)
		case o.Applied != 0:
			m.answerAbort(canceller(c), overtaken())
		case m.recs.Get(c.Txn) != nil:
			m.onCancel(c)
		default:
			tombstone()
		}
	})
}

// onEnquire: somebody lost the answer. Either this shard has the commit, or
// it makes sure that it never will.
func (m *Machine) onEnquire(q *msg.Enquire) {
	tooOld := &msg.EnquireReply{TooOld: true}
	if q.Id.Time < m.floor {
		m.replyEnquire(q, tooOld)
		return
	}
	if m.memory.Fenced(q.Id) {
		m.replyEnquire(q, &msg.EnquireReply{Fenced: true})
		return
	}
	m.lookUp(q.Id, func(o *entry.Outcome, err error) {
		switch {
		case err != nil:
		case o.Committed != 0:
			m.replyEnquire(q, &msg.EnquireReply{Committed: true, Results: o.Results, ResultsLost: o.ResultsLost})
		case m.memory.Finished(q.Id).Committed != 0: // the floor has passed it meanwhile
			m.replyEnquire(q, &msg.EnquireReply{Committed: true, ResultsLost: true})
		case q.Id.Time < m.floor && !m.cfg.Mutants.Has(mutant.FloorPassed):
			m.replyEnquire(q, tooOld)
		default:
			m.fence(q)
		}
	})
}

// FenceRow is a row of TableFence.
type FenceRow struct {
	ID kv.TxnID
	// User is who asked, 0 if that was not written down.
	User kv.Account
}

// fenceRow is the value of such a row.
func fenceRow(user kv.Account) []byte { return binary.BigEndian.AppendUint16(nil, uint16(user)) }

func fencedBy(row []byte) kv.Account {
	if len(row) != 2 {
		return 0
	}
	return kv.Account(binary.BigEndian.Uint16(row))
}

// fence closes an id durably: the reply, like every message, waits for the
// entry.
func (m *Machine) fence(q *msg.Enquire) {
	if !m.memory.Fence(q.User, q.Id) {
		m.replyEnquire(q, &msg.EnquireReply{Exhausted: true})
		return
	}
	if !m.cfg.Mutants.Has(mutant.FencesForgotten) {
		m.write(entry.Entry{Table: entry.TableFence, Key: m.idKey(q.Id), Value: fenceRow(q.User)})
	}
	for _, rec := range m.recs.Of(q.Id) {
		if rec.State != record.Committed {
			m.abort(rec, failure(msg.ReasonFenced, kv.KindAborted, "an enquiry about the transaction closed it"))
		}
	}
	m.replyEnquire(q, &msg.EnquireReply{Fenced: true})
}

func (m *Machine) replyEnquire(q *msg.Enquire, r *msg.EnquireReply) {
	r.Id, r.Shard = q.Id, m.cfg.ID
	env := msg.ToGateway(q.Gateway)
	env.EnquireReply = r
	m.send(env)
}

// onMark: an older transaction waits for this one, which is decided here. If
// it is not decided yet, it dies.
func (m *Machine) onMark(mk *msg.Mark) {
	rec := m.recs.Get(mk.Txn)
	if rec == nil || rec.State == record.Committed {
		return
	}
	f := failure(msg.ReasonWounded, kv.KindAborted, "an older transaction, "+mk.By.String()+", needed a lock that this one held")
	f.Conflict = mk.Conflict
	m.abort(rec, f)
}
