package agent

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// Participant is the role of a shard in transactions that another shard decides: it grants locks to
// interactive transactions, prepares, votes and applies decisions.
type Participant struct {
	Parts
	cfg       Config
	stats     *Stats
	latencies *latencies

	// attempts are those with locks, waiting tasks or a prepared row here; ended remembers the ones
	// that ended without a record.
	attempts attempts
	ended    outcome.Ended
	// readFailed are prepared attempts whose keys or pages could not be read. They are read again
	// once a second.
	readFailed []*prepared
	// applied are the transactions that were applied since TakeApplied.
	applied []kv.TxnRef
	// row is a buffer for the outcome that is being written.
	row entry.Outcome
	deadline
}

// New returns both roles of a shard. Recover then restores what the log contains.
func New(p Parts, cfg Config) (*Participant, *LastAgent) {
	stats, times := &Stats{}, &latencies{}
	part := &Participant{Parts: p, cfg: cfg, stats: stats, latencies: times,
		attempts: newAttempts(), deadline: deadline{step.Never}}
	part.ended.Init(p.Now, cfg.Ended)
	return part, &LastAgent{replies: replies{p}, cfg: cfg, stats: stats, latencies: times, part: part, deadline: deadline{step.Never}}
}

// Receive handles a message. It reports false if the message is not for this role.
func (p *Participant) Receive(m *msg.Envelope) bool {
	switch b := m.Body.(type) {
	case *msg.Prepare:
		p.onPrepare(b)
	case *msg.Decision:
		p.onDecision(b)
	case *msg.Lock:
		p.onLock(b)
	case *msg.Check:
		p.onCheck(b)
	case *msg.Release:
		p.onRelease(b)
	case *msg.VoteRequest:
		p.onVoteRequest(b)
	case *msg.PushResponse:
		p.onPushResponse(b)
	case *msg.UnsealResponse:
		p.onUnsealResponse(b)
	default:
		return false
	}
	return true
}

// OnStep continues a task of this role from the step that it has reached, until it waits or has ended.
func (p *Participant) OnStep(t *exec.Task, s exec.Step) {
	for s != exec.Waiting {
		s = p.advance(t, s)
	}
}

// advance handles one step of a task and returns the next one: Waiting if the task waits or has ended.
func (p *Participant) advance(t *exec.Task, s exec.Step) exec.Step {
	switch {
	case s == exec.Ready && t.Kind == exec.Prepare:
		return p.executePrepare(t)
	case s == exec.Ready:
		return p.executeLock(t)
	case t.Kind == exec.Prepare:
		p.rejectPrepareTask(t, t.Failure)
	default:
		p.rejectLock(t, t.Failure)
	}
	return exec.Waiting
}

// OnOutcome continues a prepare request for which the log was read. It reports false if the message is
// not for this role.
func (p *Participant) OnOutcome(f *outcome.Found) bool {
	q, ok := f.Waiter.(*msg.Prepare)
	if ok {
		p.onPrepareOutcome(q, f)
	}
	return ok
}

// TakeApplied returns the transactions that were applied since the last call. The caller aborts
// their other attempts ([LastAgent.AbortSuperseded]).
func (p *Participant) TakeApplied() []kv.TxnRef {
	out := p.applied
	p.applied = nil
	return out
}

// Tick repeats the votes that have had no decision.
func (p *Participant) Tick() {
	if p.Now >= p.next {
		p.next = step.Never
		p.repeatVotes()
	}
}

// Housekeep runs once a second. It retries failed reads of prepared keys, and pushes the gateways of
// attempts from which no message has arrived for a long time: such an attempt may be an orphan
// without a waiter that would have caused the push.
func (p *Participant) Housekeep() {
	p.retryReads()
	for _, a := range p.attempts.sorted() {
		if a.prepared == nil && p.Now-a.lastContact > idlePushAfter*int64(p.cfg.Liveness) {
			p.SendPush(a.txn, false)
		}
	}
}

// Len returns the number of attempts.
func (p *Participant) Len() int { return len(p.attempts.byRef) }

// NeedsHousekeeping reports whether Housekeep has anything to do.
func (p *Participant) NeedsHousekeeping() bool { return len(p.attempts.byRef)+len(p.readFailed) > 0 }

// PreparedFor returns the last agent for which an attempt is prepared here, false if it is not
// prepared.
func (p *Participant) PreparedFor(txn kv.TxnRef) (kv.ShardID, bool) {
	a := p.attempts.byRef[txn]
	if a == nil || a.prepared == nil {
		return 0, false
	}
	return a.prepared.row.Last, true
}

// HasAttempt reports whether an attempt holds locks, waits or is prepared here.
func (p *Participant) HasAttempt(txn kv.TxnRef) bool { return p.attempts.byRef[txn] != nil }

// ReportWait answers the retry of a request whose task waits. If the transaction fails before the
// wait ends, its client can report what it waited for. If the blocking transaction is prepared here,
// the report names the last agent that decides it, because the gateway ends the wait early if the
// node of that shard is down.
func (p *Participant) ReportWait(t *exec.Task, r msg.Receipt) {
	r = p.worstReceipt(r, t.Txn)
	if !r.Open || r.WaitedNanos == 0 {
		return
	}
	w := &msg.WaitReport{Txn: t.Txn, Shard: p.ID, Receipt: r}
	w.Last, w.Prepared = p.PreparedFor(r.Holder)
	m := msg.ToGateway(t.Gateway)
	m.Body = w
	p.Urgent(m)
}

func (p *Participant) reportWait(t *exec.Task) {
	if t != nil {
		p.ReportWait(t, p.Exec.Receipt(t))
	}
}
