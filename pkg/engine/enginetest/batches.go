package enginetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

func emptyStore(t *testing.T, open Open) {
	e := open()
	require.Empty(t, readKey(e, 0, "k", newest).Rows)
	require.Empty(t, keys(t, e, 0, everything, newest))
	for _, r := range []entry.Read{
		{Kind: entry.ReadRow, Table: entry.TableState},
		{Kind: entry.ReadGarbage, Span: everything, CSN: newest, Limit: 3},
	} {
		res := e.Read(0, r)
		require.NoError(t, res.Err)
		require.Empty(t, res.Rows)
		require.Empty(t, res.Garbage)
		require.Nil(t, res.Resume)
	}
	require.NoError(t, e.Recover(0, func(entry.Table, entry.Row) error { return errors.New("a row") }))
	require.NoError(t, e.WaitDurable(0), "zero is durable from the start")
	require.Zero(t, e.Stats().Appends)
	require.NoError(t, e.Close())
}

func positions(t *testing.T, open Open) {
	e := open()
	require.EqualValues(t, 1, put(t, e, 0, set("a", 1, value("1"))))
	require.EqualValues(t, 2, put(t, e, 0), "a batch without entries has a position too")
	p, err := e.Append(nil)
	require.NoError(t, err)
	require.EqualValues(t, 3, p)
	require.EqualValues(t, 4, put(t, e, 5, set("b", 1, value("1")), setRow(entry.TableState, "", "s")))
	require.Error(t, e.WaitDurable(5), "never appended")
	syncTo(t, e, 4)
	for p := range engine.Position(5) {
		require.NoError(t, e.WaitDurable(p))
	}
	st := e.Stats()
	require.EqualValues(t, 4, st.Appends)
	require.EqualValues(t, 3, st.Entries)
	require.NoError(t, e.Close())
}

func concurrentWaiters(t *testing.T, open Open) {
	const n, every = 200, 50
	e := open()
	var wg sync.WaitGroup
	errs := make(chan error, 2*n)
	for i := range n {
		p := put(t, e, 0, set("k", kv.CSN(i+1), value(fmt.Sprint(i))))
		require.EqualValues(t, i+1, p)
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs <- e.WaitDurable(p)
		}()
		if i%every == 0 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				errs <- readKey(e, 0, "k", newest).Err
			}()
		}
	}
	syncTo(t, e, n)
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.NoError(t, e.Close())
}

func bytesAreCopied(t *testing.T, open Open) {
	e := open()
	en := set("key", 1, value("one"))
	row := setRow(entry.TableRecord, "name", "row")
	put(t, e, 0, en, row)
	for _, b := range [][]byte{en.Key, en.Value, row.Key, row.Value} {
		clear(b)
	}
	res := readKey(e, 0, "key", newest)
	require.Equal(t, []string{"key=one"}, pairs(t, res.Rows))
	clear(res.Rows[0].Key)
	clear(res.Rows[0].Value)
	require.Equal(t, []string{"key=one"}, keys(t, e, 0, everything, newest), "the caller owns the rows")
	r := e.Read(0, entry.Read{Kind: entry.ReadRow, Table: entry.TableRecord, Key: []byte("name")})
	require.Equal(t, []entry.Row{{Key: []byte("name"), Value: []byte("row")}}, r.Rows)
	require.NoError(t, e.Close())
}

func shardsAreIsolated(t *testing.T, open Open) {
	e := open()
	// 0 and 1 differ in another byte of the encoded key than 1 and 256.
	shards := []kv.ShardID{0, 1, 255, 256, 1023}
	var groups []entry.Group
	for _, s := range shards {
		groups = append(groups, entry.Group{Shard: s, Entries: []entry.Entry{
			set("k", 1, value(s.String())), set(s.String(), 1, value("own")), setRow(entry.TableState, "", s.String())}})
	}
	_, err := e.Append(groups)
	require.NoError(t, err)
	for _, s := range shards {
		require.Equal(t, []string{"k=" + s.String(), s.String() + "=own"}, keys(t, e, s, everything, newest))
		res := e.Read(s, entry.Read{Kind: entry.ReadRow, Table: entry.TableState})
		require.Equal(t, []entry.Row{{Key: []byte{}, Value: []byte(s.String())}}, res.Rows)
	}
	require.NoError(t, e.Close())
}

func orderInBatch(t *testing.T, open Open) {
	e := open()
	del := entry.Entry{Action: entry.Delete, Table: entry.TableRecord, Key: []byte("r")}
	put(t, e, 0,
		set("a", 1, value("new")),
		setRow(entry.TableRecord, "r", "1"), del,
		setRow(entry.TableRecord, "s", "1"), setRow(entry.TableRecord, "s", "2"),
		set("b", 0, value("0")), set("b", 2, value("2")), below("b", 2), set("b", 1, value("again")),
		set("c", 3, value("3")), below("c", 9),
	)
	require.Equal(t, []string{"a=new", "b=again"}, keys(t, e, 0, everything, 1))
	require.Equal(t, []string{"a=new", "b=2"}, keys(t, e, 0, everything, newest))
	require.Empty(t, e.Read(0, entry.Read{Kind: entry.ReadRow, Table: entry.TableRecord, Key: []byte("r")}).Rows)
	res := e.Read(0, entry.Read{Kind: entry.ReadRow, Table: entry.TableRecord, Key: []byte("s")})
	require.Equal(t, "2", string(res.Rows[0].Value))

	// Two groups of one shard in one batch are one sequence.
	_, err := e.Append([]entry.Group{
		{Shard: 3, Entries: []entry.Entry{set("d", 1, value("1"))}},
		{Shard: 3, Entries: []entry.Entry{below("d", 2)}},
	})
	require.NoError(t, err)
	require.Empty(t, keys(t, e, 3, everything, newest))
	require.NoError(t, e.Close())
}

