package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// storeWithGarbage makes a store with every case of garbage, as of CSN 5.
func storeWithGarbage(t *testing.T, open Open) entryStore {
	e := open()
	put(t, e, 0,
		set("a", 1, value("alone")),
		set("b", 1, value("old")), set("b", 2, value("older than needed")), set("b", 5, value("seen")),
		set("b", 9, value("new")),
		set("c", 2, value("old")), set("c", 4, tombstone()),
		set("d", 3, tombstone()),
		set("e", 7, value("new")), set("e", 8, value("newer")),
		set("f", 3, tombstone()), set("f", 6, value("new")),
		set("g", 5, value("seen")), set("g", 7, tombstone()),
	)
	return e
}

type entryStore = interface {
	Read(kv.ShardID, entry.Read) entry.ReadResult
	Close() error
}

var garbageAt5 = []entry.Garbage{
	{Key: []byte("b"), Below: 5},
	{Key: []byte("c"), Below: 5},
	{Key: []byte("d"), Below: 4},
	{Key: []byte("f"), Below: 4},
}

func garbage(t *testing.T, open Open) {
	e := storeWithGarbage(t, open)
	find := func(span kv.Span, at kv.CSN) []entry.Garbage {
		res := e.Read(0, entry.Read{Kind: entry.ReadGarbage, Span: span, CSN: at})
		require.NoError(t, res.Err)
		require.Nil(t, res.Resume)
		return res.Garbage
	}
	require.Equal(t, garbageAt5, find(everything, 5))
	require.Equal(t, garbageAt5[1:3], find(kv.Range([]byte("c"), []byte("f")), 5))
	require.Equal(t, garbageAt5[:1], find(kv.Point([]byte("b")), 5))
	require.Empty(t, find(kv.Point([]byte("a")), 5))
	require.Empty(t, find(everything, 0), "at zero every version may still be read")
	require.Equal(t, []entry.Garbage{
		{Key: []byte("b"), Below: 9}, {Key: []byte("c"), Below: 5}, {Key: []byte("d"), Below: 4},
		{Key: []byte("e"), Below: 8}, {Key: []byte("f"), Below: 6}, {Key: []byte("g"), Below: 8},
	}, find(everything, 100))
	res := e.Read(0, entry.Read{Kind: entry.ReadGarbage, Span: everything, CSN: 100, Retained: []kv.CSN{2, 5}})
	require.NoError(t, res.Err)
	require.Equal(t, []entry.Garbage{
		{Key: []byte("b"), Versions: []kv.CSN{1}}, {Key: []byte("d"), Below: 4}, {Key: []byte("e"), Below: 8},
	}, res.Garbage, "what is visible at 2 and 5 is kept")
	require.NoError(t, e.Close())

	// Deleting the garbage changes no read at or above the CSN.
	reopened := open()
	want := keys(t, reopened, 0, everything, 5)
	wantNew := keys(t, reopened, 0, everything, newest)
	for _, g := range garbageAt5 {
		put(t, reopened, 0, below(string(g.Key), g.Below))
	}
	require.Equal(t, want, keys(t, reopened, 0, everything, 5))
	require.Equal(t, wantNew, keys(t, reopened, 0, everything, newest))
	res = reopened.Read(0, entry.Read{Kind: entry.ReadGarbage, Span: everything, CSN: 5})
	require.Empty(t, res.Garbage, "nothing is left")
	require.NoError(t, reopened.Close())
}

