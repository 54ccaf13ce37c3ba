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

// grpc opens a connection by a user's certificate, or of nobody.
func (g *target) grpc(t *testing.T, d *net.Dialer, name, token string) *grpc.ClientConn {
	t.Helper()
	opts := []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(g.config(name)())), codec.DialOption(),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) })}
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

// frames is a connection over which frames of HTTP/2 are sent as nobody should.
type frames struct {
	*http2.Framer
	conn net.Conn
	head bytes.Buffer
	enc  *hpack.Encoder
	// next is the number of the next stream.
	next uint32
}

// frames opens one, as nobody.
func (g *target) frames(t *testing.T, d *net.Dialer) *frames {
	t.Helper()
	f, err := tryFrames(d, g.addr, g.config("")())
	require.NoError(t, err)
	t.Cleanup(func() { f.conn.Close() })
	require.NoError(t, f.conn.SetDeadline(time.Now().Add(proc.WaitTimeout)))
	return f
}

// tryFrames tries to open one.
func tryFrames(d *net.Dialer, addr string, config *tls.Config) (*frames, error) {
	raw, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	config.NextProtos, config.ServerName = []string{"h2"}, "127.0.0.1"
	f := &frames{conn: tls.Client(raw, config), next: 1}
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
func (f *frames) headers(method, token string, end bool, more ...string) error {
	f.head.Reset()
	fields := append([]string{":method", "POST", ":scheme", "https", ":path", method, ":authority", "x", "content-type", "application/grpc", "te", "trailers"}, more...)
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
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndHeaders: len(first) == len(block), EndStream: end}); err != nil {
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

// flood sends until the other side has had enough, or n times.
func flood(n int, send func() error) (sent int, err error) {
	for range n {
		if err := send(); err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}

// ended holds that the other side has ended a connection, on which more cannot be sent:
// it is not only that all of it took too long.
func ended(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err, "the connection is left open")
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is left open")
}

const execute = "/linchpin.v1.KV/Execute"

// floods attacks by what HTTP/2 allows, as nobody and as a user with few
// permissions.
func (g *target) floods(t *testing.T) {
	for _, who := range []struct{ name, token string }{{"nobody", ""}, {"a user", g.token}} {
		g.attack(t, "streams that are reset at once, of "+who.name, func(t *testing.T, d *net.Dialer) {
			f := g.frames(t, d)
			go io.Copy(io.Discard, f.conn)
			sent, err := flood(20_000, func() error {
				if err := f.headers(execute, who.token, false); err != nil {
					return err
				}
				return f.WriteRSTStream(f.next-2, http2.ErrCodeCancel)
			})
			if who.token == "" {
				require.Less(t, sent, 20_000)
				ended(t, err)
			}
			f.conn.Close()
		})
		g.attack(t, "pings, of "+who.name, func(t *testing.T, d *net.Dialer) {
			f := g.frames(t, d)
			if who.token != "" {
				require.NoError(t, f.headers("/linchpin.v1.KV/Pipeline", who.token, false))
			}
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				io.Copy(io.Discard, f.conn)
			}()
			_, err := flood(1_000_000, func() error { return f.WritePing(false, [8]byte{1}) })
			ended(t, err)
			<-drained
		})
		g.attack(t, "settings, of "+who.name+" who reads nothing", func(t *testing.T, d *net.Dialer) {
			f := g.frames(t, d)
			require.NoError(t, f.headers(execute, who.token, false))
			// Whether all are taken or the connection ends, is up to gRPC.
			_, _ = flood(200_000, func() error { return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 16}) })
			f.conn.Close()
		})
		g.attack(t, "headers without end, of "+who.name, func(t *testing.T, d *net.Dialer) {
			f := g.frames(t, d)
			_, _ = flood(20, func() error { return f.headers(execute, who.token, true, "x", strings.Repeat("y", 1<<20)) })
			f.conn.Close()
		})
	}
	g.attack(t, "messages of nobody's", func(t *testing.T, d *net.Dialer) {
		f := g.frames(t, d)
		go io.Copy(io.Discard, f.conn)
		require.NoError(t, f.headers(execute, "", false))
		_ = f.WriteData(1, false, []byte{0, 0x7f, 0xff, 0xff, 0xff}) // a message of 2 GiB begins
		// Flow control is not kept, for which the connection may be closed.
		_, _ = flood(1000, func() error { return f.WriteData(1, false, make([]byte, 16<<10)) })
		f.conn.Close()
	})
	g.attack(t, "a message that is too large, of a user", func(t *testing.T, d *net.Dialer) {
		conn := g.grpc(t, d, "", g.token)
		in := &pb.ExecuteRequest{Ops: []pb.Op{{Op: &pb.Op_Put{Put: &pb.PutOp{Key: b("alice/1"), Value: make([]byte, 80<<20)}}}}}
		err := conn.Invoke(soon(t), execute, in, &pb.ExecuteResponse{}, grpc.MaxCallSendMsgSize(128<<20))
		require.Equal(t, codes.InvalidArgument.String(), status.Code(err).String())
	})
}
