package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// startLoad starts clients on all nodes that write the keys that pick returns. The returned function stops
// them and returns the number of committed transactions.
func (c *hotCluster) startLoad(clients int, pick func(r *rand.Rand) []string) (stop func() (committed int64)) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var committed atomic.Int64
	for i := range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(uint64(i), 7))
			g := c.Node(kv.NodeID(i%3 + 1)).Gateway()
			for ctx.Err() == nil {
				var ops []msg.Op
				for _, k := range pick(r) {
					ops = append(ops, msg.Op{Kind: msg.OpPut, Key: []byte(k), Value: []byte("v")})
				}
				within, done := context.WithTimeout(context.Background(), 10*time.Second)
				if g.Execute(within, gateway.Request{Ops: ops}).Err == nil {
					committed.Add(1)
				}
				done()
			}
		}()
	}
	return func() int64 {
		cancel()
		wg.Wait()
		return committed.Load()
	}
}

// keysOnDistinctShards returns n keys whose home shards differ.
func (c *hotCluster) keysOnDistinctShards(prefix string, n int) (keys []string) {
	seen := map[kv.ShardID]bool{}
	for i := 0; len(keys) < n; i++ {
		k := fmt.Sprintf("%s%d", prefix, i)
		if s := c.Router().Shard([]byte(k)); !seen[s] {
			seen[s] = true
			keys = append(keys, k)
		}
	}
	return keys
}

// hasMovedKeys reports whether a key is on the hot shard. It returns true on an error too.
func (c *hotCluster) hasMovedKeys() bool {
	reply, err := c.Node(1).Gateway().Hot(context.Background())
	return err != nil || slices.ContainsFunc(reply.Keys, func(k msg.HotKey) bool { return k.Since != 0 })
}

// TestMovedHotSpotIsFollowed: contended keys that are written together move to the hot shard within
// seconds. If the contention changes to other keys, those move as well.
func TestMovedHotSpotIsFollowed(t *testing.T) {
	c := startHot(t, hotshard.ModeAuto)
	for _, spot := range []string{"first", "second"} {
		keys := c.keysOnDistinctShards(spot, 3)
		stop := c.startLoad(24, func(r *rand.Rand) []string {
			i := r.IntN(len(keys))
			return []string{keys[i], keys[(i+1)%len(keys)], fmt.Sprintf("cold%d", r.IntN(10_000))}
		})
		begin := time.Now()
		for _, k := range keys {
			c.awaitOnHotShard(k)
		}
		t.Logf("%s: moved after %v", spot, time.Since(begin).Round(10*time.Millisecond))
		stop()
	}
}

// TestUniformLoadMovesNoKey: without contention no key moves.
func TestUniformLoadMovesNoKey(t *testing.T) {
	c := startHot(t, hotshard.ModeAuto)
	stop := c.startLoad(24, func(r *rand.Rand) []string {
		return []string{fmt.Sprintf("k%d", r.IntN(100_000)), fmt.Sprintf("k%d", r.IntN(100_000))}
	})
	defer stop()
	require.Never(t, c.hasMovedKeys, 3*time.Second, 100*time.Millisecond)
	require.Greater(t, stop(), int64(100), "the load commits")
}
