package embed_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groups"
)

// untilServed executes operations at a node until they succeed: while a shard has no leader, they may fail.
func untilServed(t *testing.T, g *gateway.Gateway, ops ...msg.Op) gateway.Response {
	t.Helper()
	var r gateway.Response
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		r = g.Execute(ctx, gateway.Request{Ops: ops})
		return r.Err == nil
	}, waitTimeout, 10*time.Millisecond, "%v", &r.Err)
	return r
}

// TestANodeOfThreeMayStop: each in turn. All that was written is there, at every node, also what was written meanwhile.
func TestANodeOfThreeMayStop(t *testing.T) {
	t.Parallel()
	opt := embed.ClusterOptions{Dir: t.TempDir(), Replicas: 3, Shards: 3}
	c, err := embed.StartCluster(opt)
	require.NoError(t, err)
	written := 0
	write := func(at kv.NodeID) {
		for range 20 {
			k := fmt.Sprint("k", written)
			written++
			untilServed(t, c.Node(at).Gateway(), put(k, k))
		}
	}
	check := func(at kv.NodeID) {
		for i := range written {
			k := fmt.Sprint("k", i)
			r := untilServed(t, c.Node(at).Gateway(), get(k))
			require.Equal(t, k, string(r.Results[0].Value), "at %v", at)
		}
	}
	write(1)
	for id := kv.NodeID(1); id <= 3; id++ {
		next := id%3 + 1
		require.NoError(t, c.StopNode(id))
		write(next)
		check(next)
		require.NoError(t, c.StartNode(id))
		check(id)
	}
	require.NoError(t, c.Stop(soon(t)))

	c, err = embed.StartCluster(opt)
	require.NoError(t, err)
	check(2)
	require.NoError(t, c.Stop(soon(t)))
}

// votersOn counts the shards of which a node has a replica that votes, while the group does not change.
func votersOn(i *embed.Instance) (n int) {
	for _, st := range i.Node().Groups().Status() {
		voting := slices.ContainsFunc(st.Members, func(m groups.Member) bool { return m.Replica == st.Replica && !m.Learner })
		if voting && !st.Changing {
			n++
		}
	}
	return n
}

// TestAnEmptiedDiskIsFilledAgain: a node starts on an empty directory, and when its replicas are there again, another
// node may stop. Its old directory is refused.
func TestAnEmptiedDiskIsFilledAgain(t *testing.T) {
	t.Parallel()
	addrs := freeAddrs(t, 3)
	var opts []embed.Options
	for range addrs {
		opts = append(opts, embed.Options{Dir: t.TempDir(), Shards: 2, Replicas: 3})
	}
	nodes, errs := startTogether(soon(t), addrs, opts...)
	for _, err := range errs {
		require.NoError(t, err)
	}
	defer func() {
		for _, n := range nodes {
			require.NoError(t, n.Stop())
		}
	}()
	gateway := func(i int) *gateway.Gateway { return nodes[i].Node().Gateway() }
	untilServed(t, gateway(0), put("a", "1"))
	old := opts[1].Dir
	require.DirExists(t, filepath.Join(old, "raft"))
	require.NoError(t, nodes[1].Stop())
	untilServed(t, gateway(0), put("b", "2"))
	start := func(dir string) (*embed.Instance, error) {
		return embed.Start(soon(t), embed.Options{Dir: dir, Listen: addrs[1], Join: strings.Join(addrs, ","),
			Shards: 2, Replicas: 3, CacheBytes: 16 << 20})
	}
	dir := t.TempDir()
	var err error
	nodes[1], err = start(dir)
	require.NoError(t, err)
	require.Equal(t, "2", string(untilServed(t, gateway(1), get("b")).Results[0].Value))
	require.Eventually(t, func() bool { return votersOn(nodes[1]) == 3 }, waitTimeout, 10*time.Millisecond)

	require.NoError(t, nodes[2].Stop())
	require.Equal(t, "1", string(untilServed(t, gateway(1), get("a")).Results[0].Value))
	untilServed(t, gateway(1), put("c", "3"))

	require.NoError(t, nodes[1].Stop())
	_, err = start(old)
	require.ErrorContains(t, err, "its disk has been replaced")
	require.ErrorContains(t, err, "empty the node's directory")
	nodes[1], err = start(dir)
	require.NoError(t, err)
	require.Equal(t, "3", string(untilServed(t, gateway(0), get("c")).Results[0].Value))
	nodes = nodes[:2]
}

// TestClusterWithoutLeaderLeases: reads of one shard, and of several, scans and transactions see what was written, at
// every node and while a node is stopped.
func TestClusterWithoutLeaderLeases(t *testing.T) {
	t.Parallel()
	opt := embed.ClusterOptions{Dir: t.TempDir(), Replicas: 3, Shards: 3, NoLeases: true}
	c, err := embed.StartCluster(opt)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Stop(soon(t))) }()
	check := func(value string, running ...kv.NodeID) {
		t.Helper()
		untilServed(t, c.Node(running[0]).Gateway(), put("a", value), put("b", value), put("c", value), put("d", value))
		for _, id := range running {
			g := c.Node(id).Gateway()
			require.Equal(t, value, string(untilServed(t, g, get("a")).Results[0].Value))
			for _, r := range untilServed(t, g, get("a"), get("b"), get("c"), get("d")).Results {
				require.Equal(t, value, string(r.Value))
			}
			var scanned []string
			require.NoError(t, g.Scan(soon(t), gateway.ScanOptions{}, func(ps []msg.Pair) error {
				for i := range ps {
					scanned = append(scanned, string(ps[i].Key)+string(ps[i].Value))
				}
				return nil
			}))
			require.Equal(t, []string{"a" + value, "b" + value, "c" + value, "d" + value}, scanned)
			view, err := g.Begin(soon(t), gateway.TxOptions{ReadOnly: true})
			require.NoError(t, err)
			for _, k := range []string{"a", "b", "c", "d"} {
				results, err := view.Do(soon(t), []msg.Op{get(k)})
				require.NoError(t, err)
				require.Equal(t, value, string(results[0].Value))
			}
			require.Nil(t, view.Commit(soon(t)).Err)
		}
	}
	check("1", 1, 2, 3)
	for _, st := range c.Node(1).Groups().Status() {
		require.Zero(t, st.Lease)
		require.True(t, st.HasLeader)
	}
	require.NoError(t, c.StopNode(2))
	check("2", 1, 3)
	require.NoError(t, c.StartNode(2))
	check("3", 2, 1, 3)
}
