package node_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groups"
)

// logDisk is the store of a node's replica log, on a disk that can become slow or stuck.
type logDisk struct {
	engine.Engine
	mu sync.Mutex
	// delay is how long each fsync takes.
	delay time.Duration
	// stuck, unless nil, is closed when fsyncs end again.
	stuck chan struct{}
	// appends counts the writes.
	appends atomic.Int64
}

func (d *logDisk) Append(groups []entry.Group) (engine.Position, error) {
	d.appends.Add(1)
	return d.Engine.Append(groups)
}

func (d *logDisk) WaitDurable(p engine.Position) error {
	d.mu.Lock()
	delay, stuck := d.delay, d.stuck
	d.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	time.Sleep(delay)
	return d.Engine.WaitDurable(p)
}

func (d *logDisk) setDelay(delay time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay = delay
}

// stick has fsyncs not end until release is called.
func (d *logDisk) stick() (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stuck := make(chan struct{})
	d.stuck = stuck
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		close(stuck)
		d.stuck = nil
	}
}

// TestCommitIsOneWriteOnEachNode: a commit index is not written on its own, neither by the leader nor by those that
// learn it with a heartbeat.
func TestCommitIsOneWriteOnEachNode(t *testing.T) {
	const commits = 40
	g := newGroup(t, 1)
	g.eventually("all replicas follow", func(st *groups.Status) bool { return st.Missing == 0 })
	at := g.leader(0).Gateway()
	increment := func() {
		op := msg.Op{Kind: msg.OpAdd, Key: []byte("k0"), Delta: 1}
		require.Nil(t, at.Execute(t.Context(), gateway.Request{Ops: []msg.Op{op}}).Err)
	}
	increment()
	var before [3]int64
	for i, m := range g.members {
		before[i] = m.disk.appends.Load()
	}
	for range commits {
		increment()
		time.Sleep(5 * time.Millisecond) // nothing shares a write with the next commit
	}
	for i, m := range g.members {
		require.LessOrEqual(t, m.disk.appends.Load()-before[i], int64(commits*5/4), "node %v", m.id)
	}
}

// TestLeaderWithASlowDiskTransfersLeadership under load, and no request fails. Leadership does not return (R10.9).
func TestLeaderWithASlowDiskTransfersLeadership(t *testing.T) {
	g := newGroupWith(t, 1, &group{hold: 800 * time.Millisecond})
	g.eventually("all replicas follow", func(st *groups.Status) bool { return st.Missing == 0 })
	g.failures = func(err *kv.Error) { t.Errorf("a request fails: %v", err) }
	stop := make(chan struct{})
	finish := g.count(stop)
	slow := g.leader(0)
	slow.disk.setDelay(300 * time.Millisecond)
	g.requireLogged(fmt.Sprintf(`msg="this node does not lead the shard any more" node=%v shard=s0 .*reason="it `+
		`transfers leadership to n\d: slow or nearly full disk`, slow.id), `msg="this node leads the shard" node=n\d `+
		`shard=s0 .*reason="the previous leader has transferred leadership"`)
	time.Sleep(500 * time.Millisecond) // it could return
	require.NotEqual(t, slow.id, g.leader(0).id)
	close(stop)
	acknowledged, unknown := finish()
	require.Zero(t, unknown)
	require.Equal(t, int64(acknowledged), g.sum(g.leader(0)))
}

// TestNodeWithAStuckDiskIsReplaced: it leads nothing after a time, not even shards that write nothing, and counts as
// silent. When its disk goes on, it follows (R10.10).
func TestNodeWithAStuckDiskIsReplaced(t *testing.T) {
	g := newGroup(t, 3)
	g.eventually("all replicas follow", func(st *groups.Status) bool { return st.Missing == 0 })
	stuck := g.leader(0)
	release := stuck.disk.stick()
	stop := make(chan struct{})
	finish := g.count(stop)
	g.requireLogged(fmt.Sprintf(`msg="the disk ends no write of the replicas' log: .*" node=%v`, stuck.id))
	for s := range g.router.Shards() {
		require.Eventually(t, func() bool { return !stuck.Groups().Status()[s].Leads }, 20*time.Second, 5*time.Millisecond)
	}
	g.eventually("the node is silent", func(st *groups.Status) bool {
		for _, m := range st.Members {
			if m.IsSilent != (m.Node == stuck.id) {
				return false
			}
		}
		return st.Missing == 1
	})
	release()
	g.requireLogged(fmt.Sprintf(`msg="the disk has ended a write of the replicas' log again" node=%v after=`, stuck.id))
	g.eventually("all replicas follow", func(st *groups.Status) bool { return st.Missing == 0 })
	require.Eventually(t, func() bool { return g.sum(g.leader(0)) > 200 }, 20*time.Second, 5*time.Millisecond)
	close(stop)
	acknowledged, unknown := finish()
	sum := g.sum(g.leader(0))
	require.GreaterOrEqual(t, sum, int64(acknowledged))
	require.LessOrEqual(t, sum, int64(acknowledged+unknown))
	require.Greater(t, acknowledged, 100)
}
