package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
)

// recoverUnary turns a handler's panic into an Internal error.
func (s *service) recoverUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler) (resp any, err error) {
	defer s.recovered(info.FullMethod, &err)
	return next(ctx, req)
}

// recoverStream does the same for streams, and makes them readableStreams.
func (s *service) recoverStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	next grpc.StreamHandler) (err error) {
	defer s.recovered(info.FullMethod, &err)
	r, err := s.open(stream.Context(), info.IsClientStream, s.longest(serviceOf(info.FullMethod)))
	if err != nil {
		return err
	}
	defer r.close()
	return next(srv, &readableStream{ServerStream: stream, receiver: r, out: codec.Counted{Count: counter(r.account)}})
}

// serviceOf is the service of a method, of which the full name is "/service/method".
func serviceOf(method string) string {
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	return service
}

// recovered is deferred; it catches a panic, logs it and sets err.
func (s *service) recovered(where string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	s.opts.Log.Error("panic in a request handler", "method", where, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	*err = statusOf(&kv.Error{Kind: kv.KindInternal, Op: -1, Text: "the server failed while it handled the request",
		Hint: "the server's log has the stack trace; if the request was a transaction, query its outcome by its id"},
		kv.TxnID{})
}
