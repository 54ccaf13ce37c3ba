package integration

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestClusterFormsAndRestarts: three processes form a cluster, and each is a gateway to all keys. After
// restarts of all nodes in several orders, and of one node at a time, all data is there.
func TestClusterFormsAndRestarts(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: []string{"--hot-key", "key/000"}})
	ctx := proc.Context(t)
	keys := proc.Keys(40)
	for i, n := range c.Nodes() {
		db := proc.Open(t, []string{n.Addr})
		for j, k := range keys {
			if j%3 == i {
				require.NoError(t, db.Execute(ctx, client.PutOp(k, []byte(k)), add("count", 1)))
			}
		}
	}
	requireAllData := func() {
		t.Helper()
		for _, n := range c.Nodes() {
			db := proc.Open(t, []string{n.Addr})
			i := 0
			for e, err := range db.Scan(ctx, client.Prefix("key/"), client.PageSize(7)) {
				require.NoError(t, err)
				require.Equal(t, keys[i], e.Key)
				require.Equal(t, keys[i], string(e.Value))
				i++
			}
			require.Equal(t, len(keys), i)
			n, err := client.NewCounter("count").AddGet(ctx, db, 0)
			require.NoError(t, err)
			require.EqualValues(t, len(keys), n)
		}
	}
	requireAllData()
	for _, order := range [][]int{{2, 1, 0}, {1, 0, 2}} {
		for _, n := range c.Nodes() {
			n.Kill()
		}
		for _, i := range order { // each serves before the next one starts
			c.Node(i).Start(t)
		}
		c.WaitConnected(t)
		requireAllData()
	}
	for _, n := range c.Nodes() { // a rolling restart
		require.Equal(t, cli.ExitOK, n.Stop(t))
		n.Start(t)
		c.WaitConnected(t)
	}
	requireAllData()
}

// TestDifferentJoinListsAreRejected: nodes whose join lists differ exit with an error before a cluster is
// formed.
func TestDifferentJoinListsAreRejected(t *testing.T) {
	t.Parallel()
	a, b, d := proc.FreeAddr(t), proc.FreeAddr(t), proc.FreeAddr(t)
	one := proc.NewNode(t, "one", t.TempDir(), "--listen", a, "--join", a+","+b)
	two := proc.NewNode(t, "two", t.TempDir(), "--listen", b, "--join", a+","+b+","+d)
	one.Launch(t)
	code, output := two.RequireStartFails(t)
	require.Equal(t, cli.ExitUsage, code, output)
	require.Contains(t, output, "--join")
	require.Contains(t, output, "hint: ")
	require.Equal(t, cli.ExitUsage, one.Wait(t), one.Output)

	// A list without the node itself is rejected at once.
	three := proc.NewNode(t, "three", t.TempDir(), "--listen", d, "--join", a+","+b)
	code, output = three.RequireStartFails(t)
	require.Equal(t, cli.ExitUsage, code, output)
	require.Contains(t, output, d)
	require.Contains(t, output, "hint: ")
}

// TestForeignStoreIsRejected: a member of one cluster cannot become a member of another cluster, and does
// not disturb it.
func TestForeignStoreIsRejected(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Nodes: 2})
	other := proc.StartCluster(t, proc.Options{Nodes: 2})
	for _, n := range other.Nodes() {
		require.Equal(t, cli.ExitOK, n.Stop(t))
	}
	// The peer of its own cluster is down, and its join list names a member of another cluster.
	addr := proc.FreeAddr(t)
	stranger := proc.NewNode(t, "stranger", other.Node(0).Dir, "--listen", addr, "--join", c.Node(0).Addr+","+addr)
	stranger.Launch(t)
	require.Equal(t, cli.ExitUsage, stranger.Wait(t), stranger.Output)
	require.Contains(t, stranger.Output.String(), "belongs to cluster")
	require.Contains(t, stranger.Output.String(), "hint: ")

	// The join list is longer than its cluster.
	join := strings.Join(append(c.Addrs(), addr), ",")
	requireRejected(t, proc.NewNode(t, "stranger with a long list", other.Node(0).Dir, "--listen", addr, "--join", join),
		cli.ExitUsage, "formed with 2")

	// A new node cannot join a complete cluster.
	newcomer := proc.NewNode(t, "newcomer", t.TempDir(), "--listen", addr, "--join", join)
	requireRejected(t, newcomer, cli.ExitUsage, addr)

	require.NoError(t, c.Open(t).Execute(proc.Context(t), client.PutOp("a", nil), client.PutOp("b", nil)))
	for _, n := range c.Nodes() {
		require.True(t, n.Running())
	}
}

// TestMemberWithEmptyStoreIsRejected: a member that has lost its store cannot rejoin with an empty one,
// because its data would be missing.
func TestMemberWithEmptyStoreIsRejected(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Nodes: 2})
	n := c.Node(1)
	n.Kill()
	require.NoError(t, os.RemoveAll(n.Dir))
	code, output := n.RequireStartFails(t)
	require.Equal(t, cli.ExitUsage, code, output)
	require.Contains(t, output, "started with an empty one")
	require.Contains(t, output, "on a copy that was made")
}

