package embed_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/catalog"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// restartable is a cluster of two nodes as processes are, each with a catalog.
// The hot shard is on node 2.
type restartable struct {
	t     *testing.T
	addrs []string
	dirs  []string
	nodes []*embed.Instance
	logs  [2]journal
}

// journal is what a node logs. It may be read while the node runs.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

const restartableShards = 5

func startRestartable(t *testing.T) *restartable {
	c := &restartable{t: t, nodes: make([]*embed.Instance, 2)}
	var held []net.Listener
	for i := range c.nodes {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		held = append(held, lis)
		c.addrs = append(c.addrs, lis.Addr().String())
		c.dirs = append(c.dirs, filepath.Join(t.TempDir(), fmt.Sprint(i)))
	}
	for _, lis := range held {
		require.NoError(t, lis.Close())
	}
	var both sync.WaitGroup
	for i := range c.nodes {
		both.Go(func() { c.start(i) })
	}
	both.Wait()
	require.False(t, t.Failed())
	c.meet()
	t.Cleanup(func() {
		for i := range c.nodes {
			c.stop(i)
		}
	})
	return c
}

func (c *restartable) start(i int) {
	n, err := c.startOn(i, c.dirs[i])
	if err != nil {
		c.t.Error(err)
		return
	}
	c.nodes[i] = n
}

// startOn starts a node on another directory than its own.
func (c *restartable) startOn(i int, dir string) (*embed.Instance, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return embed.Start(ctx, embed.Options{Dir: dir, Listen: c.addrs[i], Join: strings.Join(c.addrs, ","),
		Shards: restartableShards, CacheBytes: 16 << 20, Protocol: embed.Protocol{Hot: hotshard.ModePinned},
		DrainTimeout: 5 * time.Second, Log: slog.New(slog.NewTextHandler(&c.logs[i],
			&slog.HandlerOptions{Level: slog.LevelWarn}))})
}

// meet waits until all nodes reach all ordinary shards, with keys that are of no
// other use.
func (c *restartable) meet() {
	c.t.Helper()
	seen := map[kv.ShardID]bool{}
	for i := 0; len(seen) < restartableShards; i++ {
		k := fmt.Appendf(nil, "other/%d", i)
		if s := c.router().Shard(k); seen[s] {
			continue
		} else {
			seen[s] = true
		}
		for _, n := range c.nodes {
			require.Eventually(c.t, func() bool {
				return n.Node().Gateway().Execute(soon(c.t), gateway.Request{Ops: []msg.Op{putOf(k, "x")}}).Err == nil
			}, 20*time.Second, 10*time.Millisecond)
		}
	}
}

func (c *restartable) restart(i int, between func()) {
	c.t.Helper()
	c.stop(i)
	between()
	c.start(i)
	require.False(c.t, c.t.Failed())
	c.meet()
}

func (c *restartable) stop(i int) {
	c.t.Helper()
	if n := c.nodes[i]; n != nil {
		c.nodes[i] = nil
		require.NoError(c.t, n.Stop())
	}
}

// of is the place of a node by its number, or of the other.
func (c *restartable) of(id kv.NodeID) int {
	for i, n := range c.nodes {
		if n.NodeID() == id {
			return i
		}
	}
	return -1
}

func (c *restartable) router() *hotshard.Router {
	r, err := hotshard.NewRouter(restartableShards, 2, nil)
	require.NoError(c.t, err)
	return r
}

// away names keys that are at home on node 1, and on node 2, but not on the hot
// shard.
func (c *restartable) away(n int) (keys [][]byte) {
	for i := 0; len(keys) < n; i++ {
		if k := fmt.Appendf(nil, "key/%d", i); c.router().Node(c.router().Shard(k)) == kv.NodeID(len(keys)%2+1) {
			keys = append(keys, k)
		}
	}
	return keys
}

func (c *restartable) do(i int, ops ...msg.Op) gateway.Response {
	c.t.Helper()
	r := c.nodes[i].Node().Gateway().Execute(soon(c.t), gateway.Request{Ops: ops})
	require.Nil(c.t, r.Err, "%v", r.Err)
	return r
}

// sentOn says how often a transaction came to a shard that a key was not on.
func (c *restartable) sentOn(i int, ops ...msg.Op) (n int) {
	c.t.Helper()
	for _, why := range c.do(i, ops...).Aborts {
		if why == msg.ReasonMoved {
			n++
		}
	}
	return n
}

func (c *restartable) pin(i int, order hotshard.Order, keys ...[]byte) {
	c.t.Helper()
	for _, k := range keys {
		_, err := c.nodes[i].Node().Gateway().SetHot(soon(c.t), &msg.HotRule{Key: k, Order: uint32(order)}, 0)
		require.NoError(c.t, err)
	}
	require.Eventually(c.t, func() bool {
		r, err := c.nodes[i].Node().Gateway().Hot(soon(c.t))
		there := 0
		for k := range keys {
			if err == nil && c.shardOf(r, keys[k]) == c.router().HotShard() {
				there++
			}
		}
		return err == nil && (order == hotshard.Pin) == (there == len(keys)) && (order == hotshard.Pin || there == 0)
	}, 20*time.Second, 20*time.Millisecond)
}

