package enginetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

func readAtIndex(t *testing.T, open Open) {
	e := open()
	put(t, e, 0, set("k", 3, value("3")), set("k", 7, value("7")), set("ka", 1, value("neighbour")),
		set("j", 9, value("neighbour")))
	put(t, e, 0, set("k", 5, value("5")))
	for at, want := range map[kv.CSN]kv.CSN{3: 3, 4: 3, 5: 5, 6: 5, 7: 7, 100: 7, newest: 7} {
		res := readKey(e, 0, "k", at)
		require.NoError(t, res.Err)
		require.EqualValues(t, 7, res.ID)
		require.Equal(t, entry.ReadKey, res.Kind)
		require.Equal(t, []entry.Row{{Key: []byte("k"), CSN: want, Value: value(fmt.Sprint(want))}}, res.Rows, "at %d", at)
	}
	require.Empty(t, readKey(e, 0, "k", 2).Rows)
	require.Empty(t, readKey(e, 0, "k", 0).Rows)
	require.Empty(t, readKey(e, 0, "k\x00", newest).Rows)
	require.NoError(t, e.Close())
}

func tombstones(t *testing.T, open Open) {
	e := open()
	put(t, e, 0, set("a", 1, value("1")), set("b", 1, value("1")), set("b", 4, tombstone()), set("c", 1, value("1")),
		set("d", 2, tombstone()))
	res := readKey(e, 0, "b", newest)
	require.Equal(t, []entry.Row{{Key: []byte("b"), CSN: 4, Value: tombstone()}}, res.Rows)
	require.Equal(t, []string{"a=1", "c=1"}, keys(t, e, 0, everything, newest))
	require.Equal(t, []string{"a=1", "b=1", "c=1"}, keys(t, e, 0, everything, 3))
	put(t, e, 0, set("b", 6, value("6")))
	require.Equal(t, []string{"a=1", "b=6", "c=1"}, keys(t, e, 0, everything, newest))
	require.NoError(t, e.Close())
}

func rangeOrder(t *testing.T, open Open) {
	e := open()
	sorted := []string{"\x00", "\x00\x00", "\x00\x01", "\x00\xff", "\x01", "a", "a\x00", "a\x00\x00", "a\x00b", "a\x01",
		"aa", "b", "\xff", "\xff\xff"}
	for i := range sorted {
		put(t, e, 0, set(sorted[(i*5)%len(sorted)], 1, value("v")))
	}
	for i, from := range sorted {
		for j := i; j <= len(sorted); j++ {
			span, want := kv.Range([]byte(from), nil), sorted[i:]
			if j < len(sorted) {
				span, want = kv.Range([]byte(from), []byte(sorted[j])), sorted[i:j]
			}
			var exp []string
			for _, w := range want {
				exp = append(exp, w+"=v")
			}
			require.Equal(t, exp, keys(t, e, 0, span, newest), "%v", span)
		}
		require.Equal(t, []string{from + "=v"}, keys(t, e, 0, kv.Point([]byte(from)), newest))
	}
	require.Empty(t, keys(t, e, 0, kv.Range([]byte("b"), []byte("a")), newest), "an end before the start")
	require.Empty(t, keys(t, e, 0, kv.Point([]byte("absent")), newest))
	require.Len(t, keys(t, e, 0, everything, newest), len(sorted))
	require.NoError(t, e.Close())
}

// readPieces reads a range in pieces and returns the keys of each piece.
func readPieces(t *testing.T, read func(from []byte) entry.ReadResult) (pieces [][]string) {
	t.Helper()
	from := []byte{}
	for {
		res := read(from)
		require.NoError(t, res.Err)
		pieces = append(pieces, pairs(t, res.Rows))
		if res.Resume == nil {
			return pieces
		}
		require.Equal(t, kv.Next(res.Rows[len(res.Rows)-1].Key), res.Resume)
		from = res.Resume
	}
}

func rangeLimit(t *testing.T, open Open) {
	e := open()
	put(t, e, 0, set("a", 1, value("1")), set("b", 1, tombstone()), set("c", 1, value("1")), set("d", 1, value("1")),
		set("e", 1, value("1")))
	// The rows after the last one are not live, so the read has nothing to resume.
	put(t, e, 0, set("f", 1, tombstone()), set("g", 9, value("later")))
	byRows := func(limit int) [][]string {
		return readPieces(t, func(from []byte) entry.ReadResult {
			return e.Read(0, entry.Read{Kind: entry.ReadRange, Span: kv.Range(from, nil), CSN: 5, Limit: limit})
		})
	}
	require.Equal(t, [][]string{{"a=1"}, {"c=1"}, {"d=1"}, {"e=1"}}, byRows(1))
	require.Equal(t, [][]string{{"a=1", "c=1"}, {"d=1", "e=1"}}, byRows(2))
	require.Equal(t, [][]string{{"a=1", "c=1", "d=1"}, {"e=1"}}, byRows(3))
	require.Equal(t, [][]string{{"a=1", "c=1", "d=1", "e=1"}}, byRows(4))
	require.Equal(t, [][]string{{"a=1", "c=1", "d=1", "e=1"}}, byRows(0))
	require.NoError(t, e.Close())
}

