package security

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// grpc opens a connection with a user's certificate, or without one if name is empty.
func (g *target) grpc(t *testing.T, d *net.Dialer, name, token string) *grpc.ClientConn {
	t.Helper()
	opts := []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(g.config(name)())), codec.DialOption(),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return d.DialContext(ctx, "tcp", addr)
		})}
	if token != "" {
		opts = append(opts, grpc.WithPerRPCCredentials(bearer(token)))
	}
	conn, err := grpc.NewClient("passthrough:///"+g.addr, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return true }

// frameConn is a connection for arbitrary HTTP/2 frames.
type frameConn struct {
	*http2.Framer
	conn net.Conn
	head bytes.Buffer
	enc  *hpack.Encoder
	// next is the id of the next stream.
	next uint32
}

// openFrames opens a frameConn without a client certificate.
func (g *target) openFrames(t *testing.T, d *net.Dialer) *frameConn {
	t.Helper()
	f, err := dialFrames(d, g.addr, g.config("")())
	require.NoError(t, err)
	t.Cleanup(func() { f.conn.Close() })
	require.NoError(t, f.conn.SetDeadline(time.Now().Add(proc.WaitTimeout)))
	return f
}

// dialFrames opens a frameConn, or returns why that failed.
func dialFrames(d *net.Dialer, addr string, config *tls.Config) (*frameConn, error) {
	raw, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	config.NextProtos, config.ServerName = []string{"h2"}, "127.0.0.1"
	f := &frameConn{conn: tls.Client(raw, config), next: 1}
	f.Framer = http2.NewFramer(f.conn, f.conn)
	f.enc = hpack.NewEncoder(&f.head)
	_, err = io.WriteString(f.conn, http2.ClientPreface)
	if err == nil {
		err = f.WriteSettings()
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	return f, nil
}

// headers begins a call.
func (f *frameConn) headers(method, token string, end bool, more ...string) error {
	f.head.Reset()
	fields := append([]string{":method", "POST", ":scheme", "https", ":path", method, ":authority", "x", "content-type",
		"application/grpc", "te", "trailers"}, more...)
	if token != "" {
		fields = append(fields, "authorization", "Bearer "+token)
	}
	for i := 0; i < len(fields); i += 2 {
		if err := f.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			return err
		}
	}
	block := f.head.Bytes()
	first := block[:min(len(block), 16<<10)]
	id := f.next
	f.next += 2
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first,
		EndHeaders: len(first) == len(block), EndStream: end}); err != nil {
		return err
	}
	for rest := block[len(first):]; len(rest) > 0; {
		part := rest[:min(len(rest), 16<<10)]
		rest = rest[len(part):]
		if err := f.WriteContinuation(id, len(rest) == 0, part); err != nil {
			return err
		}
	}
	return nil
}

// flood calls send n times, or until it fails.
func flood(n int, send func() error) (sent int, err error) {
	for range n {
		if err := send(); err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}

// requireEnded requires that the node has closed the connection: an error other than the deadline.
func requireEnded(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err, "the connection stays open")
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection stays open")
}

const executeMethod = "/linchpin.v1.KV/Execute"

// runFloods runs attacks with frames that HTTP/2 permits, without authentication and as a user with few
// permissions.
func (g *target) runFloods(t *testing.T) {
	for _, caller := range []struct{ name, token string }{{"without a user", ""}, {"as a user", g.token}} {
		g.attack(t, "streams that are reset at once, "+caller.name, func(t *testing.T, d *net.Dialer) {
			f := g.openFrames(t, d)
			go io.Copy(io.Discard, f.conn)
			sent, err := flood(20_000, func() error {
				if err := f.headers(executeMethod, caller.token, false); err != nil {
					return err
				}
				return f.WriteRSTStream(f.next-2, http2.ErrCodeCancel)
			})
			if caller.token == "" {
				require.Less(t, sent, 20_000)
				requireEnded(t, err)
			}
			f.conn.Close()
		})
		g.attack(t, "pings, "+caller.name, func(t *testing.T, d *net.Dialer) {
			f := g.openFrames(t, d)
			if caller.token != "" {
				require.NoError(t, f.headers("/linchpin.v1.KV/Pipeline", caller.token, false))
			}
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				io.Copy(io.Discard, f.conn)
			}()
			_, err := flood(1_000_000, func() error { return f.WritePing(false, [8]byte{1}) })
			requireEnded(t, err)
			<-drained
		})
		g.attack(t, "settings, not reading, "+caller.name, func(t *testing.T, d *net.Dialer) {
			f := g.openFrames(t, d)
			require.NoError(t, f.headers(executeMethod, caller.token, false))
			// Whether the connection ends depends on gRPC.
			_, _ = flood(200_000,
				func() error { return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 16}) })
			f.conn.Close()
		})
		g.attack(t, "endless headers, "+caller.name, func(t *testing.T, d *net.Dialer) {
			f := g.openFrames(t, d)
			_, _ = flood(20,
				func() error { return f.headers(executeMethod, caller.token, true, "x", strings.Repeat("y", 1<<20)) })
			f.conn.Close()
		})
	}
	g.attack(t, "messages without a user", func(t *testing.T, d *net.Dialer) {
		f := g.openFrames(t, d)
		go io.Copy(io.Discard, f.conn)
		require.NoError(t, f.headers(executeMethod, "", false))
		_ = f.WriteData(1, false, []byte{0, 0x7f, 0xff, 0xff, 0xff}) // the header of a message of 2 GiB
		// This violates flow control, so the node may close the connection.
		_, _ = flood(1000, func() error { return f.WriteData(1, false, make([]byte, 16<<10)) })
		f.conn.Close()
	})
	g.attack(t, "a too large message, as a user", func(t *testing.T, d *net.Dialer) {
		conn := g.grpc(t, d, "", g.token)
		in := &pb.ExecuteRequest{Ops: []pb.Op{{Op: &pb.Op_Put{Put: &pb.PutOp{Key: b("alice/1"),
			Value: make([]byte, 80<<20)}}}}}
		err := conn.Invoke(proc.Context(t), executeMethod, in, &pb.ExecuteResponse{}, grpc.MaxCallSendMsgSize(128<<20))
		require.Equal(t, codes.InvalidArgument.String(), status.Code(err).String())
	})
}
