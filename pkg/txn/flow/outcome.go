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
	why     *msg.Failure
}

type verdict uint8

const (
	goesOn verdict = iota
	isOver
	isAborted
	isLost
	isWaiting
)

// GoesOn: it waits for messages, or for the time.
var GoesOn = Outcome{}

// Over: it has ended for good.
func Over(d Done) Outcome { return Outcome{verdict: isOver, done: d} }

// Failed: it has ended for good with a failure.
func Failed(f *msg.Failure) Outcome { return Over(Done{Failure: f}) }

// Aborted: the attempt, which has not asked to commit, ends; what it holds has to be released.
func Aborted(f *msg.Failure) Outcome { return Outcome{verdict: isAborted, why: f} }

// Lost: the attempt is known to be aborted, and holds nothing.
func Lost(f *msg.Failure) Outcome { return Outcome{verdict: isLost, why: f} }

// waitsForState: it waits for a state of the whole store that is fixed from now on, whatever else
// it does; waits: it does nothing else.
var waitsForState = Outcome{verdict: isWaiting}

func (c *Call) waits() Outcome {
	c.Phase = Pinning
	return waitsForState
}

// Goes reports whether it goes on.
func (o *Outcome) Goes() bool { return o.verdict == goesOn }

// Handler does what an outcome asks for.
type Handler interface {
	Finish(f Flow, d Done)
	Abort(f Flow, why *msg.Failure)
	Lose(f Flow, why *msg.Failure)
	Join(f Pinner)
}

// Handle has a handler do what the outcome of a flow asks for.
func (o *Outcome) Handle(h Handler, f Flow) {
	switch o.verdict {
	case isOver:
		h.Finish(f, o.done)
	case isAborted:
		h.Abort(f, o.why)
	case isLost:
		h.Lose(f, o.why)
	case isWaiting:
		h.Join(f.(Pinner))
	}
}

// invalid makes the failure of a request that cannot be served as it is.
// TooOld is the failure of a transaction that has reached the maximum age. It says what to use instead.
func (h *Host) TooOld(c *Call) *msg.Failure {
	text := fmt.Sprintf("the transaction has reached the maximum age of %g s; nothing was applied", h.MaxAge.Seconds())
	f := env.Failure(msg.ReasonCancelled, kv.KindDeadlineExceeded, text)
	switch {
	case c.ReadOnly && c.past == nil:
		f.Hint = "read a snapshot, which never waits for an update; for long reads use Scan"
	case c.Kind == OneShotKind:
		f.Hint = "use smaller transactions; the receipt shows what this one waited for"
	default:
		f.Hint = "use smaller transactions; for long reads use a snapshot or Scan"
	}
	return f
}

func invalid(text string) *msg.Failure { return env.Failure(msg.ReasonRequest, kv.KindInvalid, text) }
