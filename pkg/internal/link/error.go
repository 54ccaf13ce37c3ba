package link

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// stored is the error in the words of the store, embedded by a name that leaves room for the method.
type stored = kv.Error

// Error is why a call, or an attempt of a transaction, has failed. Unless its Kind is KindOutcomeUnknown,
// nothing has been applied, and nothing will be.
type Error struct {
	stored
	// Detail is what the node has returned, nil if the error was made by the client.
	Detail *pb.ErrorDetail
	// TxnID is the transaction concerned, zero if there is none.
	TxnID kv.TxnID
	// Undoable: a rollback to a savepoint undoes what has failed; the transaction is still open.
	Undoable bool
	// Spent: another attempt needs another id. The id was aborted by a query, an attempt of it may
	// have ended well, or the node has refused its time.
	Spent bool
	// Cause is the error behind this one, nil if there is none.
	Cause error

	// uncertain: a commit was sent, and there is no response that says whether it was applied.
	uncertain bool
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Retryable reports whether the same transaction may succeed if it is run again.
func (e *Error) Retryable() bool { return e.Kind.Retryable() || e.ServerTime != 0 }

// byContext reports whether the end of a context, or of the Link, ended the call.
func (e *Error) byContext() bool {
	return e.Kind == kv.KindDeadlineExceeded || e.Kind == kv.KindCancelled || e.Kind == kv.KindClosed
}

// noResponse reports whether a call that returned err was sent, perhaps, and got no response of a node.
func noResponse(err error) bool {
	switch status.Code(err) {
	case codes.DeadlineExceeded, codes.Canceled, codes.Unavailable, codes.Unknown:
		return detail.From(err) == nil
	}
	return false
}

// withoutResponse reports whether the last attempt failed without a node's response.
func (e *Error) withoutResponse() bool {
	return e != nil && e.Detail == nil && (e.Kind == kv.KindUnavailable || e.byContext())
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

// ofReads is the error of a transaction that has not written: its outcome is certain.
func (e *Error) ofReads() *Error {
	if e.Kind == kv.KindOutcomeUnknown {
		e.Kind, e.Hint = kv.KindUnavailable, ""
	}
	e.uncertain = false
	return e
}

func errorf(k kv.Kind, cause error, format string, args ...any) *Error {
	return &Error{stored: kv.Error{Kind: k, Text: fmt.Sprintf(format, args...), Op: -1}, Cause: cause}
}

// fromDetail makes an Error of what a node has returned.
func fromDetail(d *pb.ErrorDetail) *Error {
	e := &Error{stored: *detail.Error(d), Detail: d, TxnID: d.TxnId}
	e.uncertain = e.Kind == kv.KindOutcomeUnknown || e.Kind == kv.KindInternal
	e.Spent = e.ServerTime != 0
	return e
}

// fromStatus makes an Error of what a gRPC call or stream returned. A status without a detail of
// ours was made by gRPC itself: the connection broke, or the context ended.
func fromStatus(err error) *Error {
	if d := detail.From(err); d != nil {
		return fromDetail(d)
	}
	st := status.Convert(err)
	switch st.Code() {
	case codes.DeadlineExceeded:
		return errorf(kv.KindDeadlineExceeded, context.DeadlineExceeded, "the deadline passed before the response arrived")
	case codes.Canceled: // not by the caller: see Failure
		return errorf(kv.KindUnavailable, err, "the call was cancelled on its way: %s", st.Message())
	case codes.ResourceExhausted:
		return errorf(kv.KindInvalid, err, "the message is too large: %s", st.Message())
	case codes.Unimplemented:
		e := errorf(kv.KindInvalid, err, "the node does not have the call: %s", st.Message())
		e.Hint = "connect to a linchpin node that is not older than this client"
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

// Failure makes an Error of what a gRPC call that had ctx returned: if ctx has ended, and the node
// has not responded, that is why.
func Failure(ctx context.Context, err error) *Error {
	settle(ctx)
	if ctx.Err() != nil && detail.From(err) == nil {
		return ContextError(ctx, "before the response arrived")
	}
	return fromStatus(err)
}

// closingKey finds the context that ends when the Link is closed in one that ends then, too.
type closingKey struct{}

// settle waits until a context has ended if the Link has been closed: it ends a moment later than
// that, and the connection may have been closed in between.
func settle(ctx context.Context) {
	closing, ok := ctx.Value(closingKey{}).(context.Context)
	if ok && closing.Err() != nil {
		<-ctx.Done()
	}
}

// ContextError is the error of a context that ended before anything was applied, or of a closed Link
// if that ended the context. when names the moment: "before the request was sent".
func ContextError(ctx context.Context, when string) *Error {
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

// closedError is the error of a Link that was closed before anything was applied.
func closedError(when string) *Error {
	e := errorf(kv.KindClosed, nil, "the client was closed %s", when)
	e.Hint = "open another one"
	return e
}

// ignored is the error of a step whose operations the node has not all run.
func ignored(results, operations int) *Error {
	e := errorf(kv.KindInternal, nil, "the node has returned %d results for %d operations", results, operations)
	e.Hint = "it has another version, and may have committed the transaction without some of them: " +
		"use one version for clients and nodes"
	return e
}
