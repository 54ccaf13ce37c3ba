package node_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// pastGroup is a group with a history and a named snapshot, in which each key has the value "old"; now it is "new".
type pastGroup struct {
	*group
	at    *gateway.Gateway
	named *msg.Snapshot
}

const pastKeys = 20

func newPastGroup(t *testing.T) *pastGroup {
	g := &pastGroup{group: newGroupWith(t, 3, &group{checkEvery: 300 * time.Millisecond,
		snapshots: shard.SnapshotConfig{Every: 20 * time.Millisecond, History: 10 * time.Minute, Doubt: time.Second}})}
	for s := range kv.ShardID(g.router.Shards()) {
		g.leader(s)
	}
	g.at = g.members[0].Gateway()
	g.put("old")
	var err error
	g.named, err = g.at.CreateSnapshot(context.Background(), "named", time.Hour)
	require.NoError(t, err)
	g.put("new")
	return g
}

func (g *pastGroup) put(value string) {
	var ops []msg.Op
	for i := range pastKeys {
		ops = append(ops, msg.Op{Kind: msg.OpPut, Key: fmt.Appendf(nil, "k%d", i), Value: []byte(value)})
	}
	require.Nil(g.t, g.at.Execute(context.Background(), gateway.Request{Ops: ops}).Err)
}

// read reads all keys, and returns their value.
func (g *pastGroup) read(at txn.SnapshotRef) (value string, err *kv.Error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var ops []msg.Op
	for i := range pastKeys {
		ops = append(ops, msg.Op{Kind: msg.OpGet, Key: fmt.Appendf(nil, "k%d", i)})
	}
	res := g.at.Execute(ctx, gateway.Request{Ops: ops, How: txn.TxnOptions{At: at}})
	if res.Err != nil {
		return "", res.Err
	}
	for _, r := range res.Results {
		require.Equal(g.t, res.Results[0].Value, r.Value)
	}
	return string(res.Results[0].Value), nil
}

// TestReplicasServeSnapshots: a node reads snapshots at its own replicas, whether it leads their shards or not (R8.4).
func TestReplicasServeSnapshots(t *testing.T) {
	t.Parallel()
	g := newPastGroup(t)
	leads := len(g.members[0].ShardStats(0))
	for _, m := range g.members { // each replica has read its position when it was opened
		m.replicaReads.Store(0)
	}
	read := func() bool {
		value, err := g.read(txn.SnapshotRef{Number: g.named.Number})
		require.Nil(t, err)
		require.Equal(t, "old", value)
		return g.members[0].replicaReads.Load() > 0
	}
	if leads == g.router.Shards() {
		require.False(t, read())
	} else { // a leader serves what this node's replica has not applied yet
		require.Eventually(t, read, 20*time.Second, time.Millisecond)
	}
	for _, m := range g.members[1:] {
		require.Zero(t, m.replicaReads.Load())
	}
}

// TestSnapshotsAreReadWithoutLeaders: of three nodes one is left (R10.2). It reads what later entries cannot change,
// and says why it does not read the rest.
func TestSnapshotsAreReadWithoutLeaders(t *testing.T) {
	t.Parallel()
	g := newPastGroup(t)
	var between time.Time
	for i, value := range []string{"new", "newer", "newest"} { // the replica has applied a state after the first
		require.Eventually(t, func() bool {
			g.put(value)
			now := time.Now()
			got, err := g.read(txn.SnapshotRef{AsOf: now.UnixNano()})
			if i == 0 {
				between = now
			}
			return err == nil && got == value
		}, 20*time.Second, 20*time.Millisecond, "the history has the state")
	}
	for _, m := range g.members[1:] {
		g.stop(m)
	}
	require.Eventually(t, func() bool {
		_, err := g.read(txn.SnapshotRef{})
		return err != nil && err.Down != nil && len(err.Down.Shards) == g.router.Shards()
	}, 20*time.Second, 10*time.Millisecond)

	value, err := g.read(txn.SnapshotRef{Number: g.named.Number})
	require.Nil(t, err)
	require.Equal(t, "old", value)
	value, err = g.read(txn.SnapshotRef{AsOf: between.UnixNano()})
	require.Nil(t, err)
	require.Equal(t, "new", value)

	_, err = g.read(txn.SnapshotRef{Name: "named"})
	require.Equal(t, kv.KindUnavailable, err.Kind)
	require.Contains(t, err.Hint, fmt.Sprintf("whose id ends with -%d", g.named.Number))
	_, err = g.read(txn.SnapshotRef{AsOf: time.Now().UnixNano()})
	require.Equal(t, kv.KindUnavailable, err.Kind)
	require.Contains(t, err.Hint, "states up to")
	_, err = g.read(txn.SnapshotRef{Number: 1 << 40})
	require.Equal(t, kv.KindUnavailable, err.Kind)

	g.start(g.members[1])
	require.Eventually(t, func() bool {
		value, err := g.read(txn.SnapshotRef{Name: "named"})
		return err == nil && value == "old"
	}, 20*time.Second, 10*time.Millisecond)
}

// TestStoppedShardServesNoSnapshots: all replicas have different rows, and none is known to be right (R6.14).
func TestStoppedShardServesNoSnapshots(t *testing.T) {
	t.Parallel()
	g := newPastGroup(t)
	for _, m := range g.members {
		g.stop(m)
	}
	for _, m := range g.members {
		_, err := m.rows.Append([]entry.Group{{Shard: 1, Entries: []entry.Entry{
			{Table: entry.TableOutcome, Key: []byte("of no transaction"), Value: []byte{byte(m.id)}}}}})
		require.NoError(t, err)
	}
	for _, m := range g.members {
		g.start(m)
	}
	g.at = g.members[0].Gateway()
	require.Eventually(t, func() bool {
		_, err := g.read(txn.SnapshotRef{Number: g.named.Number})
		return err != nil && err.Kind == kv.KindUnavailable && strings.Contains(err.Hint, "different rows")
	}, 20*time.Second, 10*time.Millisecond)
}
