package node_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node"
)

// links is a transport that keeps what it is to send.
type links struct {
	mu   sync.Mutex
	up   map[kv.NodeID]bool
	sent map[kv.NodeID][]msg.Announce
}

func (l *links) Send(to kv.NodeID, envs []*msg.Envelope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range envs {
		if e.Announce != nil {
			a := *e.Announce
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
func (l *links) take(to kv.NodeID) []msg.Announce {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer delete(l.sent, to)
	return l.sent[to]
}

// TestPeersHearOfIncarnations: each peer is told when it can be reached, also if it
// could be from the start, and not at each look.
func TestPeersHearOfIncarnations(t *testing.T) {
	l := &links{up: map[kv.NodeID]bool{2: true}, sent: map[kv.NodeID][]msg.Announce{}}
	opt := node.Options{ID: 1, Engine: memstore.NewAutoSync(), Transport: l}
	var err error
	opt.Router, err = hotshard.NewRouter(3, 3, nil)
	require.NoError(t, err)
	opt.Clock, err = clock.NewReal()
	require.NoError(t, err)
	n, err := node.Start(opt)
	require.NoError(t, err)
	defer n.Stop()
	mine := []msg.Announce{}
	for s := range opt.Router.Shards() {
		if id := kv.ShardID(s); opt.Router.Node(id) == 1 {
			mine = append(mine, msg.Announce{Shard: id, Incarnation: 1})
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

// TestPeersHearAgain: what was told may have been lost with a link that broke and
// was up again at once. A gateway that had heard that the shards leave would
// refuse whoever needs them for ever.
func TestPeersHearAgain(t *testing.T) {
	l := &links{up: map[kv.NodeID]bool{2: true}, sent: map[kv.NodeID][]msg.Announce{}}
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