// TestMemberWithReplicasReturnsWithAnEmptyStore: its shards are on the other nodes, and it gets their replicas again:
// then another node may be killed.
func TestMemberWithReplicasReturnsWithAnEmptyStore(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: []string{"--replicas", "3"}})
	db := c.Open(t)
	require.NoError(t, db.Put(proc.Context(t), "a", []byte("1")))
	n := c.Node(1)
	n.Kill()
	require.NoError(t, os.Rename(n.Dir, n.Dir+"-lost"))
	n.Start(t)
	n.AwaitOutput(t, "this node has lost its disk")
	require.NoError(t, db.Put(proc.Context(t), "b", []byte("2")))
	replicas := admin.New(proc.Open(t, []string{n.Addr}))
	proc.Until(t, "the node has a new replica of each shard", func(ctx context.Context) bool {
		shards, err := replicas.Shards(ctx)
		return err == nil && len(shards) == c.Shards() && !slices.ContainsFunc(shards, func(sh admin.Shard) bool {
			return sh.Changing || len(sh.Replicas) != 3 || !slices.ContainsFunc(sh.Replicas, func(r admin.Replica) bool {
				return r.Replica > 3 && !r.Learner
			})
		})
	}, func() string { return "" })
	c.Node(0).Kill()
	for _, k := range []string{"a", "b"} {
		_, _, err := c.Open(t).Get(proc.Context(t), k)
		require.NoError(t, err)
	}
}

// TestSwappedStoresAreRejected: two members whose directories were exchanged do not start. They start when
// the directories are exchanged back.
func TestSwappedStoresAreRejected(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Nodes: 2})
	require.NoError(t, c.Open(t).Execute(proc.Context(t), client.PutOp("a", nil), client.PutOp("b", nil)))
	for _, n := range c.Nodes() {
		require.Equal(t, cli.ExitOK, n.Stop(t))
	}
	a, b := c.Node(0).Dir, c.Node(1).Dir
	aside := filepath.Join(filepath.Dir(a), "aside")
	for _, mv := range [][2]string{{a, aside}, {b, a}, {aside, b}} {
		require.NoError(t, os.Rename(mv[0], mv[1]))
	}
	requireRejected(t, c.Node(0), cli.ExitUsage, "is the address of node")
	requireRejected(t, c.Node(1), cli.ExitUsage, "is the address of node")

	for _, mv := range [][2]string{{a, aside}, {b, a}, {aside, b}} {
		require.NoError(t, os.Rename(mv[0], mv[1]))
	}
	c.Start(t)
	both := []client.Op{client.RequireOp("a", client.IfExists()), client.RequireOp("b", client.IfExists())}
	require.NoError(t, c.Open(t).Execute(proc.Context(t), both...))
}

// TestMemberChangesAddress: a node restarts with another address, and the other nodes find it there.
func TestMemberChangesAddress(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Nodes: 3})
	keys := proc.Keys(20)
	db := proc.Open(t, []string{c.Node(0).Addr})
	for _, k := range keys {
		require.NoError(t, db.Put(proc.Context(t), k, []byte(k)))
	}
	old := c.Node(2)
	require.Equal(t, cli.ExitOK, old.Stop(t))
	addr := proc.FreeAddr(t)
	join := strings.Join([]string{c.Node(0).Addr, c.Node(1).Addr, addr}, ",")
	moved := proc.NewNode(t, "moved", old.Dir, "--listen", addr, "--join", join)
	moved.Start(t)
	proc.WaitStatus(t, c.Node(0), func(s *admin.Status) bool {
		found := false
		for _, m := range s.Members {
			if !m.Up {
				return false
			}
			found = found || m.Address == addr
		}
		return found && len(s.Members) == 3
	})
	for _, k := range keys {
		value, _, err := db.Get(proc.Context(t), k)
		require.NoError(t, err)
		require.Equal(t, k, string(value))
	}
}

// TestKillsWhileClusterForms kills nodes while the cluster forms. They form one cluster in the end,
// whatever they had stored.
func TestKillsWhileClusterForms(t *testing.T) {
	t.Parallel()
	for round := range proc.FaultCount(6) {
		c := proc.NewCluster(t, proc.Options{})
		for _, n := range c.Nodes() {
			n.Launch(t)
		}
		// Kill and restart each node, some after they have opened their stores.
		for i := range 3 {
			n := c.Node((round + i) % 3)
			if i == round%2 {
				n.AwaitStoreOpen(t)
			}
			n.Kill()
			n.Launch(t)
		}
		for _, n := range c.Nodes() {
			n.AwaitServing(t)
		}
		c.WaitConnected(t)
		require.NoError(t,
			c.Open(t).Execute(proc.Context(t), client.PutOp("a", nil), client.PutOp("b", nil), client.PutOp("c", nil)))
		for _, n := range c.Nodes() {
			n.Kill()
		}
	}
}
