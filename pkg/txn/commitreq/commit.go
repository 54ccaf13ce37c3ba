package commitreq

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// Commit is the state of the commit of one attempt. The zero value has sent nothing.
type Commit struct {
	// last is the last agent; known is its incarnation and number of aborts as the gateway knows them.
	last  kv.ShardID
	known kv.KnownState
	user  kv.Account
	txn   kv.TxnRef
	// id is the name of the commit; fingerprint is a hash of its operations.
	id          kv.CommitID
	fingerprint uint64
	sends       []*msg.Envelope
	// single backs sends, so that a commit of one shard allocates no slice.
	single [1]*msg.Envelope
	retry  env.Retry
	// cancelling: the last agent is requested to abort it. Without is the reason, if the node of a participant
	// is down.
	cancelling  bool
	DownFailure *msg.Failure
}

// Request is the description of an attempt for Send.
type Request struct {
	Txn kv.TxnRef
	// BeginTime is the begin time of the transaction, which determines its age (kv.AgeOf).
	BeginTime int64
	User      kv.Account
	Last      kv.ShardID
	// Known is the known incarnation and abort count of the last agent.
	Known kv.KnownState
	// Fingerprint is a hash of the operations, 0 if they need not be compared with those of a repeated id.
	Fingerprint uint64
	// MaxResponse is the largest response that the client accepts, in bytes; 0 for no bound.
	MaxResponse uint32
	// Parallel: the last agent prepares before it decides, like the participants (the baseline).
	Parallel bool
	// ReadBefore: the attempt has read under locks. Snapshot: it only reads, on one shard.
	ReadBefore, Snapshot bool
	// NoWait: the transaction is wounded.
	NoWait bool
	// LastRepeat is the time of an additional retry (env.LastRepeat); at CancelAt the commit is cancelled.
	LastRepeat, CancelAt int64
}

// Send sends the pieces: a CommitRequest to the last agent and a Prepare to each participant.
func (c *Commit) Send(e *env.Env, q Request, ps piece.Pieces) {
	*c = Commit{last: q.Last, known: q.Known, user: q.User, txn: q.Txn, id: e.NextCommit(), fingerprint: q.Fingerprint}
	c.sends = c.single[:0]
	commit, p := msg.CommitRequestTo(q.Last)
	p.Txn, p.CommitID, p.User, p.Aborts, p.Fingerprint = q.Txn, c.id, q.User, q.Known.Aborts, q.Fingerprint
	p.ReadBefore, p.Snapshot, p.MaxResponseBytes, p.Begun = q.ReadBefore, q.Snapshot, q.MaxResponse, q.BeginTime
	for i := range ps {
		if ps[i].Shard == q.Last && !q.Parallel {
			p.Piece = ps[i].Piece
			continue
		}
		p.Participants = append(p.Participants, ps[i].Shard)
		c.addPrepare(&q, &ps[i])
	}
	p.Piece.Incarnation = q.Known.Incarnation
	c.sends = append(c.sends, commit)
	if q.NoWait {
		c.SetNoWait(e)
	}
	e.Send(c.sends...)
	e.StartRetry(&c.retry, q.LastRepeat)
	e.WakeAt(q.CancelAt)
}

func (c *Commit) addPrepare(q *Request, p *piece.Piece) {
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
		Begun:            q.BeginTime,
	}
	c.sends = append(c.sends, prepareEnv)
}

// Last returns the last agent.
func (c *Commit) Last() kv.ShardID { return c.last }

// Shards lists the shards of the commit.
func (c *Commit) Shards() []kv.ShardID {
	out := make([]kv.ShardID, len(c.sends))
	for i, m := range c.sends {
		out[i] = m.Shard
	}
	return out
}

// Cancel starts to request an abort from the last agent, at once.
func (c *Commit) Cancel(e *env.Env) {
	if !c.cancelling {
		c.cancelling = true
		e.RetrySoon(&c.retry)
	}
}

// Tick retries what is due: the commit until cancelAt, then the cancellation. It reports whether it has
// sent anything.
func (c *Commit) Tick(e *env.Env, lastRepeat, cancelAt int64) bool {
	if e.Now >= cancelAt {
		c.Cancel(e)
	}
	if !c.cancelling {
		e.WakeAt(cancelAt)
	}
	switch {
	case !e.IsDue(&c.retry, lastRepeat):
		return false
	case c.cancelling:
		e.SendTo(c.last).Body = &msg.CancelRequest{
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
