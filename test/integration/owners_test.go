package integration

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// stores are the stores of a stopped cluster, by shard.
type stores struct {
	t      *testing.T
	router *hotshard.Router
	of     map[kv.ShardID]*pebblestore.Store
	rec    map[kv.ShardID]*shard.Recovered
}

func openStores(t *testing.T, c *proc.Cluster) *stores {
	t.Helper()
	r, err := hotshard.NewRouter(c.Shards()-1, len(c.Nodes()), nil)
	require.NoError(t, err)
	s := &stores{t: t, router: r, of: map[kv.ShardID]*pebblestore.Store{}, rec: map[kv.ShardID]*shard.Recovered{}}
	for _, n := range c.Nodes() {
		st, err := pebblestore.Open(filepath.Join(n.Dir, "data"), pebblestore.Small())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, st.Close()) })
		for id := range kv.ShardID(c.Shards()) {
			rec := &shard.Recovered{}
			require.NoError(t, st.Recover(id, rec.Add))
			if rec.State.Incarnation > 0 {
				require.Nil(t, s.of[id], "%v is in two stores", id)
				s.of[id], s.rec[id] = st, rec
			}
		}
	}
	require.Len(t, s.of, c.Shards())
	return s
}

// newest returns the newest version of a key on a shard, zero if there is none.
func (s *stores) newest(id kv.ShardID, key string) entry.Value {
	s.t.Helper()
	r := s.of[id].Read(id,
		entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: []byte(key), CSN: math.MaxUint64})
	require.NoError(s.t, r.Err)
	if len(r.Rows) == 0 {
		return entry.Value{}
	}
	v, err := entry.DecodeValue(r.Rows[0].Value)
	require.NoError(s.t, err)
	return v
}

// checkOwners requires that nothing is in flight, that every key is on exactly one shard, that its home
// shard and the hot shard agree on which, and that it has there the version that clients read last.
func (s *stores) checkOwners(keys []string, expected map[string]client.Entry) {
	s.t.Helper()
	hot := s.router.HotShard()
	moved := map[string]bool{}
	for id, rec := range s.rec {
		require.Empty(s.t, rec.Prepared, "%v", id)
		require.Empty(s.t, rec.Records, "%v", id)
		for _, m := range rec.Moved {
			require.Equal(s.t, hot, id, "%s was moved to a shard that is not the hot shard", m.Key)
			moved[string(m.Key)] = true
		}
	}
	s.t.Logf("%d of %d keys are on the hot shard", len(moved), len(keys))
	for key := range moved {
		require.Contains(s.t, keys, key)
	}
	for _, key := range keys {
		home := s.router.Shard([]byte(key))
		owner, other := home, hot
		if moved[key] {
			owner, other = hot, home
		}
		target, hasTombstone := s.newest(home, key).MovedTo()
		require.Equal(s.t, moved[key], hasTombstone, "%s is on the hot shard exactly if its home shard has a tombstone", key)
		if hasTombstone {
			require.Equal(s.t, hot, target, key)
		}
		require.False(s.t, s.newest(other, key).Exists(), "%s is on %v, and on %v", key, owner, other)
		for id := range s.of {
			if id != home && id != hot {
				require.Zero(s.t, s.newest(id, key), "%s has a version on %v", key, id)
			}
		}
		v := s.newest(owner, key)
		read, exists := expected[key]
		require.Equal(s.t, exists, v.Exists(), "%s exists", key)
		if exists {
			require.Equal(s.t, read.Version.String(), v.Version.String(), "%s", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(expected)) {
		require.Contains(s.t, keys, key, fmt.Sprintf("no client writes %s", key))
	}
}
