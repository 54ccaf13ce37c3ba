package hotshard

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// The slot of a key determines where its data is stored. If one of these changes, existing stores lose
// their keys.
func TestSlotsNeverChange(t *testing.T) {
	for _, test := range []struct {
		key  string
		slot int
	}{
		{"a", 3675}, {"key", 820}, {"user:1", 243}, {"user:2", 1290}, {"{user:1}:cart", 243},
		{"account/0000000001", 3240}, {"\x00", 1896}, {"\xff\xff\xff", 1116}, {"{}x", 1125}, {"zeta-000000000017", 2488},
	} {
		require.Equal(t, test.slot, kv.Slot([]byte(test.key)), "%q", test.key)
	}
}

// Nor does the mapping from slots to shards change, for the default of 8 shards and for numbers that do not
// divide the slots.
func TestPlacementNeverChanges(t *testing.T) {
	for shards, want := range map[int]string{
		1: "0 0 0 0 0 0", 3: "2 0 0 0 2 1", 8: "7 1 0 2 6 3", 100: "89 20 5 31 79 46", 1023: "917 204 60 322 809 473",
	} {
		r, err := NewRouter(shards, 1, nil)
		require.NoError(t, err)
		got := ""
		for _, k := range []string{"a", "key", "user:1", "user:2", "account/0000000001", "\x00"} {
			got += fmt.Sprint(uint16(r.Shard([]byte(k))), " ")
		}
		require.Equal(t, want, got[:len(got)-1], "%d shards", shards)
	}
}

func TestTagIsPartInBraces(t *testing.T) {
	for _, test := range []struct{ name, key, tag string }{
		{"without braces: the whole key", "user:1", "user:1"},
		{"the part in braces", "{user:1}:cart", "user:1"},
		{"braces at the end", "cart:{user:1}", "user:1"},
		{"an empty tag does not count", "{}:cart", "{}:cart"},
		{"a tag after an empty tag does not count", "{}{user:1}", "{}{user:1}"},
		{"an opening brace only", "{user:1", "{user:1"},
		{"a closing brace only", "user:1}", "user:1}"},
		{"braces in reverse order", "}user:1{", "}user:1{"},
		{"only the first counts", "{a}{b}", "a"},
		{"up to the first closing brace", "{{a}}", "{a"},
		{"any bytes", "x{\x00\xff}y", "\x00\xff"},
	} {
		require.Equal(t, test.tag, string(kv.Tag([]byte(test.key))), test.name)
	}
}

func TestKeysWithOneTagShareShard(t *testing.T) {
	r, err := NewRouter(64, 3, nil)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		tag := rapid.StringN(1, 8, -1).Filter(func(s string) bool { return !bytes.ContainsRune([]byte(s), '}') }).Draw(t,
			"tag")
		before := rapid.StringMatching(`[a-z:]*`).Draw(t, "before")
		after := rapid.String().Draw(t, "after")
		require.Equal(t, r.Shard([]byte("{"+tag+"}")), r.Shard([]byte(before+"{"+tag+"}"+after)))
	})
}

// Every key is on exactly one shard: on the hot shard if it is in the hot map, else on an ordinary one.
func TestKeyIsOnOneShard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 1, 6), 1, 20).Draw(t, "keys")
		hot := keys[:rapid.IntRange(0, len(keys)).Draw(t, "hot")]
		shards, nodes := rapid.IntRange(1, kv.MaxShards-1).Draw(t, "shards"), rapid.IntRange(1, 7).Draw(t, "nodes")
		r, err := NewRouter(shards, nodes, hot)
		require.NoError(t, err)
		require.Equal(t, shards+1, r.Shards())
		for _, k := range keys {
			s := r.Shard(k)
			isHot := slices.ContainsFunc(hot, func(h []byte) bool { return bytes.Equal(h, k) })
			require.Equal(t, isHot, s == r.HotShard(), "%q", k)
			require.Less(t, int(s), r.Shards())
			require.Equal(t, s, r.Shard(bytes.Clone(k)), "equal bytes")
			n := r.Node(s)
			require.True(t, n >= 1 && int(n) <= r.Nodes())
		}
		require.True(t, slices.IsSortedFunc(r.HotKeys(), bytes.Compare))
		require.LessOrEqual(t, len(r.HotKeys()), len(hot))
		for s := range kv.ShardID(r.Shards() - 1) {
			require.True(t, r.Hotter(r.HotShard(), s) && !r.Hotter(s, r.HotShard()), "nothing is hotter than the hot shard")
		}
	})
}

