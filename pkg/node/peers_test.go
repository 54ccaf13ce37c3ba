package node_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node"
)

// links is a transport that records announcements.
type links struct {
	mu   sync.Mutex
	up   map[kv.NodeID]bool
	sent map[kv.NodeID][]msg.Announcement
}

func (l *links) Send(to kv.NodeID, envs []*msg.Envelope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range envs {
		if msg.Is[msg.Announcement](e) {
			a := *msg.As[msg.Announcement](e)
			a.Clock = 0 // differs in each message
			l.sent[to] = append(l.sent[to], a)
		}
	}
}

func (l *links) Up(to kv.NodeID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up[to]
}

func (l *links) Close() error { return nil }

func (l *links) set(to kv.NodeID, up bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up[to] = up
}

// take returns what was announced to a peer since the last call.
func (l *links) take(to kv.NodeID) []msg.Announcement {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer delete(l.sent, to)
	return l.sent[to]
}

// startPeer starts node 1 of a router, with a connection to node 2. It ends with the test.
func startPeer(t *testing.T, shards, nodes int, now clock.Clock) (*node.Node, *links, *hotshard.Router) {
	t.Helper()
	router, err := hotshard.NewRouter(shards, nodes, nil)
	require.NoError(t, err)
	l := &links{up: map[kv.NodeID]bool{2: true}, sent: map[kv.NodeID][]msg.Announcement{}}
	n, err := node.Start(node.Options{ID: 1, Engine: memstore.NewAutoSync(), Transport: l, Clock: now, Router: router,
		Addresses: func() map[kv.NodeID]string { return map[kv.NodeID]string{2: "10.0.0.2:7070", 3: "10.0.0.3:7070"} }})
	require.NoError(t, err)
	t.Cleanup(n.Stop)
	return n, l, router
}

// A peer receives one announcement whenever it becomes reachable, also if it is reachable from the start.
func TestIncarnationIsAnnouncedToReachablePeers(t *testing.T) {
	real, err := clock.NewReal()
	require.NoError(t, err)
	n, l, router := startPeer(t, 3, 3, real)
	mine := []msg.Announcement{}
	for s := range router.Shards() {
		if id := kv.ShardID(s); router.Node(id) == 1 {
			mine = append(mine, msg.Announcement{Shard: id, Incarnation: 1})
		}
	}
	n.CheckPeers()
	require.Equal(t, mine, l.take(2), "reachable from the start")
	require.Empty(t, l.take(3))
	l.set(3, true)
	n.CheckPeers()
	n.CheckPeers()
	require.Equal(t, mine, l.take(3), "once")
	require.Empty(t, l.take(2))
	l.set(2, false)
	n.CheckPeers()
	l.set(2, true)
	n.CheckPeers()
	require.Equal(t, mine, l.take(2), "it may have restarted")
	require.Empty(t, l.take(3))
}

// A peer that has become silent is down. A node that has just started, or was stalled, has received nothing
// from any peer; it waits before it treats peers as down.
func TestSilentPeerIsDown(t *testing.T) {
	now := clock.NewManual(1, 1)
	n, l, router := startPeer(t, 6, 3, now)
	pass := func(d time.Duration) { // with regular checks
		for range int(d / (250 * time.Millisecond)) {
			now.Advance(250 * time.Millisecond)
			n.CheckPeers()
		}
	}
	down := func(id kv.NodeID) *kv.Down {
		key := []byte("a")
		for router.Node(router.Shard(key)) != id {
			key = append(key, 'a')
		}
		failed := make(chan *kv.Error, 1)
		n.Gateway().Submit(gateway.Request{Ops: []msg.Op{{Key: key}}}, func(r gateway.Response) { failed <- r.Err })
		select {
		case e := <-failed:
			require.Equal(t, kv.KindUnavailable, e.Kind)
			require.Equal(t, e.Down.String(), e.Text)
			return e.Down
		default:
			return nil // the request is in flight
		}
	}
	n.CheckPeers()
	require.Nil(t, down(3), "the connection may not be established yet")
	require.False(t, n.Up(3), "not reachable yet")
	pass(3 * time.Second)
	require.Equal(t, &kv.Down{Node: 3, Address: "10.0.0.3:7070", Shards: []kv.ShardID{2, 5},
		Keyspace: router.Keyspace([]kv.ShardID{2, 5})}, down(3))
	require.Nil(t, down(2))
	l.set(3, true)
	n.CheckPeers()
	require.Nil(t, down(3), "reachable again")
	l.set(3, false)
	n.CheckPeers()
	require.NotNil(t, down(3), "the transport has already waited")

	l.set(2, false)
	now.Advance(5 * time.Second)
	n.CheckPeers()
	require.Nil(t, down(2), "this node was stalled")
	require.NotNil(t, down(3), "it was down before")
	pass(2 * time.Second)
	l.set(2, true)
	pass(2 * time.Second)
	require.Nil(t, down(2))
	l.set(2, false)
	n.CheckPeers()
	require.NotNil(t, down(2))
	require.True(t, down(2).Hot == (router.Node(router.HotShard()) == 2))
}

// An announcement may be lost with a connection that is re-established at once. A gateway that has received
// Draining would reject requests for the shards for ever.
func TestIncarnationIsAnnouncedPeriodically(t *testing.T) {
	now := clock.NewManual(1, 1)
	n, l, _ := startPeer(t, 1, 2, now)
	n.CheckPeers()
	first := l.take(2)
	require.NotEmpty(t, first)
	now.Advance(time.Second)
	n.CheckPeers()
	require.Empty(t, l.take(2))
	now.Advance(time.Minute)
	n.CheckPeers()
	require.Equal(t, first, l.take(2))
}

// A peer may lose announcements that arrive before its gateway has started.
func TestIncarnationIsAnnouncedToRestartedPeer(t *testing.T) {
	n, l, _ := startPeer(t, 1, 2, clock.NewManual(1, 1))
	n.CheckPeers()
	first := l.take(2)
	require.NotEmpty(t, first)
	announce := func(inc kv.Incarnation) {
		env := msg.ToGateway(1)
		env.From, env.Body = 2, &msg.Announcement{Shard: 1, Incarnation: inc}
		n.Receive([]*msg.Envelope{env})
		n.CheckPeers()
	}
	announce(1)
	require.Equal(t, first, l.take(2))
	announce(1)
	require.Empty(t, l.take(2), "the incarnation is known")
	announce(2)
	require.Equal(t, first, l.take(2))
}
