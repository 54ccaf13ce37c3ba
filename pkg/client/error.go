package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/internal/link"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Outcome is whether a transaction has been applied.
type Outcome int

const (
	// NotApplied: nothing has been applied, and nothing will be.
	NotApplied Outcome = iota
	// Committed: all of it has been applied.
	Committed
	// OutcomeUnknown: it may have been applied. [DB.Outcome] settles it.
	OutcomeUnknown
)

// String returns "not applied", "committed" or "unknown".
func (o Outcome) String() string {
	switch o {
	case NotApplied:
		return "not applied"
	case Committed:
		return "committed"
	}
	return "unknown"
}

// Error is the error of a call. [errors.Is] matches it with the sentinel of its kind, as
// [ErrNotFound], and with the causes; [errors.As] finds it in the chain.
type Error struct {
	// Kind is the kind, which decides how a program reacts.
	Kind Kind
	// Outcome is whether the transaction has been applied.
	Outcome Outcome
	// Message says what failed, Hint what to do; Hint may be empty.
	Message, Hint string
	// Op is the number of the operation concerned in the arguments of Execute, from 0; -1 if there
	// is none, and of all other calls.
	Op int
	// Operation is the name of the operation concerned, as "put" or "set.add", and Key its key.
	// They are empty if there is none.
	Operation, Key string
	// Current is what the key holds if a condition failed; its Type is empty if the key does not
	// exist. It is nil if that is not known.
	Current *Entry
	// TxID is the id of the transaction, zero if there was none.
	TxID TxID
	// Attempts is how often the transaction was tried, 0 if never.
	Attempts int
	// Receipt says what the transaction has waited for.
	Receipt Receipt
	// RetryAfter is how long the node asks to wait before the next attempt, 0 if it does not say.
	RetryAfter time.Duration
	// Down is the node that is known to be down and has a shard that the transaction needs; nil if
	// that is not why.
	Down *NodeDown
	// Cause is the error behind this one, nil if there is none.
	Cause error
	// Unconfirmed is the error of the function of an Update or View that failed before the node had
	// confirmed what the function has read; nil if it returned none. It may rest on reads that do not
	// hold, so errors.Is and errors.As do not find it.
	Unconfirmed error

	// from is the error of the link that this one was made of, nil if it was made here.
	from *link.Error
}

// Error implements error: the kind, the message, the operation and its key, what the key holds, the
// hint and the receipt.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Kind))
	b.WriteString(": ")
	b.WriteString(e.Message)
	if e.Key != "" {
		b.WriteString(" (")
		if e.Operation != "" {
			b.WriteString(e.Operation + " of ")
		}
		fmt.Fprintf(&b, "key %s)", quoted(e.Key))
	}
	if e.Current != nil {
		b.WriteString("; the key " + e.Current.holds())
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	if e.Unconfirmed != nil {
		fmt.Fprintf(&b, "; the function's error is not confirmed: %v", e.Unconfirmed)
	}
	if waited := e.Receipt.String(); waited != "" {
		b.WriteString(". " + waited)
	}
	return b.String()
}

// maxShown bounds a key or a value in messages, in bytes.
const maxShown = 64

func quoted(s string) string {
	if len(s) > maxShown {
		return fmt.Sprintf("%q...", s[:maxShown])
	}
	return fmt.Sprintf("%q", s)
}

// holds says what a key holds.
func (e *Entry) holds() string {
	switch e.Type {
	case "":
		return "does not exist"
	case TypeCounter:
		return fmt.Sprintf("holds the counter %d, version %v", e.Number, e.Version)
	case TypeValue:
		if len(e.Value) > maxShown {
			return fmt.Sprintf("holds %d bytes that begin with %q, version %v", len(e.Value), e.Value[:maxShown], e.Version)
		}
		return fmt.Sprintf("holds %q, version %v", e.Value, e.Version)
	}
	return fmt.Sprintf("holds a %s, version %v", e.Type, e.Version)
}

// Contended reports whether the transaction failed because others use its keys, too: it was
// aborted, a condition or a bound did not hold, too many transactions wait for a key, or the deadline
// passed while it waited for another transaction.
func (e *Error) Contended() bool {
	switch e.Kind {
	case KindAborted, KindConditionFailed, KindOutOfRange:
		return true
	case KindResourceExhausted:
		return e.Key != ""
	case KindDeadlineExceeded:
		return e.Receipt.Waiting && e.Receipt.Wait != nil && !e.Receipt.Wait.Holder.IsZero()
	}
	return false
}

// Is reports whether target is the sentinel of e's kind.
func (e *Error) Is(target error) bool {
	s, ok := target.(sentinel)
	return ok && Kind(s) == e.Kind
}

