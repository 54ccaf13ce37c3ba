package embed_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// freeAddrs returns addresses of the loopback on which nothing listens.
func freeAddrs(t *testing.T, n int) (addrs []string) {
	t.Helper()
	var held []net.Listener
	for range n {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		held, addrs = append(held, lis), append(addrs, lis.Addr().String())
	}
	for _, lis := range held {
		require.NoError(t, lis.Close())
	}
	return addrs
}

// startTogether starts nodes at the same time, each with the list of all.
func startTogether(ctx context.Context, addrs []string, opts ...embed.Options) ([]*embed.Instance, []error) {
	nodes, errs := make([]*embed.Instance, len(opts)), make([]error, len(opts))
	var all sync.WaitGroup
	for i, o := range opts {
		o.Listen, o.Join, o.CacheBytes = addrs[i], strings.Join(addrs, ","), 16<<20
		all.Go(func() { nodes[i], errs[i] = embed.Start(ctx, o) })
	}
	all.Wait()
	return nodes, errs
}

// TestMembersAgreeOnReplicas: otherwise both end, and name both numbers. They have begun no stores, so they start when
// the flags are right.
func TestMembersAgreeOnReplicas(t *testing.T) {
	t.Parallel()
	addrs, dirs := freeAddrs(t, 2), []string{t.TempDir(), t.TempDir()}
	_, errs := startTogether(soon(t), addrs, embed.Options{Dir: dirs[0], Shards: 2, Replicas: 3},
		embed.Options{Dir: dirs[1], Shards: 2})
	for i, err := range errs {
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
		for _, say := range []string{addrs[0] + " wants 3", addrs[1] + " wants 1", "replicas of each shard",
			"the same --replicas"} {
			require.ErrorContains(t, err, say)
		}
		require.NoDirExists(t, filepath.Join(dirs[i], "data"))
		require.NoDirExists(t, filepath.Join(dirs[i], "raft"))
	}

	// Two nodes have one replica of each shard, whatever is wanted.
	nodes, errs := startTogether(soon(t), addrs, embed.Options{Dir: dirs[0], Shards: 2, Replicas: 3},
		embed.Options{Dir: dirs[1], Shards: 2, Replicas: 3})
	for i := range nodes {
		require.NoError(t, errs[i])
		require.NoError(t, nodes[i].Stop())
		require.NoDirExists(t, filepath.Join(dirs[i], "raft"))
	}
}

// TestMembersAgreeOnLeaderLeases: otherwise both end. A formed cluster keeps what it has, and a node with another flag
// does not start, instead of relying on leases of which its operator believes that they are off, or the reverse.
func TestMembersAgreeOnLeaderLeases(t *testing.T) {
	t.Parallel()
	addrs, dirs := freeAddrs(t, 2), []string{t.TempDir(), t.TempDir()}
	_, errs := startTogether(soon(t), addrs, embed.Options{Dir: dirs[0], Shards: 2, LeaderLeases: "off"},
		embed.Options{Dir: dirs[1], Shards: 2})
	for _, err := range errs {
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
		require.ErrorContains(t, err, addrs[0]+" has --leader-leases=off, and "+addrs[1]+" has not")
		require.ErrorContains(t, err, "the same --leader-leases")
	}
	start := func(flag string) error {
		i, err := embed.Start(soon(t), embed.Options{Dir: dirs[0], Listen: "127.0.0.1:0", Shards: 1, CacheBytes: 16 << 20,
			LeaderLeases: flag})
		if err == nil {
			err = i.Stop()
		}
		return err
	}
	require.ErrorContains(t, start("no"), "use on or off")
	require.NoError(t, start("off"))
	require.NoError(t, start(""))
	require.ErrorContains(t, start("on"), "--leader-leases is on, and the cluster was formed with off")
	require.NoError(t, start("off"))
}

func TestReplicasOfAFormedClusterStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, replicas := range []int{1, 3, 0} {
		i, err := embed.Start(soon(t), embed.Options{Dir: dir, Listen: "127.0.0.1:0", Shards: 1, Replicas: replicas,
			CacheBytes: 16 << 20})
		require.NoError(t, err, "--replicas %d", replicas)
		require.NoError(t, i.Stop())
	}
	require.NoDirExists(t, filepath.Join(dir, "raft"))
}

func TestEvenReplicasAreRefused(t *testing.T) {
	for _, n := range []int{-1, 2, 4, 8, 9} {
		_, err := embed.Start(soon(t), embed.Options{Dir: filepath.Join(t.TempDir(), "never"), Replicas: n})
		require.Equal(t, kv.KindInvalid, kv.KindOf(err))
		require.ErrorContains(t, err, "use 1, 3, 5 or 7")
		_, err = embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), Replicas: n})
		require.ErrorContains(t, err, "use 1, 3, 5 or 7")
	}
}

// TestLeftStoresAreRefusedBeforeTheMeeting: a new node finds what a node without its catalog has left.
func TestLeftStoresAreRefusedBeforeTheMeeting(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "raft"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "raft", "MANIFEST"), []byte("x"), 0o600))
	addrs := freeAddrs(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := embed.Start(ctx, embed.Options{Dir: dir, Listen: addrs[0], Join: strings.Join(addrs, ","), Replicas: 3})
	require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "raft has files of an earlier node, but there is no catalog")
	require.NoError(t, ctx.Err(), "it has not waited for the others")
}

// TestANodeThatWaitsForTheOthersIsDrained: the drain reports that it stops, and it
// does, without the others, and releases its directory.
func TestANodeThatWaitsForTheOthersIsDrained(t *testing.T) {
	addr, dir := freeAddrs(t, 1)[0], t.TempDir()
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	go func() {
		_, err := embed.Start(ctx, embed.Options{Dir: dir, Listen: addr, Join: addr + ",127.0.0.1:1", Shards: 1})
		ended <- err
	}()
	var db *client.DB
	require.Eventually(t, func() bool {
		var err error
		db, err = client.Open(ctx, []string{addr})
		return err == nil
	}, waitTimeout, 10*time.Millisecond)
	defer func() { require.NoError(t, db.Close()) }()
	var phase string
	require.NoError(t, admin.New(db).Drain(soon(t), 0, func(p admin.DrainProgress) { phase = p.Phase }))
	require.Equal(t, "stopping", phase)
	require.ErrorIs(t, <-ended, embed.ErrDrained)
	alone, err := embed.Start(soon(t), embed.Options{Dir: dir, Listen: addr, Shards: 1})
	require.NoError(t, err)
	require.NoError(t, alone.Stop())
}
