package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Error is how a transaction or a question failed. errors.As finds a *kv.Error
// in it as well, errors.Is compares kinds (&kv.Error{Kind: …}), and if it was
// the context that ended things, errors.Is finds the context's error too.
type Error struct {
	// Kind says what can be done about it.
	Kind kv.Kind
	// Text says what happened, without a final stop.
	Text string
	// Key is the key concerned; nil when there is none.
	Key []byte
	// Op is the number of the operation concerned, from 0; -1 for none.
	Op int
	// Hint says what to do; it may be empty.
	Hint string
	// RetryAfter is how long the server asks to wait before another try, which
	// is what the client does itself if retries are on; 0 if it does not say.
	RetryAfter time.Duration
	// Down is the node that is known to be down and has a shard that was needed; nil
	// if that is not why.
	Down *kv.Down
	// ID is that of the transaction; zero when there was none.
	ID kv.TxnID
	// Attempts is how often it was tried.
	Attempts int
	// Current is what the key holds, when a condition failed and the server
	// knew it.
	Current *Result
	// Receipt tells what the transaction waited for when it failed, or where it
	// waited longest before, and which attempts were given up; zero if none.
	Receipt Receipt
	// Cause is the error behind this one, if there is one.
	Cause error
	// serverTime is the node's clock, if it has refused the time in the id.
	serverTime int64
}

func (e *Error) Error() string {
	p := e.plain()
	if e.Current != nil {
		p.Text += "; " + e.Current.describe()
	}
	s := p.Error()
	if told := e.Receipt.String(); told != "" {
		s += ". " + told
	}
	return s
}

func (e *Error) plain() *kv.Error {
	return &kv.Error{Kind: e.Kind, Text: e.Text, Key: e.Key, Op: e.Op, Hint: e.Hint, RetryAfter: e.RetryAfter, Down: e.Down}
}

// Contended reports whether a transaction failed because others wanted its keys: it lost
// against them, they were too many, one of them left a key in a state in which it could
// not do what it should, or it still waited for one of them when its deadline passed.
func (e *Error) Contended() bool {
	switch e.Kind {
	case kv.KindAborted, kv.KindConditionFailed, kv.KindOutOfRange:
		return true
	case kv.KindResourceExhausted:
		return len(e.Key) > 0
	case kv.KindDeadlineExceeded:
		return e.Receipt.Waiting && !e.Receipt.Holder.IsZero()
	}
	return false
}

// retryable reports whether the same may succeed under another id.
func (e *Error) retryable() bool { return e.Kind.Retryable() || e.serverTime != 0 }

// Unwrap gives the error in kv's words, the cause, and the context's error for those of
// kv.KindDeadlineExceeded and kv.KindCancelled.
func (e *Error) Unwrap() []error {
	out := []error{e.plain()}
	if e.Cause != nil {
		out = append(out, e.Cause)
	}
	switch e.Kind {
	case kv.KindDeadlineExceeded:
		out = append(out, context.DeadlineExceeded)
	case kv.KindCancelled:
		out = append(out, context.Canceled)
	}
	return out
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

// ended reports whether the context, the deadline or the end of the DB ended the call:
// then the node has not confirmed what was read.
func (e *Error) ended() bool {
	return e.Kind == kv.KindDeadlineExceeded || e.Kind == kv.KindCancelled || e.Kind == kv.KindClosed
}

func errorf(k kv.Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: k, Text: fmt.Sprintf(format, args...), Op: -1, Cause: cause}
}

// asError makes an *Error of what kv's own checks return.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*kv.Error](err); ok {
		return &Error{Kind: e.Kind, Text: e.Text, Key: e.Key, Op: e.Op, Hint: e.Hint, RetryAfter: e.RetryAfter, Down: e.Down, serverTime: e.ServerTime}
	}
	return errorf(kv.KindInternal, err, "%v", err)
}

// fromDetail rebuilds the server's error.
func fromDetail(d *pb.ErrorDetail) *Error {
	e := asError(detail.Error(d))
	e.ID, e.Attempts, e.Receipt = d.TxnId, int(d.Attempts), receiptOf(d.Receipt)
	if d.Current != nil {
		e.Current = new(Result)
		e.Current.from(d.Current)
	}
	return e
}

// fromStatus makes an *Error of what a gRPC call or stream returned. When the
// status has no detail of ours it was made by gRPC itself: the connection
// broke, or the context ended.
func fromStatus(err error) *Error {
	if d := detail.From(err); d != nil {
		return fromDetail(d)
	}
	st := status.Convert(err)
	switch st.Code() {
	case codes.DeadlineExceeded:
		return errorf(kv.KindDeadlineExceeded, context.DeadlineExceeded, "the deadline passed before the answer came")
	case codes.Canceled: // not by the caller: see retrier.failure
		return errorf(kv.KindUnavailable, err, "the call was cancelled on its way: %s", st.Message())
	case codes.ResourceExhausted:
		return errorf(kv.KindInvalid, err, "the message is too large: %s", st.Message())
	case codes.Unimplemented:
		e := errorf(kv.KindInvalid, err, "the server does not know the call: %s", st.Message())
		e.Hint = "is it a linchpin node, and not older than this client?"
		return e
	case codes.Unauthenticated:
		return errorf(kv.KindUnauthenticated, err, "%s", st.Message())
	case codes.PermissionDenied:
		return errorf(kv.KindPermissionDenied, err, "%s", st.Message())
	case codes.Unavailable:
		return errorf(kv.KindUnavailable, err, "the connection to the node failed: %s", st.Message())
	}
	// io.EOF, and whatever else ends a stream.
	return errorf(kv.KindUnavailable, err, "the stream to the node ended: %v", err)
}

// failure makes an *Error of what a gRPC call that had ctx returned: if ctx has ended,
// and the node has not responded, that is why.
func failure(ctx context.Context, err error) *Error {
	settled(ctx)
	if ctx.Err() != nil && detail.From(err) == nil {
		return contextError(ctx, "before the response arrived")
	}
	return fromStatus(err)
}

// contextError says that the context ended before anything was applied, or that the DB
// was closed if that ended the context.
func contextError(ctx context.Context, when string) *Error {
	cause := context.Cause(ctx)
	switch {
	case kv.KindOf(cause) == kv.KindClosed:
		return closedError(when)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errorf(kv.KindDeadlineExceeded, cause, "the deadline passed %s", when)
	}
	return errorf(kv.KindCancelled, cause, "the call was cancelled %s", when)
}

// contextCause is why a context has ended; errors.Is finds the context's own error in it.
func contextCause(ctx context.Context) error {
	cause, err := context.Cause(ctx), ctx.Err()
	if errors.Is(cause, err) || kv.KindOf(cause) == kv.KindClosed {
		return cause
	}
	return errors.Join(err, cause)
}

// closedError says that the DB was closed before anything was applied.
func closedError(when string) *Error {
	e := errorf(kv.KindClosed, nil, "the client was closed %s", when)
	e.Hint = "open another one"
	return e
}

// unknown says that a transaction may or may not have been applied.
func unknown(id kv.TxnID, why string, cause error) *Error {
	e := errorf(kv.KindOutcomeUnknown, cause, "transaction %v may or may not have been applied: %s", id, why)
	e.ID, e.Hint = id, fmt.Sprintf("ask with: linchpin outcome %v", id)
	return e
}

// unknownFor is unknown for as long as the node is down that the enquiry fails for.
func unknownFor(id kv.TxnID, why string, cause *Error) *Error {
	e := unknown(id, why+"; "+cause.Text, cause)
	e.Down = cause.Down
	e.Hint = "when the node is back, " + e.Hint
	return e
}
