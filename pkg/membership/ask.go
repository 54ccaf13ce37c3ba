package membership

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// Call calls the Peer service at addr without TLS. It opens a connection for one call: meetings are rare,
// and the callee may be unreachable for long.
func Call(ctx context.Context, addr string, req *peerpb.MeetRequest) (*peerpb.MeetResponse, error) {
	return ask(ctx, addr, req, insecure.NewCredentials())
}

// CallOverTLS does the same with TLS, with the configuration at the time of the call.
func CallOverTLS(config func() *tls.Config) CallFunc {
	return func(ctx context.Context, addr string, req *peerpb.MeetRequest) (*peerpb.MeetResponse, error) {
		return ask(ctx, addr, req, credentials.NewTLS(config()))
	}
}

func ask(ctx context.Context, addr string, req *peerpb.MeetRequest,
	creds credentials.TransportCredentials) (*peerpb.MeetResponse, error) {
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(creds),
		codec.DialOption(),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}))
	if err != nil {
		return nil, fmt.Errorf("membership: address %q: %w", addr, err)
	}
	defer conn.Close()
	resp, err := peerpb.NewPeerClient(conn).Meet(ctx, req)
	if err != nil {
		return nil, callError(addr, err)
	}
	return resp, nil
}

// callError is the error of a call. Its kind is Unavailable if the node at addr cannot be reached or does
// not respond.
func callError(addr string, err error) error {
	text := fmt.Sprintf("no response from %s: %s", addr, peerpb.Reason(err))
	code := status.Code(err)
	handshake := strings.Contains(err.Error(), "authentication handshake failed") // gRPC has no code for this
	if (code == codes.Unavailable || code == codes.DeadlineExceeded) && !handshake {
		return kv.Errorf(kv.KindUnavailable, "%s", text)
	}
	return errors.New(text)
}