// A range in reverse order contains the same rows as in order, for any limit.
func rangeReverse(t *testing.T, open Open) {
	e := open()
	put(t, e, 0, set("a", 1, value("1")), set("b", 1, tombstone()), set("c", 1, value("1")), set("c", 4, value("4")),
		set("c", 9, value("9")),
		set("d\x00", 9, value("9")), set("d", 2, value("2")), set("e", 1, value("1")), set("e", 7, tombstone()))
	put(t, e, 1, set("a", 1, value("another shard's")))
	for _, at := range []kv.CSN{1, 3, 5, 8, newest} {
		for _, span := range []kv.Span{everything, kv.Range([]byte("a"), []byte("d")), kv.Range([]byte("b"), nil),
			kv.Point([]byte("c"))} {
			want := keys(t, e, 0, span, at)
			slices.Reverse(want)
			for limit := range 5 {
				var got []string
				for rest := span; ; {
					res := e.Read(0, entry.Read{Kind: entry.ReadRange, Span: rest, CSN: at, Limit: limit, Reverse: true})
					require.NoError(t, res.Err)
					got = append(got, pairs(t, res.Rows)...)
					if res.Resume == nil {
						break
					}
					require.Equal(t, res.Rows[len(res.Rows)-1].Key, res.Resume)
					rest = kv.Range(rest.Start, res.Resume)
				}
				require.Equal(t, want, got, "%v at %d, %d at a time", span, at, limit)
			}
		}
	}
	require.NoError(t, e.Close())
}

func rangeBytes(t *testing.T, open Open) {
	e := open()
	size := len("k1") + len(value("12345678"))
	for i := range 5 {
		put(t, e, 0, set(fmt.Sprintf("k%d", i), 1, value("12345678")))
	}
	lens := func(limit, limitBytes int) (n []int) {
		for _, p := range readPieces(t, func(from []byte) entry.ReadResult {
			return e.Read(0, entry.Read{Kind: entry.ReadRange, Span: kv.Range(from, nil), CSN: 5, Limit: limit,
				LimitBytes: limitBytes})
		}) {
			n = append(n, len(p))
		}
		return n
	}
	require.Equal(t, []int{1, 1, 1, 1, 1}, lens(0, 1), "the row that passes the limit is returned")
	require.Equal(t, []int{2, 2, 1}, lens(0, size+1))
	require.Equal(t, []int{2, 2, 1}, lens(0, 2*size))
	require.Equal(t, []int{3, 2}, lens(0, 2*size+1))
	require.Equal(t, []int{2, 2, 1}, lens(2, 100*size), "the narrower limit counts")
	require.NoError(t, e.Close())
}

// A turn looks at few rows, even if none is live or visible. All turns together return the rows of one
// read, whatever is appended between them.
func rangeTurns(t *testing.T, open Open) {
	e := open()
	const dead = 400
	for i := range dead {
		key := fmt.Sprintf("k%03d", i)
		put(t, e, 0, set(key, 1, value("1")), set(key, 2, tombstone()))
	}
	put(t, e, 0, set("l1", 1, value("1")), set("l2", 1, value("1")), set("new", 9, value("9")), set("z", 1, tombstone()))
	res := e.Read(0, entry.Read{Kind: entry.ReadRange, Span: kv.Range(nil, []byte("l")), CSN: 5, Limit: 1, Turn: 1})
	require.Empty(t, res.Rows)
	require.True(t, res.Yielded)
	require.NotNil(t, res.Resume)
	for _, reverse := range []bool{false, true} {
		for _, limit := range []int{0, 1, 2} {
			r := entry.Read{Kind: entry.ReadRange, Span: everything, CSN: 5, Limit: limit, Reverse: reverse}
			want := e.Read(0, r)
			require.NoError(t, want.Err)
			turns := engine.NewTurns(r, 50)
			n := 1
			for ; !turns.Add(e.Read(0, turns.Next())); n++ {
				put(t, e, 0, set(fmt.Sprintf("k%03d", n), 10, value("later")), set(fmt.Sprintf("l%d", n), 10, value("later")))
			}
			require.Equal(t, want, turns.Result(), "limit %d, reverse %v", limit, reverse)
		}
	}
	require.NoError(t, e.Close())
}

