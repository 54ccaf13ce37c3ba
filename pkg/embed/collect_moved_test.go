package embed_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// ruled sets a rule for keys and waits until they are where it wants them.
func ruled(t *testing.T, c *embed.Cluster, order hotshard.Order, keys ...string) {
	t.Helper()
	for i, k := range keys {
		_, err := c.Node(kv.NodeID(i%3+1)).Gateway().SetHot(soon(t), &msg.HotRule{Key: []byte(k), Order: uint32(order)}, 0)
		require.NoError(t, err)
	}
	until(t, func() string {
		r, err := c.Node(1).Gateway().Hot(soon(t))
		if err != nil {
			return err.Error()
		}
		for _, k := range keys {
			there := slices.ContainsFunc(r.Keys, func(s msg.HotKey) bool { return string(s.Key) == k && s.Since != 0 })
			if there != (order == hotshard.Pin) {
				return fmt.Sprintf("%s is on the hot shard: %v", k, there)
			}
		}
		return ""
	})
}

// rowsOf counts the versions of keys on all shards of a cluster that does not run,
// marks and tombstones among them, and the rows of moved keys.
func rowsOf(t *testing.T, c *embed.Cluster, dir string, keys []string) (versions map[string]int, movedRows int) {
	t.Helper()
	versions = map[string]int{}
	for id := kv.NodeID(1); id <= 3; id++ {
		s, err := pebblestore.Open(filepath.Join(dir, fmt.Sprintf("n%d", id)), pebblestore.Small())
		require.NoError(t, err)
		for sh := range kv.ShardID(c.Router().Shards()) {
			var rec shard.Recovered
			require.NoError(t, s.Recover(sh, rec.Add))
			movedRows += len(rec.Moved)
			for _, k := range keys {
				for at := kv.CSN(math.MaxUint64); ; {
					r := s.Read(sh, entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: []byte(k), CSN: at})
					require.NoError(t, r.Err)
					if len(r.Rows) == 0 {
						break
					}
					versions[k]++
					at = r.Rows[0].CSN - 1
				}
			}
		}
		require.NoError(t, s.Close())
	}
	return versions, movedRows
}

// TestDeletedKeysThatHaveMovedLeaveNothing: keys come, move to the hot shard and
// home, and are deleted here or there, or never were; in the end there is nothing
// of them on any shard. What is written to such a key later has a later
// version than all before.
func TestDeletedKeysThatHaveMovedLeaveNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: dir, NoSync: true,
		Protocol: embed.Protocol{Hot: hotshard.ModePinned, History: 10 * grain, HistoryEvery: grain}})
	require.NoError(t, err)
	x := &collecting{Cluster: c, t: t, dir: dir}
	do := func(i int, op msg.Op) kv.Version {
		t.Helper()
		r := execute(t, c, kv.NodeID(i%3+1), op)
		require.Nil(t, r.Err, "%v", r.Err)
		return r.Results[0].Version
	}
	put := func(i int, k string) kv.Version {
		return do(i, msg.Op{Kind: msg.OpPut, Key: []byte(k), Value: []byte("v")})
	}
	del := func(i int, k string) kv.Version { return do(i, msg.Op{Kind: msg.OpDelete, Key: []byte(k)}) }

	var all []string
	last := map[string]kv.Version{}
	for round := range 3 {
		var keys []string
		for _, kind := range []string{"there", "home", "both", "never"} {
			for i := range 2 {
				keys = append(keys, fmt.Sprintf("%s/%d/%d", kind, round, i))
			}
		}
		keys = append(keys, "again")
		for i, k := range keys {
			if k[0] != 'n' {
				v := put(i, k)
				require.Positive(t, v.Compare(last[k]), "%s: %v after %v", k, v, last[k])
			}
		}
		ruled(t, c, hotshard.Pin, keys...)
		for i, k := range keys {
			switch k[0] {
			case 't', 'a':
				put(i, k)
				last[k] = del(i+1, k)
			case 'b':
				put(i, k)
			}
		}
		ruled(t, c, hotshard.Ban, keys...)
		for i, k := range keys {
			if k[0] == 'h' || k[0] == 'b' {
				last[k] = del(i+1, k)
			}
		}
		x.awaitNotes(0, "nobody reads what was deleted")
		all = append(all, keys...)
	}
	until(t, func() string { // what has been decided is known to all
		for id := kv.NodeID(1); id <= 3; id++ {
			for _, s := range c.Node(id).ShardStats(0) {
				if s.Prepared+s.Records > 0 {
					return fmt.Sprintf("%v has %d prepared, %d records", s.Shard, s.Prepared, s.Records)
				}
			}
		}
		return ""
	})
	x.awaitNotes(0, "nobody reads what was deleted")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	require.NoError(t, c.Stop(ctx))
	versions, movedRows := rowsOf(t, c, dir, all)
	require.Empty(t, versions)
	require.Zero(t, movedRows)

	// In the next life nothing is in memory, and versions rise all the same.
	c, err = embed.StartCluster(embed.ClusterOptions{Dir: dir, NoSync: true,
		Protocol: embed.Protocol{Hot: hotshard.ModePinned, History: 10 * grain, HistoryEvery: grain}})
	require.NoError(t, err)
	for i, k := range all {
		v := put(i, k)
		require.Positive(t, v.Compare(last[k]), "%s: %v after %v", k, v, last[k])
	}
	stop, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	require.NoError(t, c.Stop(stop))
}
