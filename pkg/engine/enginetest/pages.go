package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// directory makes a value in pages.
func directory(ids ...uint64) []byte {
	var pages []entry.PageRef
	for _, id := range ids {
		pages = append(pages, entry.PageRef{ID: id, FirstCSN: 1})
	}
	return entry.EncodeDirectory(&entry.Value{Type: 2, Version: kv.Version{Shard: 1, Write: 1}}, pages,
		[]byte("directory"))
}

func patch() []byte {
	return entry.EncodePatch(&entry.Value{Type: 2, Version: kv.Version{Shard: 1, Write: 2}}, []byte("patch"))
}

func setPage(key string, id uint64) entry.Entry {
	return entry.Entry{Table: entry.TablePage, Key: entry.PageKey([]byte(key), id), Value: []byte("page of " + key)}
}

func deletePage(key string, id uint64) entry.Entry {
	return entry.Entry{Action: entry.Delete, Table: entry.TablePage, Key: entry.PageKey([]byte(key), id)}
}

func readPage(t TB, e engine.Engine, key string, id uint64) string {
	t.Helper()
	res := e.Read(0, entry.Read{Kind: entry.ReadRow, Table: entry.TablePage, Key: entry.PageKey([]byte(key), id)})
	require.NoError(t, res.Err)
	if len(res.Rows) == 0 {
		return ""
	}
	return string(res.Rows[0].Value)
}

func unreferencedPages(t TB, e engine.Engine, limit int) (found []entry.Garbage, pieces int) {
	t.Helper()
	span := everything
	for {
		pieces++
		res := e.Read(0, entry.Read{Kind: entry.ReadPages, Table: entry.TablePage, Span: span, Limit: limit})
		require.NoError(t, res.Err)
		found = append(found, res.Garbage...)
		if res.Resume == nil {
			return found, pieces
		}
		span.Start = res.Resume
	}
}

// A value in pages is a whole version of its key, and a patch of it is a delta. Its pages are rows of their
// own.
func pagesOfValues(t *testing.T, open Open) {
	e := open()
	put(t, e, 0, set("k", 2, directory(7, 9)), setPage("k", 7), setPage("k", 9), set("k", 4, patch()),
		set("k", 6, directory(7, 11)),
		setPage("k", 11), set("k", 8, patch()))
	for at, want := range map[kv.CSN][]kv.CSN{1: nil, 2: {2}, 5: {4, 2}, 7: {6}, newest: {8, 6}} {
		res := e.Read(0, entry.Read{Kind: entry.ReadKey, Key: []byte("k"), CSN: at})
		require.NoError(t, res.Err)
		require.Equal(t, want, csns(res.Rows), "at %d", at)
	}
	res := e.Read(0, entry.Read{Kind: entry.ReadGarbage, Span: everything, CSN: 8})
	require.Equal(t, []entry.Garbage{{Key: []byte("k"), Below: 6}}, res.Garbage)
	require.Equal(t, "page of k", readPage(t, e, "k", 7))
	require.Empty(t, readPage(t, e, "k", 8))
	require.Empty(t, readPage(t, e, "j", 7))
	put(t, e, 0, deletePage("k", 7))
	require.Empty(t, readPage(t, e, "k", 7))
	require.Equal(t, "page of k", readPage(t, e, "k", 9))
	require.NoError(t, e.Close())
	e = open()
	require.Equal(t, "page of k", readPage(t, e, "k", 11))
	require.Empty(t, recovered(t, e, 0), "a restart does not read pages")
	require.NoError(t, e.Close())
}

// Pages that no version references are garbage, whether that version is visible or not.
func pageGarbage(t *testing.T, open Open) {
	e := open()
	put(t, e, 0,
		set("a", 2, directory(1, 2)), set("a", 3, directory(2, 3)), setPage("a", 1), setPage("a", 2), setPage("a", 3),
		setPage("a", 4),
		set("b", 2, value("in one piece")), setPage("b", 5), setPage("b", 6),
		set("c", 2, tombstone()), setPage("c", 7),
		setPage("d", 8),
		set("e", 2, []byte("\x03damaged")), setPage("e", 9),
		set("f", 2, directory(10)), set("f", 3, patch()), setPage("f", 10),
		setPage("a\x00", 11))
	put(t, e, 1, set("d", 2, directory(8)))
	want := []entry.Garbage{
		{Key: []byte("a\x00"), Pages: []uint64{11}}, {Key: []byte("a"), Pages: []uint64{4}},
		{Key: []byte("b"), Pages: []uint64{5, 6}}, {Key: []byte("c"), Pages: []uint64{7}},
		{Key: []byte("d"), Pages: []uint64{8}}}
	found, pieces := unreferencedPages(t, e, 0)
	require.ElementsMatch(t, want, found)
	require.Equal(t, 1, pieces)
	found, pieces = unreferencedPages(t, e, 1)
	require.ElementsMatch(t, want, found)
	require.Greater(t, pieces, 4)
	for _, g := range found {
		for _, id := range g.Pages {
			put(t, e, 0, deletePage(string(g.Key), id))
		}
	}
	put(t, e, 0, below("a", 3)) // one page less is referenced
	found, _ = unreferencedPages(t, e, 3)
	require.Equal(t, []entry.Garbage{{Key: []byte("a"), Pages: []uint64{1}}}, found)
	require.NoError(t, e.Close())
}
