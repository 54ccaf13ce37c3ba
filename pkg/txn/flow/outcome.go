package flow

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// Outcome is what has become of a flow when one of its methods returns.
type Outcome struct {
	verdict verdict
	done    Done
	failure     *msg.Failure
}

type verdict uint8

const (
	continues verdict = iota
	finished
	attemptAborted
	abortConfirmed
	waitsForSnapshot
)

// GoesOn: it waits for messages, or for the time.
var Continue = Outcome{}

// Over: it has ended for good.
func Finished(d Done) Outcome { return Outcome{verdict: finished, done: d} }

// Failed: it has ended for good with a failure.
func Failed(f *msg.Failure) Outcome { return Finished(Done{Failure: f}) }

// Aborted: the attempt, which has not asked to commit, ends; what it holds has to be released.
func Aborted(f *msg.Failure) Outcome { return Outcome{verdict: attemptAborted, failure: f} }

// Lost: the attempt is known to be aborted, and holds nothing.
func AbortConfirmed(f *msg.Failure) Outcome { return Outcome{verdict: abortConfirmed, failure: f} }

// waitsForState: it waits for a state of the whole store that is fixed from now on, whatever else
// it does; waits: it does nothing else.
var awaitsSnapshot = Outcome{verdict: waitsForSnapshot}

func (c *Call) awaitSnapshot() Outcome {
	c.Phase = AwaitingSnapshot
	return awaitsSnapshot
}

// Goes reports whether it goes on.
func (o *Outcome) Continues() bool { return o.verdict == continues }

// Handler does what an outcome asks for.
type Handler interface {
	Finish(f Flow, d Done)
	Abort(f Flow, why *msg.Failure)
	OnAborted(f Flow, why *msg.Failure)
	AwaitSnapshot(f SnapshotWaiter)
}

// Handle has a handler do what the outcome of a flow asks for.
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

// invalid makes the failure of a request that cannot be served as it is.
// TooOld is the failure of a transaction that has reached the maximum age. It says what to use instead.
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

func invalid(text string) *msg.Failure { return env.Failure(msg.ReasonRequest, kv.KindInvalid, text) }
