package security

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/guard"
)

// TestHandshakesFailOnBothPorts: who does not speak TLS, on the port of gRPC or on that
// of HTTP, fails, is told of in the log, and after some failures its address is
// refused by gRPC; HTTP still reports health to it. Who only asks whether the port is open
// has not failed.
func TestHandshakesFailOnBothPorts(t *testing.T) {
	t.Parallel()
	var out output
	c := start(t, 1, func(o *embed.Options) {
		o.Log = slog.New(slog.NewTextHandler(&out, nil))
		o.Limits = guard.Limits{Failures: 5, Longest: time.Minute}
	})
	node := c.nodes[0]
	for i, ports := range [][2]string{{node.HTTPAddr(), node.Addr()}, {node.Addr(), node.HTTPAddr()}} {
		port := ports[0]
		d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 2, byte(i+1))}}
		for range 20 {
			conn := dial(t, d, port)
			require.NoError(t, conn.(*net.TCPConn).CloseWrite())
			_, err := io.Copy(io.Discard, conn)
			require.NoError(t, err)
			require.NoError(t, conn.Close())
		}
		shakes(t, c, d, port)
		eventually(t, func() error {
			conn := dial(t, d, port)
			_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			require.NoError(t, err)
			closed(t, conn)
			next := dial(t, d, node.Addr())
			defer next.Close()
			err = tls.Client(next, c.shaker()).HandshakeContext(soon(t))
			if err == nil {
				return errors.New("a handshake still works")
			}
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it is not refused, but left open")
			require.NotErrorIs(t, err, context.DeadlineExceeded, "it is not refused, but left open")
			return nil
		})
		took, err := healthy(c.authority, d, node.HTTPAddr())
		require.NoError(t, err)
		require.Less(t, took, inTime)
		shakes(t, c, &net.Dialer{}, port)
	}
	require.Contains(t, out.String(), "TLS handshake failed")
	require.Contains(t, out.String(), "does not use TLS (plain HTTP", "the first line of many")
	require.Contains(t, out.String(), "connection refused: the address failed too often")
	require.Less(t, strings.Count(out.String(), "the address failed too often"), 12, "a few lines for many connections")
}

// shaker is the TLS of somebody who checks the node's certificate and shows none.
func (c *cluster) shaker() *tls.Config {
	config := c.config("")()
	config.ServerName, config.NextProtos = "127.0.0.1", []string{"h2", "http/1.1"}
	return config
}

// shakes requires that a handshake works.
func shakes(t *testing.T, c *cluster, d *net.Dialer, addr string) {
	t.Helper()
	conn := tls.Client(dial(t, d, addr), c.shaker())
	require.NoError(t, conn.HandshakeContext(soon(t)))
	require.NoError(t, conn.Close())
}

// output is a log that is written and read at a time.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