func garbageResumes(t *testing.T, open Open) {
	e := storeWithGarbage(t, open)
	walk := func(limit int) (found []entry.Garbage, ends []string) {
		span := everything
		for {
			res := e.Read(0, entry.Read{Kind: entry.ReadGarbage, Span: span, CSN: 5, Limit: limit})
			require.NoError(t, res.Err)
			found = append(found, res.Garbage...)
			if res.Resume == nil {
				return found, ends
			}
			ends = append(ends, string(res.Resume))
			span = kv.Range(res.Resume, nil)
		}
	}
	// Costs: a 1, b 2, c 2, d 1, e 1 (nothing visible), f 1, g 1.
	for limit, want := range map[int][]string{
		1: {"a\x00", "b\x00", "c\x00", "d\x00", "e\x00", "f\x00"},
		2: {"b\x00", "c\x00", "e\x00"},
		3: {"b\x00", "d\x00"},
		5: {"c\x00"},
		9: nil,
	} {
		found, ends := walk(limit)
		require.Equal(t, garbageAt5, found, "limit %d", limit)
		require.Equal(t, want, ends, "limit %d", limit)
	}
	require.NoError(t, e.Close())
}

// A move tombstone is kept while no newer version exists, and nothing below it is. The tombstone of a key
// that was moved is garbage like any other. Neither is visible in a range.
func moveTombstones(t *testing.T, open Open) {
	e := open()
	put(t, e, 0,
		set("a", 1, value("old")), set("a", 3, moveTombstone()),
		set("b", 1, value("old")), set("b", 3, tombstoneOfMovedKey()),
		set("c", 1, value("old")), set("c", 3, tombstone()),
		set("d", 2, moveTombstone()),
		set("e", 2, tombstoneOfMovedKey()),
		set("f", 1, moveTombstone()), set("f", 3, value("back")), set("f", 9, moveTombstone()),
		set("g", 1, tombstoneOfMovedKey()), set("g", 3, value("new")),
	)
	res := e.Read(0, entry.Read{Kind: entry.ReadGarbage, Span: everything, CSN: 5})
	require.NoError(t, res.Err)
	require.Equal(t, []entry.Garbage{
		{Key: []byte("a"), Below: 3}, {Key: []byte("b"), Below: 4}, {Key: []byte("c"), Below: 4},
		{Key: []byte("e"), Below: 3},
		{Key: []byte("f"), Below: 3}, {Key: []byte("g"), Below: 3},
	}, res.Garbage)
	for _, g := range res.Garbage {
		put(t, e, 0, below(string(g.Key), g.Below))
	}
	require.Equal(t, []string{"f=back", "g=new"}, keys(t, e, 0, everything, 5))
	require.Equal(t, []string{"g=new"}, keys(t, e, 0, everything, newest))
	for key, want := range map[string][]byte{"a": moveTombstone(), "d": moveTombstone(), "f": moveTombstone()} {
		require.Equal(t, want, readKey(e, 0, key, newest).Rows[0].Value, key)
	}
	for _, key := range []string{"b", "c", "e"} {
		require.Empty(t, readKey(e, 0, key, newest).Rows, key)
	}
	limited := e.Read(0, entry.Read{Kind: entry.ReadRange, Span: everything, CSN: 5, Limit: 2})
	require.NoError(t, limited.Err)
	require.Len(t, limited.Rows, 2, "tombstones do not count")
	require.NoError(t, e.Close())
}

func damagedRow(t *testing.T, open Open) {
	e := open()
	put(t, e, 0, set("good", 1, value("1")), set("short", 1, []byte("x")),
		set("unknown", 1, append([]byte{99}, value("1")[1:]...)))
	for _, k := range []string{"short", "unknown"} {
		for _, r := range []entry.Read{
			{Kind: entry.ReadKey, Key: []byte(k), CSN: newest},
			{Kind: entry.ReadRange, Span: kv.Range([]byte(k), nil), CSN: newest},
			{Kind: entry.ReadGarbage, Span: kv.Point([]byte(k)), CSN: newest},
		} {
			res := e.Read(0, r)
			var ke *kv.Error
			require.ErrorAs(t, res.Err, &ke)
			require.Equal(t, kv.KindCorrupt, ke.Kind)
			require.Equal(t, k, string(ke.Key))
			require.NotEmpty(t, ke.Hint)
			require.Empty(t, res.Rows)
			require.Empty(t, res.Garbage)
		}
	}
	require.Equal(t, []string{"good=1"}, keys(t, e, 0, kv.Point([]byte("good")), newest), "other rows are not affected")
	require.NoError(t, e.Close())
}
