package embed_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// fails has a user's conditions fail on the key "taken", more often than a shard
// remembers, with ids of the present or from ahead.
func fails(t *testing.T, g *gateway.Gateway, user kv.Account, ahead time.Duration) {
	const callers, each = 64, 550
	require.Greater(t, callers*each, 32768)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range each {
				id := kv.TxnID{Time: time.Now().Add(ahead).UnixNano(), Rand: uint64(caller*each + i)}
				op := msg.Op{Kind: msg.OpPut, Key: []byte("taken"), Value: []byte("y"), Expect: msg.ExpectAbsent}
				r := g.Execute(soon(t), gateway.Request{ID: id, Ops: []msg.Op{op}, How: txn.TxnOptions{User: user}})
				if r.Err == nil || r.Err.Kind != kv.KindConditionFailed {
					t.Errorf("a put on the condition that there is nothing: %v", r.Err)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestAStormOfAborts: while a user's conditions fail, with ids of the present and with ids
// from ahead, updates commit that began half a minute ago, his own and others', a key is
// moved, and the node writes down who its users are.
func TestAStormOfAborts(t *testing.T) {
	t.Parallel()
	c := start(t, embed.ClusterOptions{Nodes: 1, Shards: 1, NoSync: true,
		Protocol: embed.Protocol{Hot: hotshard.ModePinned}})
	g := c.Node(1).Gateway()
	put := func(id kv.TxnID, user kv.Account, key string) *kv.Error {
		return g.Execute(soon(t), gateway.Request{ID: id,
			Ops: []msg.Op{{Kind: msg.OpPut, Key: []byte(key), Value: []byte("v")}}, How: txn.TxnOptions{User: user}}).Err
	}
	for _, k := range []string{"taken", "mine", "now", "ahead"} {
		require.Nil(t, put(kv.TxnID{}, 0, k))
	}
	const eve, alice kv.Account = 1, 2
	for what, ahead := range map[string]time.Duration{"now": 0, "ahead": 9*time.Minute + 50*time.Second} {
		old := kv.TxnID{Time: time.Now().Add(-30 * time.Second).UnixNano(), Rand: 1}
		var open []*gateway.Tx
		for _, user := range []kv.Account{eve, alice} {
			tx, err := g.Begin(soon(t), gateway.TxOptions{ID: kv.TxnID{Time: old.Time, Rand: uint64(user)}, Attempt: 1,
				How: txn.TxnOptions{User: user}})
			require.NoError(t, err)
			_, err = tx.Do(soon(t), []msg.Op{{Kind: msg.OpGet, Key: []byte("mine" + what)}})
			require.NoError(t, err)
			open = append(open, tx)
		}
		fails(t, g, eve, ahead)
		for i, tx := range open {
			_, err := tx.Do(soon(t), []msg.Op{{Kind: msg.OpPut, Key: []byte{byte(i)}, Value: []byte("v")}})
			require.NoError(t, err)
			require.Nil(t, tx.Commit(soon(t)).Err, "it read before the storm, and commits after it")
		}
		for user := range alice {
			require.Nil(t, put(kv.TxnID{Time: old.Time, Rand: 10 + uint64(user)}, user, "mine"))
		}
		own := gateway.Request{Ops: []msg.Op{{Kind: msg.OpPut, Key: []byte(kv.SystemStart + "table"), Value: []byte("v")}},
			Internal: true}
		require.Nil(t, g.Execute(soon(t), own).Err)
		moves(t, g, what)
	}
}

// moves has a key moved to the hot shard, and waits until it is there.
func moves(t *testing.T, g *gateway.Gateway, key string) {
	_, err := g.SetHot(soon(t), &msg.HotRule{Key: []byte(key), Order: uint32(hotshard.Pin)}, 0)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		r, err := g.Hot(context.Background())
		return err == nil && slices.ContainsFunc(r.Keys, func(s msg.HotKey) bool {
			return string(s.Key) == key &&
				s.Since != 0
		})
	}, waitTimeout, 10*time.Millisecond, "the key %q does not move", key)
}