func rangeAtIndex(t *testing.T, open Open) {
	e := open()
	// A hot key with many versions between two other keys, and keys that are newer than any reader.
	for i := 1; i <= 100; i++ {
		put(t, e, 0, set("hot", kv.CSN(i), value(fmt.Sprint(i))))
	}
	put(t, e, 0, set("a", 50, value("a")), set("z", 60, value("z")), set("hot2", 101, value("late")))
	require.Empty(t, keys(t, e, 0, everything, 0))
	require.Equal(t, []string{"hot=1"}, keys(t, e, 0, everything, 1))
	require.Equal(t, []string{"hot=49"}, keys(t, e, 0, everything, 49))
	require.Equal(t, []string{"a=a", "hot=50"}, keys(t, e, 0, everything, 50))
	require.Equal(t, []string{"a=a", "hot=99", "z=z"}, keys(t, e, 0, everything, 99))
	require.Equal(t, []string{"a=a", "hot=100", "hot2=late", "z=z"}, keys(t, e, 0, everything, newest))
	require.NoError(t, e.Close())
}

func deleteVersion(t *testing.T, open Open) {
	e := open()
	put(t, e, 0, set("k", 1, value("1")), set("k", 2, value("2")), set("k", 3, value("3")))
	put(t, e, 0, entry.Entry{Action: entry.Delete, Table: entry.TableVersion, Key: []byte("k"), CSN: 2},
		entry.Entry{Action: entry.Delete, Table: entry.TableVersion, Key: []byte("k"), CSN: 9},
		entry.Entry{Action: entry.Delete, Table: entry.TableVersion, Key: []byte("none"), CSN: 1})
	require.Equal(t, []string{"k=1"}, keys(t, e, 0, everything, 2))
	require.Equal(t, []string{"k=3"}, keys(t, e, 0, everything, 3))
	require.NoError(t, e.Close())
}

func deleteBelow(t *testing.T, open Open) {
	e := open()
	// Few and many versions, since a store may delete them differently.
	for _, n := range []int{1, 2, 5, 64, 65, 200} {
		k := fmt.Sprintf("k%03d", n)
		for i := 1; i <= n; i++ {
			put(t, e, 0, set(k, kv.CSN(i), value("v")))
		}
		put(t, e, 0, set(k+"\x00", 1, value("after")), set("k", kv.CSN(n), value("before")))
		put(t, e, 0, below(k, 0), below(k, 1))
		require.Len(t, readKey(e, 0, k, 1).Rows, 1, "nothing lies below the first")
		put(t, e, 0, below(k, kv.CSN(n)))
		require.Empty(t, readKey(e, 0, k, kv.CSN(n-1)).Rows)
		require.EqualValues(t, n, readKey(e, 0, k, newest).Rows[0].CSN)
		put(t, e, 0, below(k, kv.CSN(n+1)))
		require.Empty(t, readKey(e, 0, k, newest).Rows)
		put(t, e, 0, set(k, 1, value("anew")))
		require.EqualValues(t, 1, readKey(e, 0, k, newest).Rows[0].CSN)
		require.Len(t, readKey(e, 0, k+"\x00", 1).Rows, 1)
		require.Len(t, readKey(e, 0, "k", kv.CSN(n)).Rows, 1)
	}
	require.NoError(t, e.Close())
	e = open()
	require.Len(t, keys(t, e, 0, everything, newest), 13)
	require.NoError(t, e.Close())
}

func deleteRowsBelow(t *testing.T, open Open) {
	e := open()
	put(t, e, 1, setRow(entry.TableOutcome, "a", "1"), setRow(entry.TableOutcome, "b", "1"), setRow(entry.TableOutcome,
		"b\x00", "1"), setRow(entry.TableOutcome, "c", "1"),
		setRow(entry.TableRecord, "a", "1"), setRow(entry.TableState, "", "s"))
	put(t, e, 0, setRow(entry.TableOutcome, "a", "1"))
	put(t, e, 1, entry.Entry{Action: entry.DeleteBelow, Table: entry.TableOutcome, Key: []byte("b\x00")})
	has := func(s kv.ShardID, table entry.Table, key string) bool {
		res := e.Read(s, entry.Read{Kind: entry.ReadRow, Table: table, Key: []byte(key)})
		require.NoError(t, res.Err)
		return len(res.Rows) == 1
	}
	require.False(t, has(1, entry.TableOutcome, "a"))
	require.False(t, has(1, entry.TableOutcome, "b"))
	require.True(t, has(1, entry.TableOutcome, "b\x00"), "the key itself stays")
	require.True(t, has(1, entry.TableOutcome, "c"))
	require.True(t, has(1, entry.TableRecord, "a"), "other tables stay")
	require.True(t, has(1, entry.TableState, ""))
	require.True(t, has(0, entry.TableOutcome, "a"), "other shards stay")
	require.NoError(t, e.Close())
}