// As gives linchpin's own packages the error in the words of the store.
func (e *Error) As(target any) bool {
	to, ok := target.(**kv.Error)
	if ok {
		*to = &kv.Error{Kind: e.Kind.stored(), Text: e.Message, Key: []byte(e.Key), Op: e.Op, Hint: e.Hint,
			RetryAfter: e.RetryAfter, Down: e.Down.stored()}
	}
	return ok
}

// Unwrap returns the cause, and the error of package context that the kind stands for.
func (e *Error) Unwrap() (out []error) {
	if e.Cause != nil {
		out = append(out, e.Cause)
	}
	switch e.Kind {
	case KindDeadlineExceeded:
		out = append(out, context.DeadlineExceeded)
	case KindCancelled:
		out = append(out, context.Canceled)
	}
	return out
}

// NodeDown is a node that is known to be down: its peers have not received anything from it for 3 s. Or it names shards
// with several replicas of which most are down: no leader was known for 5 s.
type NodeDown struct {
	// Node is the node's number, 0 if shards have no leader, and Address where it was reached last; Address may be empty.
	Node    int
	Address string
	// Shards are the numbers of these shards. Hot: the last one is the hot shard.
	Shards []int
	Hot    bool
	// Keyspace is the share of the keyspace on the shards, 0 to 100 percent.
	Keyspace float64
}

// String returns the node, its shards and their share of the keyspace: "node n2 (127.0.0.1:7072) is
// down, and with it the shards s1 and s4, 40 % of the keyspace".
func (d *NodeDown) String() string { return d.stored().String() }

func (d *NodeDown) stored() *kv.Down {
	if d == nil {
		return nil
	}
	out := &kv.Down{Node: kv.NodeID(d.Node), Address: d.Address, Hot: d.Hot, Keyspace: d.Keyspace}
	for _, n := range d.Shards {
		out.Shards = append(out.Shards, kv.ShardID(n))
	}
	return out
}

func nodeDown(d *kv.Down) *NodeDown {
	if d == nil {
		return nil
	}
	out := &NodeDown{Node: int(d.Node), Address: d.Address, Hot: d.Hot, Keyspace: d.Keyspace}
	for _, s := range d.Shards {
		out.Shards = append(out.Shards, int(s))
	}
	return out
}

// retryable reports whether the same may succeed under another id.
func (e *Error) retryable() bool { return e.from != nil && e.from.Retryable() }

// spent reports whether another attempt needs another id.
func (e *Error) spent() bool { return e.from != nil && e.from.Spent }

// again reports whether to make another attempt after e, and waits until it is time for it. If there is
// no time for one, that becomes a cause.
func (e *Error) again(c *link.Call) bool {
	if e.from == nil {
		return false
	}
	again, ended := c.Again(e.from)
	e.because(ended)
	return again
}

// because adds a cause.
func (e *Error) because(cause error) {
	switch {
	case e.Cause == nil:
		e.Cause = cause
	case cause != nil:
		e.Cause = errors.Join(e.Cause, cause)
	}
}

// ended reports whether the context, the deadline or the end of the DB ended the call: then the
// node has not confirmed what was read.
func (e *Error) ended() bool {
	return e.Kind == KindDeadlineExceeded || e.Kind == KindCancelled || e.Kind == KindClosed
}

func errorf(k Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...), Op: -1, Cause: cause}
}

// asError makes an *Error of what was refused before it was sent.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	e, ok := errors.AsType[*kv.Error](err)
	if !ok {
		return errorf(KindInternal, err, "%v", err)
	}
	return &Error{Kind: kindOf(e.Kind), Message: e.Text, Key: string(e.Key), Op: e.Op, Hint: e.Hint}
}

// errorOf makes an *Error of an error of the link, nil of nil.
func errorOf(e *link.Error) *Error {
	if e == nil {
		return nil
	}
	out := &Error{Kind: kindOf(e.Kind), Message: e.Text, Key: string(e.Key), Op: e.Op, Hint: e.Hint,
		RetryAfter: e.RetryAfter, Down: nodeDown(e.Down), Cause: e.Cause, from: e}
	if !e.TxnID.IsZero() {
		out.TxID = txID(e.TxnID)
	}
	behind, ok := e.Cause.(*link.Error)
	if ok {
		out.Cause = errorOf(behind)
	}
	if d := e.Detail; d != nil {
		out.Attempts, out.Receipt = int(d.Attempts), receiptOf(d.Receipt)
		if d.Current != nil {
			current := entryOf(out.Key, d.Current)
			out.Current = &current
		}
	}
	if out.Kind == KindOutcomeUnknown {
		out.Outcome = OutcomeUnknown
	}
	if out.Down != nil && out.Kind == KindUnavailable && out.Hint == e.Down.Error().Hint {
		out.Hint = "nothing was applied; start the nodes that are down, or wait for them with " +
			"db.With(client.WaitForNodes())"
	}
	return out
}

// orNil is an error without the trap of a nil pointer in an interface.
func orNil(err *Error) error {
	if err == nil {
		return nil
	}
	return err
}
