package server

import (
	"context"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
)

// A request that does not decode is the caller's fault: it is answered Invalid,
// with a detail. gRPC by itself says Internal, and it says so while the codec
// is at work, before any interceptor could change it. So what gRPC is given to
// decode into keeps the error to itself until gRPC has returned.

// keeping decodes into another decoder and keeps what went wrong.
type keeping struct {
	into codec.Decoder
	err  error
}

// Unmarshal implements codec.Decoder.
func (k *keeping) Unmarshal(b []byte) error {
	k.err = k.into.Unmarshal(b)
	return nil
}

// receive has gRPC decode into m and tells what went wrong.
func (k *keeping) receive(m any, gRPC func(any) error) error {
	d, ok := m.(codec.Decoder)
	if !ok {
		return gRPC(m)
	}
	*k = keeping{into: d}
	if err := gRPC(k); err != nil {
		return err
	}
	if k.err != nil {
		return statusOf(invalid("the request cannot be read: "+k.err.Error(),
			"compare it with the description of the service; a txn_id has 16 bytes"), kv.TxnID{})
	}
	return nil
}

// readable gives desc with such unary methods.
func readable(desc grpc.ServiceDesc) *grpc.ServiceDesc {
	methods := make([]grpc.MethodDesc, len(desc.Methods))
	for i, m := range desc.Methods {
		handle := m.Handler
		m.Handler = func(srv any, ctx context.Context, gRPC func(any) error, next grpc.UnaryServerInterceptor) (any, error) {
			return handle(srv, ctx, func(in any) error { return new(keeping).receive(in, gRPC) }, next)
		}
		methods[i] = m
	}
	desc.Methods = methods
	return &desc
}

// readableStream is a stream that does so. One goroutine at a time receives.
type readableStream struct {
	grpc.ServerStream
	keeping keeping
}

func (s *readableStream) RecvMsg(m any) error { return s.keeping.receive(m, s.ServerStream.RecvMsg) }
