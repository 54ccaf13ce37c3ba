package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// csns returns the CSNs of rows.
func csns(rows []entry.Row) (out []kv.CSN) {
	for _, r := range rows {
		out = append(out, r.CSN)
	}
	return out
}

// chained makes a store with a value at 2, deltas at 4 and 6, a value at 8, a delta at 10, a tombstone at
// 12, and a value at 14.
func chained(t *testing.T, open Open) entryStore {
	e := open()
	put(t, e, 0, set("k", 2, value("2")), set("k", 4, delta(4)), set("k", 6, delta(6)), set("k", 8, value("8")),
		set("k", 10, delta(10)), set("k", 12, tombstone()), set("k", 14, value("14")), set("k", 16, delta(16)),
		set("j", 1, value("neighbour")), set("l", 1, value("neighbour")))
	return e
}

func chains(t *testing.T, open Open) {
	e := chained(t, open)
	for at, want := range map[kv.CSN][]kv.CSN{1: nil, 2: {2}, 3: {2}, 4: {4, 2}, 7: {6, 4, 2}, 8: {8}, 9: {8},
		11: {10, 8}, 12: {12}, 15: {14}, newest: {16, 14}} {
		res := e.Read(0, entry.Read{Kind: entry.ReadKey, Key: []byte("k"), CSN: at})
		require.NoError(t, res.Err)
		require.Equal(t, want, csns(res.Rows), "at %d", at)
		for _, r := range res.Rows {
			require.Equal(t, "k", string(r.Key))
		}
	}
	res := e.Read(0, entry.Read{Kind: entry.ReadKey, Key: []byte("k"), CSN: 5})
	require.Equal(t, [][]byte{delta(4), value("2")}, [][]byte{res.Rows[0].Value, res.Rows[1].Value})
	for at, want := range map[kv.CSN][]kv.CSN{1: {1, 1}, 3: {1, 2, 1}, 7: {1, 6, 1}, 12: {1, 1}, newest: {1, 16, 1}} {
		res := e.Read(0, entry.Read{Kind: entry.ReadRange, Span: everything, CSN: at})
		require.NoError(t, res.Err)
		require.Equal(t, want, csns(res.Rows), "of a key in a range the newest row will do; at %d", at)
	}
	limited := e.Read(0, entry.Read{Kind: entry.ReadRange, Span: everything, CSN: newest, Limit: 2})
	require.Equal(t, "k\x00", string(limited.Resume), "a delta counts like a value")
	require.NoError(t, e.Close())
}

// Rows that were overwritten many times leave many states that a store must skip.
func chainWrittenOver(t *testing.T, open Open) {
	e := open()
	put(t, e, 0, set("k", 2, value("2")), set("j", 1, value("neighbour")), set("l", 1, value("neighbour")))
	for i := kv.CSN(3); i < 20; i++ {
		for n := range uint64(100) {
			put(t, e, 0, set("k", i, delta(n+1)))
		}
	}
	for at := kv.CSN(1); at < 22; at++ {
		res := e.Read(0, entry.Read{Kind: entry.ReadKey, Key: []byte("k"), CSN: at})
		require.NoError(t, res.Err)
		var want []kv.CSN
		for i := min(at, 19); i > 1; i-- {
			want = append(want, i)
		}
		require.Equal(t, want, csns(res.Rows), "at %d", at)
		for _, r := range res.Rows[:max(len(res.Rows)-1, 0)] {
			require.Equal(t, delta(100), r.Value)
		}
	}
	put(t, e, 0, entry.Entry{Action: entry.Delete, Table: entry.TableVersion, Key: []byte("k"), CSN: 2})
	require.Equal(t, kv.KindCorrupt, kv.KindOf(readKey(e, 0, "k", newest).Err), "its base is missing")
	require.NoError(t, e.Close())
}

func chainGarbage(t *testing.T, open Open) {
	e := chained(t, open)
	for _, c := range []struct {
		name     string
		at       kv.CSN
		retained []kv.CSN
		below    kv.CSN
		versions []kv.CSN
	}{
		{"a delta keeps the value that it changes", 7, nil, 0, nil},
		{"a value replaces a chain", 9, nil, 8, nil},
		{"a delta keeps the value that replaced a chain", 11, nil, 8, nil},
		{"a tombstone replaces a chain, and is deleted too", 13, nil, 13, nil},
		{"a reader within a chain keeps it up to its CSN", 9, []kv.CSN{5}, 0, []kv.CSN{6}},
		{"a reader at the end of a chain keeps all of it", 9, []kv.CSN{7}, 0, nil},
		{"two readers", 16, []kv.CSN{3, 9}, 0, []kv.CSN{12, 10, 6, 4}},
		{"a reader before the chain keeps nothing", 9, []kv.CSN{1}, 8, nil},
	} {
		res := e.Read(0, entry.Read{Kind: entry.ReadGarbage, Span: kv.Point([]byte("k")), CSN: c.at, Retained: c.retained})
		require.NoError(t, res.Err, c.name)
		var want []entry.Garbage
		if c.below > 0 || c.versions != nil {
			want = []entry.Garbage{{Key: []byte("k"), Below: c.below, Versions: c.versions}}
		}
		require.Equal(t, want, res.Garbage, c.name)
	}
	// j costs 1; k costs 3: its chain, and one version that proves that there are more.
	walk := entry.Read{Kind: entry.ReadGarbage, Span: everything, CSN: newest, Limit: 4}
	require.Equal(t, "k\x00", string(e.Read(0, walk).Resume))
	walk.Limit = 5
	require.Nil(t, e.Read(0, walk).Resume)
	require.NoError(t, e.Close())
}

func brokenChain(t *testing.T, open Open) {
	e := open()
	put(t, e, 0, set("k", 3, delta(3)), set("k", 5, delta(5)), set("kk", 1, value("neighbour")))
	res := readKey(e, 0, "k", newest)
	require.Equal(t, kv.KindCorrupt, kv.KindOf(res.Err))
	require.ErrorContains(t, res.Err, "not the value itself")
	require.Empty(t, res.Rows)
	g := e.Read(0, entry.Read{Kind: entry.ReadGarbage, Span: everything, CSN: newest})
	require.NoError(t, g.Err)
	require.Empty(t, g.Garbage, "nothing of a damaged chain is garbage")
	require.NoError(t, e.Close())
}
