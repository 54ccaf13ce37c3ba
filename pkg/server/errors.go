package server

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// codeOf is the one table from kinds of error to gRPC codes. It follows the
// meaning that gRPC gives to its codes, so that clients which retry by code
// alone do the right thing: Unavailable and Aborted may be tried again,
// Unknown and the others may not.
var codeOf = map[kv.Kind]codes.Code{
	kv.KindOK:                codes.OK,
	kv.KindInvalid:           codes.InvalidArgument,
	kv.KindWrongType:         codes.FailedPrecondition,
	kv.KindConditionFailed:   codes.FailedPrecondition,
	kv.KindOutOfRange:        codes.OutOfRange,
	kv.KindAborted:           codes.Aborted,
	kv.KindUnavailable:       codes.Unavailable,
	kv.KindOutcomeUnknown:    codes.Unknown,
	kv.KindTooOld:            codes.NotFound,
	kv.KindResourceExhausted: codes.ResourceExhausted,
	kv.KindDeadlineExceeded:  codes.DeadlineExceeded,
	kv.KindCancelled:         codes.Canceled,
	kv.KindNotFound:          codes.NotFound,
	kv.KindInternal:          codes.Internal,
	kv.KindCorrupt:           codes.DataLoss,

	kv.KindUnauthenticated:  codes.Unauthenticated,
	kv.KindPermissionDenied: codes.PermissionDenied,

	// Kinds that only clients report.
	kv.KindResultsLost: codes.Unknown,
	kv.KindClosed:      codes.Canceled,
}

// Code gives the gRPC code of a kind.
func Code(k kv.Kind) codes.Code {
	if c, ok := codeOf[k]; ok {
		return c
	}
	return codes.Internal
}

// errorOf makes a *kv.Error of any error: those of a context get their kind,
// and what has none is Internal.
func errorOf(err error) *kv.Error {
	var e *kv.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &kv.Error{Kind: kv.KindDeadlineExceeded, Text: "the deadline passed", Op: -1}
	case errors.Is(err, context.Canceled):
		return &kv.Error{Kind: kv.KindCancelled, Text: "the call was cancelled", Op: -1}
	}
	return &kv.Error{Kind: kv.KindInternal, Text: err.Error(), Op: -1, Hint: "this is a bug in linchpin; please report it"}
}

// failure gives the detail of a transaction's failure.
func failure(e *kv.Error, id kv.TxnID, attempts int) *pb.ErrorDetail {
	d := detail.Of(e)
	d.Code, d.TxnId, d.Attempts = uint32(Code(e.Kind)), id, uint32(attempts)
	return d
}

// failedResponse gives the detail of a response that has an error: with the
// waiting there was and, when a condition failed, with what the key holds.
func failedResponse(r *gateway.Response) *pb.ErrorDetail {
	d := failure(r.Err, r.ID, r.Attempts)
	d.Receipt = receipt(&r.Contention)
	if c := r.Current; r.Err.Kind == kv.KindConditionFailed && c != nil {
		d.Current = new(pb.Result)
		found := entry.Type(c.Type) != entry.TypeDeleted
		result(d.Current, &msg.Result{Found: found, Type: c.Type, Value: c.Value, Version: c.Version})
		if !found {
			d.Current = &pb.Result{}
		}
	}
	return d
}

// failedCall gives the detail of an error, with the waiting there was if the
// error knows of it.
func failedCall(err error, id kv.TxnID, attempts int) *pb.ErrorDetail {
	d := failure(errorOf(err), id, attempts)
	if f, ok := errors.AsType[*gateway.CallError](err); ok {
		d.Receipt = worded(receipt(&f.Contention))
	}
	return d
}

// statusOf makes a gRPC error of err.
func statusOf(err error, id kv.TxnID) error {
	return detail.Status(failedCall(err, id, 0))
}

// expired returns why a call whose context has ended was not begun.
func expired(ctx context.Context) *kv.Error {
	e := errorOf(ctx.Err())
	e.Text += " before the request started"
	return e
}

// abandoned is the answer when the edge stops waiting for a transaction that
// it has submitted.
func abandoned(ctx context.Context) *kv.Error {
	return &kv.Error{Kind: kv.KindOutcomeUnknown, Op: -1, Text: "the gateway stopped waiting for the result: " +
		ctx.Err().Error(),
		Hint: "query the outcome by the transaction id"}
}
