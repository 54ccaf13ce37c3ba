package guard

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRejectedConnectionsAreLogged: at most once a second of each cause, with how many
// were left out, and of one cause whatever there is to log of another.
func TestRejectedConnectionsAreLogged(t *testing.T) {
	at := time.Unix(1000, 0)
	var log bytes.Buffer
	g, err := New(Options{Limits: Limits{Connections: 1}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Now: func() time.Time { return at }})
	require.NoError(t, err)
	inner := &queue{accept: make(chan net.Conn, 8)}
	l := g.Listener(inner)
	call := func() net.Conn {
		here, there := net.Pipe()
		inner.accept <- there
		t.Cleanup(func() { require.NoError(t, here.Close()) })
		return here
	}
	lines := func() (n int) {
		return strings.Count(log.String(), "connection refused: the node has reached its connection limit")
	}

	call()
	first, err := l.Accept()
	require.NoError(t, err)
	refused := []net.Conn{call(), call(), call()}
	close(inner.accept)
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	for _, c := range refused {
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "it is closed")
	}
	require.Equal(t, 1, lines(), "three within a second")
	require.Contains(t, log.String(), "cause=connections open=1")
	require.NotContains(t, log.String(), "not_logged")
	g.turned(&place{from: prefix("10.0.0.1")}, tooSlow)
	require.Contains(t, log.String(), "cause=timeout", "another cause is told at once")
	require.Contains(t, log.String(), "from=10.0.0.1")

	at = at.Add(toldEvery - 1)
	g.turned(&place{from: prefix("10.0.0.1")}, tooMany)
	require.Equal(t, 1, lines())
	at = at.Add(1)
	g.turned(&place{from: prefix("10.0.0.1")}, tooMany)
	require.Equal(t, 2, lines())
	require.Contains(t, log.String(), "not_logged=3")
	at = at.Add(-time.Hour)
	g.turned(&place{from: prefix("10.0.0.1")}, tooMany)
	require.Equal(t, 3, lines(), "the time of day went back")
	require.EqualValues(t, 6, g.Stats().Refused["connections"])
	require.NoError(t, first.Close())
}

// TestEachRefusalHasItsText: no two causes share a line, or one would hide the other.
func TestEachRefusalHasItsText(t *testing.T) {
	seen := map[string]bool{}
	for r := range numRefusals {
		require.NotEmpty(t, r.text())
		require.False(t, seen[r.text()], fmt.Sprint(r))
		seen[r.text()] = true
	}
}

// queue is a listener that accepts what is put into it.
type queue struct {
	net.Listener
	accept chan net.Conn
}

func (q *queue) Accept() (net.Conn, error) {
	if c, ok := <-q.accept; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
