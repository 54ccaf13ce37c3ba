package embed_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
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