// Slots are assigned in equal runs: the numbers of slots of two shards differ by at most one.
func TestSlotsAreSpreadEvenly(t *testing.T) {
	for _, shards := range []int{1, 2, 3, 7, 8, 100, 1023} {
		r, err := NewRouter(shards, 1, nil)
		require.NoError(t, err)
		slots := map[kv.ShardID]int{}
		keyOf := map[int][]byte{}
		for i := 0; len(keyOf) < kv.Slots; i++ {
			k := fmt.Appendf(nil, "k%d", i)
			keyOf[kv.Slot(k)] = k
		}
		for _, k := range keyOf {
			slots[r.Shard(k)]++
		}
		require.Len(t, slots, shards, "every shard has some")
		for s, n := range slots {
			require.InDelta(t, float64(kv.Slots)/float64(shards), float64(n), 1, "shard %v of %d", s, shards)
		}
	}
}

// The keyspace of a node is the share of the slots on its shards. The hot shard is home to no key.
func TestKeyspaceOfNodeIsItsSlots(t *testing.T) {
	for _, shards := range []int{1, 2, 5, 7, 100} {
		r, err := NewRouter(shards, 3, nil)
		require.NoError(t, err)
		slots, seen := map[kv.NodeID]int{}, map[int]bool{}
		for i := 0; len(seen) < kv.Slots; i++ {
			k := fmt.Appendf(nil, "k%d", i)
			if s := kv.Slot(k); !seen[s] {
				seen[s] = true
				slots[r.Node(r.Shard(k))]++
			}
		}
		var all []kv.ShardID
		for n := range kv.NodeID(3) {
			d := r.Unavailable(n+1, "h:1")
			require.InDelta(t, 100*float64(slots[n+1])/kv.Slots, d.Keyspace, 1e-9, "%d shards, node %d", shards, n+1)
			require.Equal(t, d.Hot, r.Node(r.HotShard()) == n+1)
			for _, s := range d.Shards {
				require.Equal(t, n+1, r.Node(s))
			}
			if d.Hot {
				require.Equal(t, r.HotShard(), d.Shards[len(d.Shards)-1])
			}
			all = append(all, d.Shards...)
		}
		require.Len(t, all, r.Shards())
		require.InDelta(t, 100, r.Keyspace(all), 1e-9)
	}
}

func TestShardsAreSpreadEvenly(t *testing.T) {
	r, err := NewRouter(8, 3, nil)
	require.NoError(t, err)
	count := map[kv.NodeID]int{}
	for s := range kv.ShardID(r.Shards()) {
		count[r.Node(s)]++
	}
	require.Equal(t, map[kv.NodeID]int{1: 3, 2: 3, 3: 3}, count)
}

func TestInvalidRouterIsRejected(t *testing.T) {
	for _, test := range []struct {
		shards, nodes int
		hot           string
		text          string
	}{
		{0, 1, "k", "0 shards; the range is 1 to 1023"},
		{kv.MaxShards, 1, "k", "1024 shards; the range is 1 to 1023"},
		{1, 0, "k", "0 nodes; the range is 1 to 128"},
		{1, kv.MaxNodes + 1, "k", "129 nodes"},
		{1, 1, "", "hot key: Invalid: the key is empty"},
	} {
		_, err := NewRouter(test.shards, test.nodes, [][]byte{[]byte(test.hot)})
		require.ErrorContains(t, err, test.text)
		require.Equal(t, kv.KindInvalid, kv.KindOf(err))
	}
}

func TestShardsAreWhereTheTableSays(t *testing.T) {
	table := kv.Placement{Nodes: 4, Shards: []kv.NodeID{3, 1, 3, 4}}
	r, err := NewPlacedRouter(table, nil)
	require.NoError(t, err)
	require.Equal(t, []kv.ShardID{0, 2}, r.ShardsOf(3))
	require.Empty(t, r.ShardsOf(2), "a node without shards")
	require.EqualValues(t, 3, r.HotShard())
	require.EqualValues(t, 4, r.Node(3))
	require.Zero(t, r.Node(4), "no such shard")
	require.Equal(t, 4, r.Nodes())
	require.Equal(t, kv.Placement{Nodes: 3, Shards: []kv.NodeID{1, 2, 3, 1, 2}}, kv.FirstPlacement(5, 3))
	table.Shards[1] = 5
	_, err = NewPlacedRouter(table, nil)
	require.ErrorContains(t, err, "5 of 4 nodes")
}
