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

// links is a transport that keeps what it is to send.
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
			a.Clock = 0 // is another each time
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

// take gives what was announced to a peer since the last call.
func (l *links) take(to kv.NodeID) []msg.Announcement {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer delete(l.sent, to)
	return l.sent[to]
}

// TestPeersHearOfIncarnations: each peer is told when it can be reached, also if it
// could be from the start, and not at each look.
func TestPeersHearOfIncarnations(t *testing.T) {
	l := &links{up: map[kv.NodeID]bool{2: true}, sent: map[kv.NodeID][]msg.Announcement{}}
	opt := node.Options{ID: 1, Engine: memstore.NewAutoSync(), Transport: l}
	var err error
	opt.Router, err = hotshard.NewRouter(3, 3, nil)
	require.NoError(t, err)
	opt.Clock, err = clock.NewReal()
	require.NoError(t, err)
	n, err := node.Start(opt)
	require.NoError(t, err)
	defer n.Stop()
	mine := []msg.Announcement{}
	for s := range opt.Router.Shards() {
		if id := kv.ShardID(s); opt.Router.Node(id) == 1 {
			mine = append(mine, msg.Announcement{Shard: id, Incarnation: 1})
		}
	}
	n.Look()
	require.Equal(t, mine, l.take(2), "reachable from the start")
	require.Empty(t, l.take(3))
	l.set(3, true)
	n.Look()
	n.Look()
	require.Equal(t, mine, l.take(3), "once")
	require.Empty(t, l.take(2))
	l.set(2, false)
	n.Look()
	l.set(2, true)
	n.Look()
	require.Equal(t, mine, l.take(2), "again, since it may have restarted")
	require.Empty(t, l.take(3))
}

// TestWhoIsTakenForDown: who was heard of, and is not any more. Who has just begun, or
// stood still, has heard of nobody, which says nothing about the others; it waits.
func TestWhoIsTakenForDown(t *testing.T) {
	l := &links{up: map[kv.NodeID]bool{2: true}, sent: map[kv.NodeID][]msg.Announcement{}}
	now := clock.NewManual(1, 1)
	opt := node.Options{ID: 1, Engine: memstore.NewAutoSync(), Transport: l, Clock: now}
	opt.Addresses = func() map[kv.NodeID]string { return map[kv.NodeID]string{2: "10.0.0.2:7070", 3: "10.0.0.3:7070"} }
	var err error
	opt.Router, err = hotshard.NewRouter(6, 3, nil)
	require.NoError(t, err)
	n, err := node.Start(opt)
	require.NoError(t, err)
	defer n.Stop()
	pass := func(d time.Duration) { // looking all the time
		for range int(d / (250 * time.Millisecond)) {
			now.Advance(250 * time.Millisecond)
			n.Look()
		}
	}
	down := func(id kv.NodeID) *kv.Down {
		key := []byte("a")
		for opt.Router.Node(opt.Router.Shard(key)) != id {
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
			return nil // it waits for an answer
		}
	}
	n.Look()
	require.Nil(t, down(3), "it may not have been connected yet")
	require.False(t, n.Up(3), "but is not known to be up, which those want to know who wait for it")
	pass(3 * time.Second)
	require.Equal(t, &kv.Down{Node: 3, Address: "10.0.0.3:7070", Shards: []kv.ShardID{2, 5}, Keyspace: opt.Router.Keyspace([]kv.ShardID{2, 5})}, down(3))
	require.Nil(t, down(2))
	l.set(3, true)
	n.Look()
	require.Nil(t, down(3), "it is back")
	l.set(3, false)
	n.Look()
	require.NotNil(t, down(3), "the transport has waited for long enough")

	l.set(2, false)
	now.Advance(5 * time.Second)
	n.Look()
	require.Nil(t, down(2), "it was this node that stood still")
	require.NotNil(t, down(3), "it was down before")
	pass(2 * time.Second)
	l.set(2, true)
	pass(2 * time.Second)
	require.Nil(t, down(2))
	l.set(2, false)
	n.Look()
	require.NotNil(t, down(2))
	require.True(t, down(2).Hot == (opt.Router.Node(opt.Router.HotShard()) == 2))
}

// TestPeersHearAgain: what was told may have been lost with a link that broke and
// was up again at once. A gateway that had heard that the shards leave would
// refuse whoever needs them for ever.
func TestPeersHearAgain(t *testing.T) {
	l := &links{up: map[kv.NodeID]bool{2: true}, sent: map[kv.NodeID][]msg.Announcement{}}
	now := clock.NewManual(1, 1)
	opt := node.Options{ID: 1, Engine: memstore.NewAutoSync(), Transport: l, Clock: now}
	var err error
	opt.Router, err = hotshard.NewRouter(1, 2, nil)
	require.NoError(t, err)
	n, err := node.Start(opt)
	require.NoError(t, err)
	defer n.Stop()
	n.Look()
	told := l.take(2)
	require.NotEmpty(t, told)
	now.Advance(time.Second)
	n.Look()
	require.Empty(t, l.take(2))
	now.Advance(time.Minute)
	n.Look()
	require.Equal(t, told, l.take(2))
}

// TestAPeerThatStartsHearsAgain: what was sent to it while it was starting may have been
// lost, since its gateway was not there yet.
func TestAPeerThatStartsHearsAgain(t *testing.T) {
	l := &links{up: map[kv.NodeID]bool{2: true}, sent: map[kv.NodeID][]msg.Announcement{}}
	opt := node.Options{ID: 1, Engine: memstore.NewAutoSync(), Transport: l, Clock: clock.NewManual(1, 1)}
	var err error
	opt.Router, err = hotshard.NewRouter(1, 2, nil)
	require.NoError(t, err)
	n, err := node.Start(opt)
	require.NoError(t, err)
	defer n.Stop()
	n.Look()
	first := l.take(2)
	require.NotEmpty(t, first)
	announce := func(inc kv.Incarnation) {
		env := msg.ToGateway(1)
		env.From, env.Body = 2, &msg.Announcement{Shard: 1, Incarnation: inc}
		n.Receive([]*msg.Envelope{env})
		n.Look()
	}
	announce(1)
	require.Equal(t, first, l.take(2))
	announce(1)
	require.Empty(t, l.take(2), "that is no news")
	announce(2)
	require.Equal(t, first, l.take(2))
}