func (c *restartable) shardOf(r *msg.HotStatusResponse, key []byte) kv.ShardID {
	for i := range r.Keys {
		if bytes.Equal(r.Keys[i].Key, key) {
			return r.Keys[i].Shard
		}
	}
	return c.router().Shard(key)
}

func putOf(k []byte, v string) msg.Op { return msg.Op{Kind: msg.OpPut, Key: k, Value: []byte(v)} }

// TestAfterARestartMovedKeysAreFoundAtOnce: the gateway of a node that has
// restarted knows from its catalog what the hot shard has not sent again.
func TestAfterARestartMovedKeysAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	c := startRestartable(t)
	keys := c.away(4)
	at, hot := c.of(1), c.of(2)
	for _, k := range keys {
		c.do(at, putOf(k, "0"))
	}
	c.pin(hot, hotshard.Pin, keys...)
	c.restart(at, func() {})
	for _, k := range keys {
		for range 30 {
			require.Zero(t, c.sentOn(at, putOf(k, "1")), "%s", k)
		}
	}

	// Without its catalog's help it is sent on, once for each key: so the above
	// is due to that.
	c.restart(at, func() { c.spoil(at, 1) })
	moved := 0
	for _, k := range keys {
		moved += c.sentOn(at, putOf(k, "2"))
	}
	require.Equal(t, len(keys), moved)
	for i := range c.nodes {
		for _, k := range keys {
			require.Equal(t, "2", string(c.do(i, msg.Op{Kind: msg.OpGet, Key: k}).Results[0].Value))
		}
	}
}

// spoil gives a node that does not run a hot map that is newer by so much.
func (c *restartable) spoil(i int, newer uint64, keys ...[]byte) {
	c.t.Helper()
	cat, err := catalog.Open(c.dirs[i])
	require.NoError(c.t, err)
	h, err := cat.HotMap()
	require.NoError(c.t, err)
	require.NotNil(c.t, h)
	require.NoError(c.t, cat.SetHotMap(h.Epoch+newer, keys))
	require.NoError(c.t, cat.Close())
}

// TestAWrongHotMapDoesNoHarm: whatever a gateway believes, it is put right by the
// shards, once for each key, and all that is read and written is right.
func TestAWrongHotMapDoesNoHarm(t *testing.T) {
	t.Parallel()
	c := startRestartable(t)
	keys := c.away(8)
	at, hot := c.of(1), c.of(2)
	there, home := keys[:4], keys[4:]
	for _, k := range keys {
		c.do(at, putOf(k, "0"))
	}
	c.pin(hot, hotshard.Pin, there...)
	for round, newer := range []uint64{1, 1 << 50} {
		c.restart(at, func() { c.spoil(at, newer, home...) }) // all of it is wrong
		var readers sync.WaitGroup
		readers.Go(func() { // an open reader is sent on too
			tx, err := c.nodes[at].Node().Gateway().Begin(soon(t), gateway.TxOptions{ReadOnly: true})
			if err != nil {
				t.Error(err)
				return
			}
			for _, k := range keys {
				if rs, err := tx.Do(soon(t), []msg.Op{{Kind: msg.OpGet, Key: k}}); err != nil ||
					string(rs[0].Value) != fmt.Sprint(2*round) {
					t.Errorf("%s: %v, %v", k, rs, err)
				}
			}
			if r := tx.Commit(soon(t)); r.Err != nil {
				t.Error(r.Err)
			}
		})
		readers.Wait()
		for step := range 2 {
			v := fmt.Sprint(2*round + step + 1)
			var puts, gets []msg.Op
			for _, k := range keys {
				puts, gets = append(puts, putOf(k, v)), append(gets, msg.Op{Kind: msg.OpGet, Key: k})
			}
			if step == 0 {
				for _, op := range puts {
					c.do(at, op)
				}
			} else {
				c.do(at, puts...)
			}
			for i := range c.nodes {
				for _, r := range c.do(i, gets...).Results {
					require.Equal(t, v, string(r.Value))
				}
				all := c.do(i, msg.Op{Kind: msg.OpScan, Key: []byte("key/"), End: []byte("key0"), Limit: 1000})
				require.Len(t, all.Results[0].Pairs, len(keys), "each is found once")
			}
			for _, k := range keys {
				moved := 0
				for range 30 {
					moved += c.sentOn(at, putOf(k, v))
				}
				require.LessOrEqual(t, moved, 8, "each of the gateway's machines is told once")
			}
		}
	}
}

// TestADamagedHotMapIsPassedOver: the node says so, and starts.
func TestADamagedHotMapIsPassedOver(t *testing.T) {
	t.Parallel()
	c := startRestartable(t)
	keys := c.away(2)
	at, hot := c.of(1), c.of(2)
	c.do(at, putOf(keys[0], "0"))
	c.pin(hot, hotshard.Pin, keys...)
	c.restart(at, func() {
		path := filepath.Join(c.dirs[at], catalog.FileName)
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		damaged := bytes.ReplaceAll(file, []byte(`","Epoch":`), []byte(`","epoch":`))
		require.NotEqual(t, file, damaged)
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
	})
	require.Equal(t, "0", string(c.do(at, msg.Op{Kind: msg.OpGet, Key: keys[0]}).Results[0].Value))
	require.Contains(t, c.logs[at].String(), "saved hot map ignored")
	require.Contains(t, c.logs[at].String(), "the checksum of its hotmap is wrong")
}
