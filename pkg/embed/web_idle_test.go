package embed

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/guard"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// pipes is a listener in this process, whose connections go by a test's time.
type pipes struct {
	calls chan net.Conn
	ended chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error { close(p.ended); return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// call opens a connection.
func (p pipes) call(t *testing.T) net.Conn {
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close() })
	p.calls <- there
	return here
}

// webOf serves a page of any size until the test ends.
func webOf(t *testing.T, page string) (pipes, *guard.Gate) {
	return webWith(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, page) }))
}

func webWith(t *testing.T, h http.Handler) (pipes, *guard.Gate) {
	gate, err := guard.New(guard.Options{})
	require.NoError(t, err)
	lis := pipes{calls: make(chan net.Conn), ended: make(chan struct{})}
	w := webOn(lis, slog.New(slog.DiscardHandler), gate)
	w.serve(h)
	t.Cleanup(func() { require.NoError(t, w.close()) })
	return lis, gate
}

func open(gate *guard.Gate) int {
	synctest.Wait()
	return gate.Stats().Open
}

// TestIdleConnectionsEnd: they take the room of others. Who comes at each minute, or two,
// keeps the one it has.
func TestIdleConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lis, gate := webOf(t, "ok")
		c := lis.call(t)
		answers := bufio.NewReader(c)
		for _, pause := range []time.Duration{0, 15 * time.Second, time.Minute, 2 * time.Minute} {
			time.Sleep(pause)
			_, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: n\r\n\r\n")
			require.NoError(t, err)
			r, err := http.ReadResponse(answers, nil)
			require.NoError(t, err)
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			require.Equal(t, "ok", string(body))
		}
		require.Equal(t, 1, open(gate))
		time.Sleep(time.Hour)
		require.Zero(t, open(gate))
	})
}

// TestConnectionsDoNotWaitForRequestsToEnd, nor for answers to be read: neither is idle
// for the library.
func TestConnectionsDoNotWaitForRequestsToEnd(t *testing.T) {
	for name, request := range map[string]string{
		"the header is not ended":         "GET /metrics HTTP/1.1\r\n",
		"the body is not sent":            "GET /metrics HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\n\r\n",
		"nobody knows how long a body is": "GET /metrics HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n",
		"the answer is not read":          "GET /metrics HTTP/1.1\r\nHost: n\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lis, gate := webOf(t, strings.Repeat("x", 1<<20))
				_, err := io.WriteString(lis.call(t), request)
				require.NoError(t, err)
				require.Equal(t, 1, open(gate))
				time.Sleep(time.Hour)
				require.Zero(t, open(gate))
			})
		})
	}
}

// nothing is what a console shows of an empty cluster.
type nothing struct {
	pb.UnimplementedKVServer
	pb.UnimplementedAdminServer
}

func (nothing) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return new(pb.StatusResponse), nil
}

// TestTheConsoleIsNotIdle: its page says nothing after its request, and its stream has
// no end.
func TestTheConsoleIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lis, gate := webWith(t, pages(http.NotFoundHandler(), nothing{}))
		c := lis.call(t)
		_, err := io.WriteString(c, "GET /console/api/v1/events HTTP/1.1\r\nHost: n\r\n\r\n")
		require.NoError(t, err)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		begun := time.Now()
		for lines := bufio.NewReader(r.Body); time.Since(begun) < time.Hour; {
			_, err := lines.ReadString('\n')
			require.NoError(t, err, "after %v", time.Since(begun))
		}
		require.Equal(t, 1, open(gate))
	})
}
