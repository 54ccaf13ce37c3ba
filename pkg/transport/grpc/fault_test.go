package grpc_test

import (
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/transport/grpc"
	suite "github.com/linchpindb/linchpin/pkg/transport/transporttest"
)

// hole is a proxy that can become silent: connections stay open, but nothing is forwarded.
type hole struct {
	l  net.Listener
	to string
	wg sync.WaitGroup

	mu     sync.Mutex
	conns  []net.Conn
	silent bool
}

func newHole(t testing.TB, to string) *hole {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h := &hole{l: l, to: to}
	h.wg.Go(h.accept)
	t.Cleanup(func() {
		l.Close()
		h.mu.Lock()
		for _, c := range h.conns {
			c.Close()
		}
		h.mu.Unlock()
		h.wg.Wait()
	})
	return h
}

func (h *hole) accept() {
	for {
		a, err := h.l.Accept()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", h.to)
		if err != nil {
			a.Close()
			continue
		}
		h.mu.Lock()
		h.conns = append(h.conns, a, b)
		h.mu.Unlock()
		h.wg.Go(func() { h.pass(a, b) })
		h.wg.Go(func() { h.pass(b, a) })
	}
}

// pass copies until an end closes. Connections that have been silent stay silent.
func (h *hole) pass(from, to net.Conn) {
	buf := make([]byte, 32<<10)
	swallow := false
	for {
		n, err := from.Read(buf)
		h.mu.Lock()
		swallow = swallow || h.silent
		h.mu.Unlock()
		if err != nil && !swallow {
			to.Close()
		}
		if err != nil {
			return
		}
		if !swallow {
			to.Write(buf[:n])
		}
	}
}

func (h *hole) setSilent(s bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.silent = s
}

// logged collects a log.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestSilentConnectionIsReplaced(t *testing.T) {
	var log logged
	o := grpc.Options{StallAfter: 2 * suite.UpWindow, Log: slog.New(slog.NewTextHandler(&log, nil))}
	n := newNet(t, o)
	in := new(suite.Inbox)
	b := n.Start(t, 2, in.Handle)
	// After the cleanup of the hole: a server waits for connections that have not sent a byte yet.
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	h := newHole(t, n.addrs[2])
	n.addrs[2] = h.l.Addr().String()
	a := n.Start(t, 1, func([]*msg.Envelope) {}).(*node)
	defer a.Close()
	require.Eventually(t, func() bool { return a.Up(2) }, 10*time.Second, time.Millisecond)

	h.setSilent(true)
	require.Eventually(t, func() bool { return !a.Up(2) }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "the peer does not respond") },
		10*time.Second, time.Millisecond)
	h.setSilent(false)
	require.Eventually(t, func() bool {
		a.Send(2, []*msg.Envelope{suite.Release(1)})
		return in.Len() > 0
	}, 10*time.Second, 10*time.Millisecond, "over a new connection")
}

// A restarted node calls the others when it has met its cluster. They call it back at once, without the
// rest of their backoff.
func TestCallingPeerIsCalledWithoutPause(t *testing.T) {
	n := newNet(t, grpc.Options{})
	n.opts.RetryMin, n.opts.RetryMax = time.Hour, time.Hour
	b := n.serve(t, 2, func([]*msg.Envelope) {})
	defer b.Close()
	a := n.Start(t, 1, func([]*msg.Envelope) {}).(*node)
	defer a.Close()
	require.Eventually(t, func() bool { return a.Stats()[0].LastError != "" }, 10*time.Second, time.Millisecond,
		"rejected")
	require.NoError(t, b.Transport.Start(grpc.Identity{Cluster: cluster, Node: 2}, n.addrs))
	require.Eventually(t, func() bool { return a.Stats()[0].Up }, 10*time.Second, time.Millisecond)
}

func TestConnectionFollowsAddressOfPeer(t *testing.T) {
	n := newNet(t, grpc.Options{})
	first, firstReplicas := new(suite.Inbox), new(suite.ReplicaInbox)
	b := n.StartReplicas(t, 2, first.Handle, firstReplicas)
	a := n.Start(t, 1, func([]*msg.Envelope) {}).(*node)
	defer a.Close()
	a.Send(2, []*msg.Envelope{suite.Release(1)})
	first.Await(t, 1)
	a.SendReplica(2, []consensus.Message{suite.Append(1, 0)})
	firstReplicas.Await(t, 1)
	require.NoError(t, b.Close())

	n.addrs[2] = "127.0.0.1:0"
	l, err := net.Listen("tcp", n.addrs[2])
	require.NoError(t, err)
	n.held[2], n.addrs[2] = l, l.Addr().String()
	second, secondReplicas := new(suite.Inbox), new(suite.ReplicaInbox)
	b = n.StartReplicas(t, 2, second.Handle, secondReplicas)
	defer b.Close()
	a.SetPeer(2, n.addrs[2])
	a.Send(2, []*msg.Envelope{suite.Release(2)})
	second.Await(t, 1)
	a.SendReplica(2, []consensus.Message{suite.Append(2, 0)})
	secondReplicas.Await(t, 1)
	st := a.Stats()[0]
	require.Equal(t, n.addrs[2], st.Address)
	require.EqualValues(t, 2, st.Connects)
	require.EqualValues(t, 2, st.Replicas.Connects)
}

