package agent

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/attempt"
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

	// readFailed are prepared attempts whose keys or pages could not be read. They are read again
	// once a second.
	readFailed []*attempt.Prepared
	// applied are the transactions that were applied since TakeApplied.
	applied []kv.TxnRef
	// row is a buffer for the outcome that is being written.
	row entry.Outcome
	deadline
}

// New returns both roles of a shard. Recover then restores what the log contains.
func New(p Parts, cfg Config) (*Participant, *LastAgent) {
	stats, times := &Stats{}, &latencies{}
	part := &Participant{Parts: p, cfg: cfg, stats: stats, latencies: times, deadline: deadline{step.Never}}
	return part, &LastAgent{replies: replies{p}, cfg: cfg, stats: stats, latencies: times, part: part,
		deadline: deadline{step.Never}}
}

// Receive handles a message. It reports false if the message is not for this role.
func (p *Participant) Receive(m *msg.Envelope) bool {
	switch b := m.Body.(type) {
	case *msg.Prepare:
		p.onPrepare(b)
	case *msg.Decision:
		p.onDecision(b)
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

// OnStep continues a prepare request from the step that it has reached, until it waits or has ended.
func (p *Participant) OnStep(t *exec.Task, s exec.Step) {
	for s == exec.Ready {
		s = p.executePrepare(t)
	}
	if s == exec.Refused {
		p.rejectPrepareTask(t, t.Failure)
	}
}

// OnOutcome continues a prepare request or a decision for which the log was read. It reports false if
// the message is not for this role.
func (p *Participant) OnOutcome(f *outcome.Found) bool {
	switch x := f.Waiter.(type) {
	case *msg.Prepare:
		p.onPrepareOutcome(x, f)
	case *msg.Decision:
		p.acknowledge(x, f)
	default:
		return false
	}
	return true
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
	for _, a := range p.Attempts.Sorted() {
		if a.Prepared == nil && p.Now-a.LastContact > idlePushAfter*int64(p.cfg.Liveness) {
			p.SendPush(a.Txn, false)
		}
	}
}

// NeedsHousekeeping reports whether Housekeep has anything to do.
func (p *Participant) NeedsHousekeeping() bool { return p.Attempts.Len()+len(p.readFailed) > 0 }
