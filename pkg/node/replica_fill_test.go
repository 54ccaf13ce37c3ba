package node_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groups"
	"github.com/linchpindb/linchpin/pkg/raftlog"
)

// TestRowsOfAWrittenShardAreSentOnce: while the rows of shards are on the way to an emptied disk, more is written than
// a log is kept for other replicas, and logs are truncated. All of it is kept until the new replicas have it: they need
// no second Raft snapshot, during which as much would be written again.
func TestRowsOfAWrittenShardAreSentOnce(t *testing.T) {
	arrive, sent := make(chan struct{}), make(chan *consensus.Message, 100)
	g := newGroupWith(t, 1, &group{hold: 800 * time.Millisecond, truncateEvery: 20 * time.Millisecond,
		logs: raftlog.Options{KeptBytes: 1 << 20}, arriving: func(m *consensus.Message) {
			sent <- m
			<-arrive
		}})
	release := sync.OnceFunc(func() { close(arrive) })
	defer release()
	shard := g.router.Shard([]byte("k"))
	leader, lost := g.leader(0), g.members[2]
	if leader == lost {
		lost = g.members[0]
	}
	put := func(n int) {
		for range n {
			op := msg.Op{Kind: msg.OpPut, Key: []byte("k"), Value: make([]byte, 256<<10)}
			res := leader.Gateway().Execute(context.Background(), gateway.Request{Ops: []msg.Op{op}})
			require.Nil(t, res.Err)
		}
	}
	cuts := func() (first uint64) {
		l, err := leader.logs.Open(shard)
		require.NoError(t, err)
		first, err = l.FirstIndex()
		require.NoError(t, err)
		return first
	}
	put(20)
	require.Eventually(t, func() bool { return cuts() > 1 }, 20*time.Second, time.Millisecond, "the log is not cut")
	g.stop(lost)
	lost.rows, lost.log = memstore.NewAutoSync(), memstore.NewAutoSync()
	lost.stamp.Store(7)
	g.start(lost)
	var rows uint64
	for range g.router.Shards() {
		if m := <-sent; m.Group == shard {
			rows = m.Raft.Snapshot.Metadata.Index
		}
	}
	put(20)
	time.Sleep(200 * time.Millisecond) // ten truncations
	require.LessOrEqual(t, cuts(), rows+1, "the log is cut although rows are on the way")
	release()
	g.awaitReplaced(lost, g.router.Shards())
	require.Empty(t, sent, "rows are sent again")
	put(20)
	g.eventually("the log is cut again", func(*groups.Status) bool { return cuts() > rows+1 })
}