func TestRejectionsAndFailuresAreLoggedOnce(t *testing.T) {
	var log logged
	n := newNet(t, grpc.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	b := n.serve(t, 2, func([]*msg.Envelope) {})
	require.NoError(t, b.Transport.Start(grpc.Identity{Cluster: "decaf", Node: 2}, nil))
	defer b.Close()
	n.held[3].Close()
	a := n.Start(t, 1, func([]*msg.Envelope) {}).(*node)
	defer a.Close()
	require.Eventually(t, func() bool {
		return strings.Contains(log.String(), "peer rejects this node") && strings.Contains(log.String(),
			"connection refused")
	}, 10*time.Second, time.Millisecond)
	last := func() string { return a.Stats()[0].LastError }
	require.Contains(t, last(), "node n1 belongs to cluster c0ffee, and this node n2 to cluster decaf")
	require.Eventually(t, func() bool { return a.Stats()[1].LastError != "" }, 10*time.Second, time.Millisecond)
	require.False(t, a.Up(2))
	require.NoError(t, a.Close())
	require.Equal(t, 1, strings.Count(log.String(), "rejects"), log.String())
}

func TestOversizedMessageDoesNotBlockOthers(t *testing.T) {
	n := newNet(t, grpc.Options{})
	in := new(suite.Inbox)
	b := n.Start(t, 2, in.Handle)
	defer b.Close()
	a := n.Start(t, 1, func([]*msg.Envelope) {}).(*node)
	defer a.Close()
	big := msg.ToShard(1)
	big.Body = &msg.Vote{Results: []msg.Result{{Value: make([]byte, grpc.MaxMessageBytes)}}}
	a.Send(2, []*msg.Envelope{suite.Release(1), big, suite.Release(2)})
	got := in.Await(t, 2)
	require.Len(t, got, 2)
	require.EqualValues(t, 1, a.Stats()[0].Oversized)
}

func TestIdleConnectionSendsOnlyPings(t *testing.T) {
	n := newNet(t, grpc.Options{})
	b := n.Start(t, 2, func([]*msg.Envelope) {})
	defer b.Close()
	a := n.Start(t, 1, func([]*msg.Envelope) {}).(*node)
	defer a.Close()
	require.Eventually(t, func() bool { return a.Up(2) }, 10*time.Second, time.Millisecond)
	began, before := time.Now(), a.Stats()[0].SentBatches
	require.Eventually(t, func() bool { return a.Stats()[0].SentBatches >= before+5 }, 10*time.Second, time.Millisecond)
	pings := float64(a.Stats()[0].SentBatches - before)
	require.LessOrEqual(t, pings, float64(time.Since(began))/float64(suite.UpWindow/6)+2, "at most one per ping period")
	require.Zero(t, a.Stats()[0].Sent, "no envelopes")
}

func TestStatsCountBothDirections(t *testing.T) {
	n := newNet(t, grpc.Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	in := new(suite.Inbox)
	b := n.Start(t, 2, in.Handle).(*node)
	defer b.Close()
	a := n.Start(t, 1, func([]*msg.Envelope) {}).(*node)
	defer a.Close()
	const count = 1000
	envs := make([]*msg.Envelope, count)
	for i := range envs {
		envs[i] = suite.Release(i)
	}
	a.Send(2, envs)
	in.Await(t, count)
	require.Eventually(t, func() bool { return a.Stats()[0].Sent == count }, 10*time.Second, time.Millisecond)
	as, bs := a.Stats(), b.Stats()
	require.Len(t, as, 2)
	require.Equal(t, []kv.NodeID{2, 3}, []kv.NodeID{as[0].Peer, as[1].Peer})
	require.EqualValues(t, count, as[0].Outbox.Pushed)
	require.EqualValues(t, count, bs[0].Received)
	require.GreaterOrEqual(t, bs[0].ReceivedBatches, uint64(count/256))
	require.Less(t, bs[0].ReceivedBatches, uint64(count), "several envelopes per batch")
}
