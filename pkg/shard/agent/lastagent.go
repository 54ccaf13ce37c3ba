package agent

// # What a last agent answers
//
//	message         undecided           committed               unknown
//	CommitRequest   wait report         result                  new, or looked up first
//	Vote            counted             commit, again           recorded; a repeated one is aborted
//	VoteRequest     (sent by the last agent, see prepare.go)
//	Unseal          epoch dropped       commit                  epoch dropped, recorded
//	CancelRequest   aborted             result                  aborted, remembered
//	Wound           aborted             ignored                 ignored
//	QueryTxn        aborted, fenced     result                  fenced
//
// "Unknown" is answered from memory if that is complete for the id, else from the log.

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// LastAgent is the role of a shard in transactions that it decides.
type LastAgent struct {
	replies
	cfg       Config
	stats     *Stats
	latencies *latencies
	// part is the participant of the same shard. An interactive transaction may hold read locks
	// there that it acquired before the commit.
	part *Participant

	pendingPool step.Pool[pendingCommit]
	// row is a buffer for the outcome that is being written.
	row entry.Outcome
	deadline
}

// Receive handles a message. It reports false if the message is not for this role.
func (l *LastAgent) Receive(m *msg.Envelope) bool {
	switch b := m.Body.(type) {
	case *msg.CommitRequest:
		l.onCommitRequest(b)
	case *msg.Vote:
		l.onVote(b)
	case *msg.DecisionAck:
		l.onDecisionAck(b)
	case *msg.Wound:
		l.onWound(b)
	case *msg.CancelRequest:
		l.onCancel(b)
	case *msg.QueryTxn:
		l.onQueryTxn(b)
	case *msg.Unseal:
		l.onUnseal(b)
	default:
		return false
	}
	return true
}

// OnStep continues a task of this role from the step that it has reached, until it waits or has ended.
// No function below calls OnStep again: each returns the next step.
func (l *LastAgent) OnStep(t *exec.Task, s exec.Step) {
	for s != exec.Waiting {
		switch s {
		case exec.Loaded:
			s = l.tryDecide(pendingOf(t).rec)
		case exec.Ready:
			s = l.decide(t)
		default:
			l.abort(pendingOf(t).rec, t.Failure)
			return
		}
	}
}

// OnOutcome continues the handling of a message for which the log was read.
func (l *LastAgent) OnOutcome(f *outcome.Found) bool {
	switch x := f.Waiter.(type) {
	case *msg.CommitRequest:
		l.onRequestOutcome(x, f)
	case *commitRef:
		l.onResendOutcome(x, f)
	case *msg.Vote:
		rec := l.recordAfterLookup(refOfVote(x), x, f)
		if rec != nil {
			l.countVote(rec, x)
		}
	case *msg.Unseal:
		rec := l.recordAfterLookup(refOfUnseal(x), x, f)
		if rec != nil {
			l.dropEpoch(rec, x)
		}
	case *msg.CancelRequest:
		l.onCancelOutcome(x, f)
	case *msg.QueryTxn:
		l.onQueryOutcome(x, f)
	default:
		return false
	}
	return true
}

// Tick requests missing votes, repeats unacknowledged decisions, and aborts commits of silent gateways.
func (l *LastAgent) Tick() {
	if l.Now >= l.next {
		l.next = step.Never
		l.sendRepeats()
	}
}

// EndStep frees what only the output of the step referred to.
func (l *LastAgent) EndStep() { l.pendingPool.EndStep() }

// Stats returns the counters of both roles. The caller drains the samples.
func (l *LastAgent) Stats() *Stats { return l.stats }

// receipt returns the longest wait of a piece, for locks or for readers.
func (l *LastAgent) receipt(t *exec.Task) msg.Receipt {
	r, x := l.Exec.Receipt(t), pendingOf(t)
	if x.heldReceipt != nil {
		r = msg.Worst(r, x.heldReceipt.Receipt)
	}
	return r
}