func invalidEntries(t *testing.T, open Open) {
	e := open()
	good := set("good", 1, value("1"))
	for _, bad := range []entry.Entry{
		{Action: entry.Set, Table: 0, Key: []byte("k")},
		{Action: entry.Set, Table: entry.LastTable + 1, Key: []byte("k")},
		{Action: 3, Table: entry.TableRecord, Key: []byte("k")},
		{Action: entry.Set, Table: entry.TableVersion, CSN: 1},
		{Action: entry.Set, Table: entry.TableRecord, Key: []byte("k"), CSN: 1},
	} {
		_, err := e.Append([]entry.Group{{Shard: 0, Entries: []entry.Entry{good, bad}}})
		require.Equal(t, kv.KindInternal, kv.KindOf(err), "%+v", bad)
	}
	for _, bad := range []entry.Read{{Kind: 9}, {Kind: entry.ReadRow, Table: entry.TableVersion},
		{Kind: entry.ReadRows, Table: entry.TableVersion}, {Kind: entry.ReadRow, Table: entry.LastTable + 1}} {
		require.Equal(t, kv.KindInternal, kv.KindOf(e.Read(0, bad).Err), "%+v", bad)
	}
	require.Empty(t, keys(t, e, 0, everything, newest), "nothing of a rejected batch is applied")
	require.EqualValues(t, 1, put(t, e, 0, good), "a rejected batch has no position")
	require.NoError(t, e.Close())
}

func recoverOrder(t *testing.T, open Open) {
	e := open()
	put(t, e, 2,
		setRow(entry.TableState, "", "state"),
		setRow(entry.TableRecord, "b", "rb"), setRow(entry.TableRecord, "a\x00", "ra0"), setRow(entry.TableRecord, "a", "ra"),
		setRow(entry.TablePrepared, "p2", "2"), setRow(entry.TablePrepared, "p1", "1"),
		setRow(entry.TableFence, "f", "1"), setRow(entry.TableOutcome, "o", "not visited"), set("v", 1, value("not visited")),
	)
	put(t, e, 1, setRow(entry.TableState, "", "another shard's"))
	var got []string
	visit := func(table entry.Table, r entry.Row) error {
		require.Zero(t, r.CSN)
		got = append(got, fmt.Sprintf("%v %q=%s", table, r.Key, r.Value))
		return nil
	}
	require.NoError(t, e.Recover(2, visit))
	require.Equal(t, []string{`prepared "p1"=1`, `prepared "p2"=2`,
		`record "a"=ra`, `record "a\x00"=ra0`, `record "b"=rb`, `state ""=state`, `fence "f"=1`}, got)

	mine := errors.New("enough")
	n := 0
	err := e.Recover(2, func(entry.Table, entry.Row) error { n++; return mine })
	require.Equal(t, mine, err)
	require.Equal(t, 1, n)
	require.NoError(t, e.Close())
}

func largeValues(t *testing.T, open Open) {
	e := open()
	var es []entry.Entry
	big := make([]byte, kv.MaxValueBytes)
	longest := make([]byte, kv.MaxKeyBytes) // zeros: each is encoded in two bytes
	for i := range 16 {
		big[i] = byte(i + 1)
		v := entry.Value{Version: kv.Version{Write: 1}, Payload: big}.Encode()
		longest[len(longest)-1] = byte(i)
		es = append(es, set(string(longest), 1, v))
	}
	syncTo(t, e, put(t, e, 0, es...))
	res := e.Read(0, entry.Read{Kind: entry.ReadRange, Span: everything, CSN: 1})
	require.NoError(t, res.Err)
	require.Len(t, res.Rows, len(es))
	for i, r := range res.Rows {
		require.True(t, string(es[i].Key) == string(r.Key) && string(es[i].Value) == string(r.Value), "row %d", i)
	}
	require.NoError(t, e.Close())
}

func reopen(t *testing.T, open Open) {
	e := open()
	put(t, e, 0, set("a", 1, value("1")), set("a", 2, value("2")), set("b", 2, tombstone()), setRow(entry.TableState, "",
		"s"))
	require.NoError(t, e.Close())
	for range 2 {
		e = open()
		require.Equal(t, []string{"a=1"}, keys(t, e, 0, everything, 1))
		require.Equal(t, []string{"a=2"}, keys(t, e, 0, everything, 2))
		n := 0
		require.NoError(t, e.Recover(0, func(entry.Table, entry.Row) error { n++; return nil }))
		require.Equal(t, 1, n)
		require.NoError(t, e.Close())
	}
	e = open()
	syncTo(t, e, put(t, e, 0, set("a", 3, value("3"))))
	require.NoError(t, e.Close())
	e = open()
	require.Equal(t, []string{"a=3"}, keys(t, e, 0, everything, 3))
	require.NoError(t, e.Close())
}

func closed(t *testing.T, open Open) {
	e := open()
	p := put(t, e, 0, set("a", 1, value("1")))
	require.NoError(t, e.Close())
	require.NoError(t, e.WaitDurable(p), "durable by Close")
	_, err := e.Append(nil)
	require.Equal(t, kv.KindUnavailable, kv.KindOf(err))
	require.Equal(t, kv.KindUnavailable, kv.KindOf(readKey(e, 0, "a", 1).Err))
	require.Equal(t, kv.KindUnavailable, kv.KindOf(e.Recover(0, func(entry.Table, entry.Row) error { return nil })))
	_, err = e.ReadShard(0)
	require.Equal(t, kv.KindUnavailable, kv.KindOf(err))
	require.Error(t, e.Close())
}
