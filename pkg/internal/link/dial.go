package link

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// pingAfter and pingTimeout detect a node that is gone, if the client has no other address (else see
// liveness). The first is the least that gRPC allows.
const (
	pingAfter   = 10 * time.Second
	pingTimeout = 3 * time.Second
)

func dialOptions(o *Options, w *witness) []grpc.DialOption {
	creds := insecure.NewCredentials()
	if o.TLS != nil {
		w.secure = true
		creds = credentials.NewTLS(o.TLS())
	}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(handshakes{creds, w}),
		codec.DialOption(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(pb.MaxMessageBytes), grpc.MaxCallSendMsgSize(pb.MaxMessageBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
	}
	if o.Token != nil {
		opts = append(opts, grpc.WithPerRPCCredentials(bearer(o.Token)))
	}
	return append(opts, grpc.WithContextDialer(w.dialer(o.Dialer)))
}

// bearer sends a token with every call, on connections with TLS only.
type bearer func(ctx context.Context) (string, error)

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, err := b(ctx)
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, "the API token cannot be read: "+err.Error())
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (bearer) RequireTransportSecurity() bool { return true }
