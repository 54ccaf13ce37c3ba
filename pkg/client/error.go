package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
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

	// serverTime is the node's clock if it has refused the time in the id.
	serverTime int64
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

// NodeDown is a node that is known to be down: its peers have not received anything from it for 3 s.
type NodeDown struct {
	// Node is the node's number, and Address where it was reached last; Address may be empty.
	Node    int
	Address string
	// Shards are the numbers of the shards on it. Hot: the last one is the hot shard.
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
func (e *Error) retryable() bool { return e.Kind.Retryable() || e.serverTime != 0 }

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

// about names the operation that an error is about.
func (e *Error) about(o *operation) {
	e.Operation = o.name()
	if e.Key == "" {
		e.Key = o.Key()
	}
}

func errorf(k Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...), Op: -1, Cause: cause}
}

// asError makes an *Error of any error.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	e, ok := errors.AsType[*kv.Error](err)
	if !ok {
		return errorf(KindInternal, err, "%v", err)
	}
	out := &Error{Kind: kindOf(e.Kind), Message: e.Text, Key: string(e.Key), Op: e.Op, Hint: e.Hint, RetryAfter: e.RetryAfter,
		Down: nodeDown(e.Down), serverTime: e.ServerTime}
	if out.Kind == KindOutcomeUnknown {
		out.Outcome = OutcomeUnknown
	}
	if out.Down != nil && out.Kind == KindUnavailable {
		out.Hint = "nothing was applied; start the node, or wait for it with db.With(client.WaitForNodes())"
	}
	return out
}

// fromDetail makes an *Error of what a node has returned.
func fromDetail(d *pb.ErrorDetail) *Error {
	e := asError(detail.Error(d))
	e.TxID, e.Attempts, e.Receipt = txID(d.TxnId), int(d.Attempts), receiptOf(d.Receipt)
	if d.Current != nil {
		current := entryOf(e.Key, d.Current)
		e.Current = &current
	}
	return e
}

// fromStatus makes an *Error of what a gRPC call or stream returned. A status without a detail of
// ours was made by gRPC itself: the connection broke, or the context ended.
func fromStatus(err error) *Error {
	if d := detail.From(err); d != nil {
		return fromDetail(d)
	}
	st := status.Convert(err)
	switch st.Code() {
	case codes.DeadlineExceeded:
		return errorf(KindDeadlineExceeded, context.DeadlineExceeded, "the deadline passed before the response arrived")
	case codes.Canceled: // not by the caller: see failure
		return errorf(KindUnavailable, err, "the call was cancelled on its way: %s", st.Message())
	case codes.ResourceExhausted:
		return errorf(KindInvalid, err, "the message is too large: %s", st.Message())
	case codes.Unimplemented:
		e := errorf(KindInvalid, err, "the node does not have the call: %s", st.Message())
		e.Hint = "connect to a linchpin node that is not older than this client"
		return e
	case codes.Unauthenticated:
		return errorf(KindUnauthenticated, err, "%s", st.Message())
	case codes.PermissionDenied:
		return errorf(KindPermissionDenied, err, "%s", st.Message())
	case codes.Unavailable:
		return errorf(KindUnavailable, err, "the connection to the node failed: %s", st.Message())
	}
	// io.EOF, and whatever else ends a stream.
	return errorf(KindUnavailable, err, "the stream to the node ended: %v", err)
}

// failure makes an *Error of what a gRPC call that had ctx returned: if ctx has ended, and the node
// has not responded, that is why.
func failure(ctx context.Context, err error) *Error {
	settled(ctx)
	if ctx.Err() != nil && detail.From(err) == nil {
		return contextError(ctx, "before the response arrived")
	}
	return fromStatus(err)
}

// contextError is the error of a context that ended before anything was applied, or that of a closed
// DB if that ended the context.
func contextError(ctx context.Context, when string) *Error {
	cause := context.Cause(ctx)
	switch {
	case KindOf(cause) == KindClosed:
		return closedError(when)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errorf(KindDeadlineExceeded, cause, "the deadline passed %s", when)
	}
	return errorf(KindCancelled, cause, "the call was cancelled %s", when)
}

// contextCause is why a context has ended; errors.Is finds the context's own error in it.
func contextCause(ctx context.Context) error {
	cause, err := context.Cause(ctx), ctx.Err()
	if errors.Is(cause, err) || KindOf(cause) == KindClosed {
		return cause
	}
	return errors.Join(err, cause)
}

// closedError is the error of a DB that was closed before anything was applied.
func closedError(when string) *Error {
	e := errorf(KindClosed, nil, "the client was closed %s", when)
	e.Hint = "open another one"
	return e
}

// unknown is the error of a transaction that may have been applied.
func unknown(id kv.TxnID, why string, cause error) *Error {
	e := errorf(KindOutcomeUnknown, cause, "transaction %v may have been applied: %s", id, why)
	e.TxID, e.Outcome = txID(id), OutcomeUnknown
	e.Hint = fmt.Sprintf("within ten minutes DB.Outcome settles it, or \"linchpin outcome %v\"", id)
	return e
}

// unknownFor is unknown for as long as the deciding node is down.
func unknownFor(id kv.TxnID, why string, cause *Error) *Error {
	e := unknown(id, why+"; "+cause.Message, cause)
	e.Down = cause.Down
	e.Hint = "when the node is back, " + e.Hint
	return e
}
