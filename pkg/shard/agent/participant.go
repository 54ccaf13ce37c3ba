package agent

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// Participant is a shard's part in transactions that it does not decide: locks for reads of
// interactive transactions, and promises.
type Participant struct {
	Parts
	cfg   Config
	stats *Stats
	pace  *pace

	attempts attempts
	ended    outcome.Ended
	// unread are promises whose keys could not be read.
	unread []*prepared
	// applied are transactions that were applied since Applied.
	applied []kv.TxnRef
	row     entry.Outcome
	deadline
}

// New makes both roles of a shard. Recover takes what its log holds.
func New(p Parts, cfg Config) (*Participant, *LastAgent) {
	stats, times := &Stats{}, &pace{}
	part := &Participant{Parts: p, cfg: cfg, stats: stats, pace: times, attempts: newAttempts(), deadline: deadline{step.Never}}
	part.ended.Init(p.Now, cfg.Ended)
	return part, &LastAgent{Parts: p, cfg: cfg, stats: stats, pace: times, part: part, deadline: deadline{step.Never}}
}

// Receive takes a message, and reports whether it was for this role.
func (p *Participant) Receive(m *msg.Envelope) bool {
	switch b := m.Body.(type) {
	case *msg.Prepare:
		p.onPrepare(b)
	case *msg.Decision:
		p.onDecide(b)
	case *msg.Lock:
		p.onLock(b)
	case *msg.Check:
		p.onCheck(b)
	case *msg.Release:
		p.onRelease(b)
	case *msg.VoteRequest:
		p.onAskVote(b)
	case *msg.PushResponse:
		p.onPushReply(b)
	case *msg.UnsealResponse:
		p.onUnsealed(b)
	default:
		return false
	}
	return true
}

// Went acts on the step that a piece has reached.
func (p *Participant) Went(t *exec.Task, s exec.Step) {
	switch {
	case s == exec.Ready && t.Kind == exec.Prepare:
		p.prepareNow(t)
	case s == exec.Ready:
		p.replyLock(t)
	case s == exec.Refused && t.Kind == exec.Prepare:
		p.voteNo(t, t.Failure)
	case s == exec.Refused:
		p.refuseLock(t, t.Failure)
	}
}

// Applied hands out the transactions that were applied here since it was last called, whose other
// attempts are to end (LastAgent.Overtake).
func (p *Participant) Applied() []kv.TxnRef {
	out := p.applied
	p.applied = nil
	return out
}

// Tick votes again where no decision has come.
func (p *Participant) Tick() {
	if p.Now >= p.next {
		p.next = step.Never
		p.repeatVotes()
	}
}

// Clean asks for keys of promises that could not be read, and about attempts of which nothing was
// heard for long; it is for once a second.
func (p *Participant) Clean() {
	p.readAgain()
	for _, a := range p.attempts.sorted() {
		if a.prepared == nil && p.Now-a.touched > idlePush*int64(p.cfg.Liveness) {
			p.Push(a.txn, false)
		}
	}
}

// Len is how many attempts are here; Waiting reports whether Clean has anything to do.
func (p *Participant) Len() int      { return len(p.attempts.of) }
func (p *Participant) Waiting() bool { return len(p.attempts.of)+len(p.unread) > 0 }

// Promised is the last agent for which an attempt has prepared here, false if it has not.
func (p *Participant) Promised(txn kv.TxnRef) (kv.ShardID, bool) {
	a := p.attempts.of[txn]
	if a == nil || a.prepared == nil {
		return 0, false
	}
	return a.prepared.row.Last, true
}

// Known reports whether an attempt holds, waits or has prepared here.
func (p *Participant) Known(txn kv.TxnRef) bool { return p.attempts.of[txn] != nil }

// ReportWait answers a request that was repeated while its piece waits: if the transaction is given
// up before it gets any further, its client sees what it waited for. If that is a promise of this
// shard the report names the last agent that decides it.
func (p *Participant) ReportWait(t *exec.Task, r msg.Receipt) {
	r = p.OrHeld(r, t.Txn)
	if !r.Open || r.WaitedNanos == 0 {
		return
	}
	w := &msg.WaitReport{Txn: t.Txn, Shard: p.ID, Receipt: r}
	w.Last, w.Prepared = p.Promised(r.Holder)
	m := msg.ToGateway(t.Gateway)
	m.Body = w
	p.Urgent(m)
}

func (p *Participant) begin(t *exec.Task) { p.Went(t, p.Exec.Begin(t)) }

func (p *Participant) reportWait(t *exec.Task) {
	if t != nil {
		p.ReportWait(t, p.Exec.Receipt(t))
	}
}
