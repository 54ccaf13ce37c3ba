package flow

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// Outcome is the state of a flow after an event.
type Outcome struct {
	verdict verdict
	done    Done
	failure *msg.Failure
}

// verdict is the kind of an outcome.
type verdict uint8

const (
	continues verdict = iota
	finished
	attemptAborted
	abortConfirmed
	waitsForSnapshot
)

// Continue: the flow waits for messages, or for the time.
var Continue = Outcome{}

// Finished: the call has ended for good.
func Finished(d Done) Outcome { return Outcome{verdict: finished, done: d} }

// Failed: the call has ended for good with a failure.
func Failed(f *msg.Failure) Outcome { return Finished(Done{Failure: f}) }

// Aborted: the attempt ends before it has sent a commit. Its locks and registrations must be
// released.
func Aborted(f *msg.Failure) Outcome { return Outcome{verdict: attemptAborted, failure: f} }

// AbortConfirmed: the last agent has aborted the attempt, which holds nothing any more.
func AbortConfirmed(f *msg.Failure) Outcome { return Outcome{verdict: abortConfirmed, failure: f} }

// awaitsSnapshot: the flow waits for a snapshot that is fixed from now on. The phase does not
// change: an idle view stays idle.
var awaitsSnapshot = Outcome{verdict: waitsForSnapshot}

// awaitSnapshot waits for a snapshot and for nothing else.
func (c *Call) awaitSnapshot() Outcome {
	c.Phase = AwaitingSnapshot
	return awaitsSnapshot
}

// Continues reports whether the flow continues.
func (o *Outcome) Continues() bool { return o.verdict == continues }

// Handler executes outcomes.
type Handler interface {
	Finish(f Flow, d Done)
	Abort(f Flow, why *msg.Failure)
	OnAborted(f Flow, why *msg.Failure)
	AwaitSnapshot(f SnapshotWaiter)
}

// Handle calls the method of h for the outcome of a flow.
//
// HAZARD: it may end other flows, or start them. A flow returns its outcome instead of ending itself, so that nothing
// of it is on the stack when that happens.
func (o *Outcome) Handle(h Handler, f Flow) {
	switch o.verdict {
	case finished:
		h.Finish(f, o.done)
	case attemptAborted:
		h.Abort(f, o.failure)
	case abortConfirmed:
		h.OnAborted(f, o.failure)
	case waitsForSnapshot:
		h.AwaitSnapshot(f.(SnapshotWaiter))
	}
}

// MaxAgeFailure is the failure of a transaction that has reached the maximum age. Its hint names
// the alternative.
func (gw *Gateway) MaxAgeFailure(c *Call) *msg.Failure {
	text := fmt.Sprintf("the transaction has reached the maximum age of %g s; nothing was applied", gw.MaxAge.Seconds())
	f := env.Failure(msg.ReasonCancelled, kv.KindDeadlineExceeded, text)
	switch {
	case c.ReadOnly && c.snapshot == nil:
		f.Hint = "read a snapshot, which never waits for an update; for long reads use Scan"
	case c.Kind == OneShotKind:
		f.Hint = "use smaller transactions; the receipt shows what this one waited for"
	default:
		f.Hint = "use smaller transactions; for long reads use a snapshot or Scan"
	}
	return f
}

// invalid is the failure of a request that is malformed, or not permitted in this transaction.
func invalid(text string) *msg.Failure { return env.Failure(msg.ReasonRequest, kv.KindInvalid, text) }
