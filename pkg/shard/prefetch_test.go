package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
)

// movedKeys are the leaders of a hot shard with n moved keys, g0 to g(n-1).
type movedKeys struct {
	*leaders
	moved []contention.MovedRow
	// reads are the keys that the shard has read since the last change of leader.
	reads []string
}

func newMovedKeys(t *testing.T, n, cacheBytes int) *movedKeys {
	f := &movedKeys{}
	for i := range n {
		f.moved = append(f.moved, contention.MovedRow{Key: fmt.Appendf(nil, "g%03d", i)})
	}
	f.leaders = newLeadersWith(t, func(c *shard.Config) {
		c.Lease, c.CacheBytes = 2*time.Second, cacheBytes
		c.Heat = shard.HeatConfig{Every: time.Hour, Nodes: 1, Node: 1}
	})
	f.shards[0].OnOutput = func(out *shard.Output) {
		for i := range out.Reads {
			if out.Reads[i].Table == entry.TableVersion {
				f.reads = append(f.reads, string(out.Reads[i].Key))
			}
		}
	}
	f.changeLeader(nil)
	return f
}

// changeLeader has the next leader begin with these rules.
func (f *movedKeys) changeLeader(rules []contention.RuleRow) {
	f.reads, f.shards[0].Reads = nil, nil
	csn := f.machine().CSN()
	f.restartWith(0, func(rec *shard.Recovered) {
		rec.Replica, rec.Moved, rec.Rules = &shard.Replica{CSN: csn}, f.moved, rules
		rec.State.Newest, rec.State.Ahead = -1, nil // no id is looked up
	})
	f.at(time.Duration(f.now))
}

func TestFirstTransactionOfNewLeaderFindsMovedKeys(t *testing.T) {
	f := newMovedKeys(t, 3, 0)
	require.True(t, f.put(1, "g001"))
	f.changeLeader([]contention.RuleRow{
		{Key: []byte("khot"), HotRule: entry.HotRule{Order: uint32(hotshard.Pin)}},
		{Key: []byte("kgone"), HotRule: entry.HotRule{Order: uint32(hotshard.Pin)}},
		{Key: []byte("kcold"), HotRule: entry.HotRule{Order: uint32(hotshard.Ban)}},
		{Key: []byte("phot"), HotRule: entry.HotRule{Order: uint32(hotshard.Pin)}},
	})
	require.Equal(t, []string{"g000", "g001", "g002", "hot"}, f.reads, "gone has its home on another shard")
	require.NoError(t, f.machine().CheckIdle())
	f.reads = nil
	for i, k := range []string{"g000", "g001", "g002", "hot"} {
		require.True(t, f.put(int64(2+i), k))
	}
	require.Empty(t, f.reads)
	require.True(t, f.put(9, "cold"))
	require.Equal(t, []string{"cold"}, f.reads)
}

func TestShardWithOneReplicaPrefetchesNothing(t *testing.T) {
	f := newMovedKeys(t, 3, 0)
	f.restartWith(0, func(rec *shard.Recovered) { rec.Moved, f.reads = f.moved, nil })
	require.Empty(t, f.reads)
}

func TestPrefetchIsBounded(t *testing.T) {
	f := newMovedKeys(t, 600, 0)
	f.shards[0].Held = true
	f.changeLeader(nil)
	require.Len(t, f.shards[0].Reads, 8, "in flight at a time")
	for len(f.shards[0].Reads) > 0 {
		_, err := f.shards[0].Answer(nil)
		require.NoError(t, err)
		require.LessOrEqual(t, len(f.shards[0].Reads), 8)
	}
	require.Len(t, f.reads, 512)

	f = newMovedKeys(t, 600, 20_000)
	f.changeLeader(nil)
	require.InDelta(t, 10_000, f.machine().Status(0).KeyBytes, 3000, "half of the cache")
	f = newMovedKeys(t, 600, 1)
	f.changeLeader(nil)
	require.Empty(t, f.reads)
}

// TestTransactionJoinsPrefetch has transactions need a key that is read: one waits for that read, and one ends before
// it. A read that fails is that of the transaction alone.
func TestTransactionJoinsPrefetch(t *testing.T) {
	f := newMovedKeys(t, 20, 0)
	f.shards[0].Held = true
	f.changeLeader(nil)
	require.False(t, f.put(1, "g000"))
	require.False(t, f.put(2, "g001"))
	e := msg.ToShard(0)
	e.Body = &msg.CancelRequest{Txn: nthTxn(2), CommitID: kv.CommitID{Gateway: 1, Number: 2},
		Incarnation: f.machine().Incarnation()}
	f.send(e)
	require.False(t, f.answer().Committed, "it was cancelled")
	require.Len(t, f.shards[0].Reads, 8, "no read of their own, and none is dropped")
	sent, err := f.shards[0].Answer(nil)
	require.NoError(t, err)
	f.send(sent...)
	require.True(t, f.answer().Committed)
	require.Len(t, f.shards[0].Reads, 8)
	_, err = f.shards[0].Answer(kv.Errorf(kv.KindCorrupt, "a block without its checksum"))
	require.NoError(t, err)
	require.Len(t, f.shards[0].Reads, 4, "the last ones")
	require.False(t, f.put(3, "g008"))
	require.Len(t, f.shards[0].Reads, 5, "it reads the key again")
}
