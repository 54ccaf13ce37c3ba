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
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestFailedHandshakesAreLimitedOnBothPorts: a peer that does not speak TLS on the gRPC or the HTTP port
// fails and is logged. After several failures gRPC rejects its address; HTTP still reports health to it. A
// connection that is closed without data is not a failure.
func TestFailedHandshakesAreLimitedOnBothPorts(t *testing.T) {
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
		requireHandshake(t, c, d, port)
		retryUntilOK(t, func() error {
			conn := dial(t, d, port)
			_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			require.NoError(t, err)
			requireClosed(t, conn)
			next := dial(t, d, node.Addr())
			defer next.Close()
			err = tls.Client(next, c.tlsWithoutCert()).HandshakeContext(proc.Context(t))
			if err == nil {
				return errors.New("a handshake still succeeds")
			}
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection stays open instead of being rejected")
			require.NotErrorIs(t, err, context.DeadlineExceeded, "the connection stays open instead of being rejected")
			return nil
		})
		latency, err := checkHealth(c.authority, d, node.HTTPAddr())
		require.NoError(t, err)
		require.Less(t, latency, newcomerBound)
		requireHandshake(t, c, &net.Dialer{}, port)
	}
	require.Contains(t, out.String(), "TLS handshake failed")
	require.Contains(t, out.String(), "does not use TLS (plain HTTP", "the first log line")
	require.Contains(t, out.String(), "connection refused: the address failed too often")
	require.Less(t, strings.Count(out.String(), "the address failed too often"), 12, "few lines for many connections")
}

// tlsWithoutCert returns the TLS configuration of a client that verifies the node and has no certificate.
func (c *cluster) tlsWithoutCert() *tls.Config {
	config := c.config("")()
	config.ServerName, config.NextProtos = "127.0.0.1", []string{"h2", "http/1.1"}
	return config
}

// requireHandshake requires that a handshake succeeds.
func requireHandshake(t *testing.T, c *cluster, d *net.Dialer, addr string) {
	t.Helper()
	conn := tls.Client(dial(t, d, addr), c.tlsWithoutCert())
	require.NoError(t, conn.HandshakeContext(proc.Context(t)))
	require.NoError(t, conn.Close())
}

// output is a log that can be read while it is written.
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
