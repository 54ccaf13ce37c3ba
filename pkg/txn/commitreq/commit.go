package commitreq

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// Commit is what has been sent to the shards to commit one attempt. The zero value is that
// of one that has sent nothing.
type Commit struct {
	// last is the last agent, known its incarnation and how many attempts it had aborted.
	last  kv.ShardID
	known kv.Known
	user  kv.Account
	txn   kv.TxnRef
	// id names it, and fingerprint its operations.
	id          kv.CommitID
	fingerprint uint64
	sends       []*msg.Envelope
	// room is for sends, where there is only one.
	room  [1]*msg.Envelope
	retry env.Retry
	// cancelling: the last agent is asked to end it. Without is why, if it is that the node
	// of a participant is down.
	cancelling bool
	Without    *msg.Failure
}

// Request is what Send needs to know of an attempt.
type Request struct {
	Txn kv.TxnRef
	// Begun is when the transaction counts as begun (kv.AgeOf).
	Begun int64
	User  kv.Account
	Last  kv.ShardID
	// Known is what is known of the last agent.
	Known kv.Known
	// Fingerprint is that of the operations, 0 if they are not to be compared.
	Fingerprint uint64
	// MaxResponse is the largest response that the client receives, 0 for no bound.
	MaxResponse uint32
	// Parallel has the last agent prepare before it decides, like the others.
	Parallel bool
	// ReadBefore: locks have been taken before. Snapshot: it is a read of one shard.
	ReadBefore, Snapshot bool
	// NoWait: it has been wounded.
	NoWait bool
	// LastRepeat is when everything is sent once more in any case, CancelAt when it is
	// cancelled.
	LastRepeat, CancelAt int64
}

// Send sends the pieces: a CommitRequest to the last agent, a Prepare to each other shard.
func (c *Commit) Send(e *env.Env, q Request, ps piece.Pieces) {
	*c = Commit{last: q.Last, known: q.Known, user: q.User, txn: q.Txn, id: e.NextCommit(), fingerprint: q.Fingerprint}
	c.sends = c.room[:0]
	park, p := msg.ParkTo(q.Last)
	p.Txn, p.CommitID, p.User, p.Aborts, p.Fingerprint = q.Txn, c.id, q.User, q.Known.Aborts, q.Fingerprint
	p.ReadBefore, p.Snapshot, p.MaxResponseBytes, p.Begun = q.ReadBefore, q.Snapshot, q.MaxResponse, q.Begun
	for i := range ps {
		if ps[i].Shard == q.Last && !q.Parallel {
			p.Piece = ps[i].Piece
			continue
		}
		p.Participants = append(p.Participants, ps[i].Shard)
		c.prepare(&q, &ps[i])
	}
	p.Piece.Incarnation = q.Known.Incarnation
	c.sends = append(c.sends, park)
	if q.NoWait {
		c.NoWait(e.Mutants)
	}
	e.Send(c.sends...)
	e.Start(&c.retry, q.LastRepeat)
	e.Timed(q.CancelAt)
}

func (c *Commit) prepare(q *Request, p *piece.Piece) {
	prepareEnv, prepare := msg.PrepareTo(p.Shard)
	*prepare = msg.Prepare{
		Txn:              c.txn,
		CommitID:         c.id,
		Fingerprint:      c.fingerprint,
		User:             c.user,
		Last:             c.last,
		LastIncarnation:  c.known.Incarnation,
		LastAborts:       c.known.Aborts,
		Piece:            p.Piece,
		MaxResponseBytes: q.MaxResponse,
		Begun:            q.Begun,
	}
	c.sends = append(c.sends, prepareEnv)
}

// Last is the last agent.
func (c *Commit) Last() kv.ShardID { return c.last }

// Shards are those that the commit was sent to.
func (c *Commit) Shards() []kv.ShardID {
	out := make([]kv.ShardID, len(c.sends))
	for i, m := range c.sends {
		out[i] = m.Shard
	}
	return out
}

// NoWait has the messages say from now on that the transaction has been wounded. They are
// copied, since earlier ones may still be on their way.
func (c *Commit) NoWait(m mutant.Set) {
	for i, sent := range c.sends {
		again := *sent
		switch b := sent.Body.(type) {
		case *msg.CommitRequest:
			q := *b
			q.NoWait = q.NoWait || !m.Has(mutant.ParkWithoutMark)
			again.Body = &q
		case *msg.Prepare:
			q := *b
			q.NoWait = q.NoWait || !m.Has(mutant.PrepareWithoutMark)
			again.Body = &q
		}
		c.sends[i] = &again
	}
}

// Answers reports whether an answer is to this commit.
func (c *Commit) Answers(a *msg.CommitResponse, m mutant.Set) bool {
	return a.CommitID == c.id || m.Has(mutant.AnswerOfAnyCommit)
}

// Cancel has the last agent asked for an end from now on.
func (c *Commit) Cancel(e *env.Env) {
	if !c.cancelling {
		c.cancelling = true
		e.Hurry(&c.retry)
	}
}

// Tick sends again what has no answer: the commit, until cancelAt, and then the request to
// end it. It reports whether it has.
func (c *Commit) Tick(e *env.Env, lastRepeat, cancelAt int64) bool {
	if e.Now >= cancelAt {
		c.Cancel(e)
	}
	if !c.cancelling {
		e.Timed(cancelAt)
	}
	switch {
	case !e.Due(&c.retry, lastRepeat):
		return false
	case c.cancelling:
		e.To(c.last).Body = &msg.CancelRequest{
			Txn:         c.txn,
			CommitID:    c.id,
			Fingerprint: c.fingerprint,
			User:        c.user,
			Incarnation: c.known.Incarnation,
			Aborts:      c.known.Aborts,
		}
	default:
		e.Send(c.sends...)
	}
	return true
}
