package embed_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

var errTakenBack = errors.New("taken back")

// answers are what the last of some operations answered.
func answers(t *testing.T, rs []client.Result, err error) (out []any) {
	t.Helper()
	require.NoError(t, err)
	for _, d := range rs[len(rs)-1].Answer {
		if b := d.Bytes(); b != nil {
			out = append(out, string(b))
		} else {
			out = append(out, d.Any())
		}
	}
	return out
}

// TestMethodsAreCalledByNameWhereverThereIsATransaction: in one-shots, in
// interactive ones, in views, in snapshots, on one shard and on several.
func TestMethodsAreCalledByNameWhereverThereIsATransaction(t *testing.T) {
	servertest.Tags()
	c := start(t, embed.ClusterOptions{Listen: true, HistoryEvery: 50 * time.Millisecond})
	db, err := client.Open(t.Context(), c.Addrs()[1:2])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	one := func(h *client.Handle, ops ...client.Op) []any {
		t.Helper()
		out, err := h.Execute(soon(t), ops...)
		require.NoError(t, err)
		return answers(t, out.Results, nil)
	}
	here := db.With()
	key, other := b("post"), b("counted")
	first := client.Call(key, "tags", "first")

	require.Empty(t, one(here, client.Call(key, "tags", "add", "go", "db")))
	require.Equal(t, []any{"db", "go", 0.0}, one(here, client.Call(key, "tags", "weigh", 2), client.Call(key, "tags", "weigh", -2), first))
	require.Equal(t, []any{true}, one(here, client.Call(key, "tags", "has", "go")))
	snap, err := db.CreateSnapshot(soon(t), "before", 0)
	require.NoError(t, err)

	require.NoError(t, db.Update(soon(t), func(tx *client.Tx) error {
		_, err := tx.Do(client.Call(key, "tags", "add", "kv"), client.Add(other, 2))
		require.NoError(t, err)
		rs, err := tx.Do(client.Call(key, "tags", "weigh", 1.5), first)
		require.Equal(t, []any{"db", "go", "kv", 1.5}, answers(t, rs, err), "its own changes are seen")
		rs, err = tx.Do(client.Call(other, "counter", "add-get", 3))
		require.Equal(t, []any{int64(5)}, answers(t, rs, err))
		require.ErrorIs(t, tx.Nested(func() error {
			rs, err := tx.Do(client.Call(key, "tags", "weigh", 7), first, client.Add(other, 100))
			require.Equal(t, []any{"db", "go", "kv", 8.5}, answers(t, rs[:2], err))
			return errTakenBack
		}), errTakenBack)
		rs, err = tx.Do(first)
		require.Equal(t, []any{"db", "go", "kv", 1.5}, answers(t, rs, err), "what was taken back is not seen")
		return nil
	}))
	require.NoError(t, db.View(soon(t), func(ro *client.ReadTx) error {
		rs, err := ro.Do(client.Call(other, "counter", "get"), client.Call(key, "tags", "first", 2))
		require.Equal(t, []any{"db", "go", 1.5}, answers(t, rs, err))
		require.Equal(t, []any{int64(5)}, answers(t, rs[:1], err))
		v, err := ro.Get(key)
		require.NoError(t, err)
		require.Equal(t, client.Value{Found: true, Type: servertest.TagsID, TypeName: "tags", Version: v.Version}, v)
		return nil
	}))
	require.Equal(t, []any{"db", "go", 0.0}, one(db.With(client.AtSnapshot(snap.ID)), first))
	for p, err := range db.Scan(soon(t), key, nil, client.ScanOptions{}) {
		require.NoError(t, err)
		require.Equal(t, "tags", p.TypeName)
	}

	require.Equal(t, []any{nil}, one(here, client.Call(b("r"), "value", "get")))
	require.Equal(t, []any{"v"}, one(here, client.Call(b("r"), "value", "put", "v"), client.Call(b("r"), "value", "get")))
	require.Equal(t, []any{int64(0)}, one(here, client.Call(b("no"), "counter", "get")))

	_, err = db.With(client.AtSnapshot(snap.ID)).Execute(soon(t), client.Call(key, "tags", "add", "x"))
	require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
	require.Error(t, db.View(soon(t), func(ro *client.ReadTx) error {
		_, err := ro.Do(client.Call(key, "tags", "add", "x"))
		return err
	}))
}

// TestOperationsAreCounted, by type and method, whichever way they come.
func TestOperationsAreCounted(t *testing.T) {
	c := start(t, embed.ClusterOptions{Listen: true})
	db, err := client.Open(t.Context(), c.Addrs()[:1])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	set := client.NewSet("s", client.Strings)
	require.NoError(t, set.Add(db.OneShot(soon(t)), "a"))
	require.NoError(t, db.Update(soon(t), func(tx *client.Tx) error { return set.Add(tx, "b") }))
	_, err = db.Execute(soon(t), client.Add(b("n"), 1), client.Call(b("n"), "counter", "get"), client.Call(b("s"), "set", "len"))
	require.NoError(t, err)
	families, err := c.Metrics(1).Registry().Gather()
	require.NoError(t, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "linchpin_operations_total" && m.GetCounter().GetValue() > 0 {
				got[m.GetLabel()[1].GetValue()+"."+m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	require.Equal(t, map[string]float64{"set.add": 2, "set.len": 1, "counter.add": 1, "any.get": 1}, got)
}

// TestWhatIsWrongWithACallIsTold: the type, the method, and what to do.
func TestWhatIsWrongWithACallIsTold(t *testing.T) {
	servertest.Tags()
	c := start(t, embed.ClusterOptions{Listen: true})
	db, err := client.Open(t.Context(), c.Addrs()[:1], client.WithRetries(false))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	key := b("k")
	_, err = db.Execute(soon(t), client.Call(key, "tags", "add", "go"), client.Put(b("r"), b("v")), client.Add(b("c"), 1))
	require.NoError(t, err)
	for _, x := range []struct {
		op   client.Op
		kind kv.Kind
		says string
	}{
		{client.Call(key, "tag", "add", "x"), kv.KindInvalid, `unknown data type "tag"; the types are value, counter`},
		{client.Call(key, "tags", "addd", "x"), kv.KindInvalid, `the type tags has no method "addd"; its methods are add, has, first, weigh`},
		{client.Call(key, "tags", "add"), kv.KindInvalid, "add of a tags: want add word ..."},
		{client.Call(key, "tags", "has", 7), kv.KindInvalid, "has of a tags: word must be bytes"},
		{client.Call(key, "tags", "has", "a", "b"), kv.KindInvalid, "has of a tags: 2 arguments are too many; want has word"},
		{client.Call(key, "tags", "weigh", "much"), kv.KindInvalid, "weigh of a tags: by must be a number"},
		{client.Call(key, "tags", "add", "a\nb"), kv.KindInvalid, "add of a tags: a word is one line"},
		{client.Call(key, "tags", "weigh", 2000), kv.KindOutOfRange, "weigh of a tags: the weight would be 2000"},
		{client.Call(key, "tags", "weigh", []int{1}), kv.KindInvalid, "argument 1 of weigh of a tags is a []int"},
		{client.Call(b("r"), "tags", "add", "x"), kv.KindWrongType, "the key holds a value, but add needs a tags"},
		{client.Call(key, "counter", "add", 1), kv.KindWrongType, "the key holds a tags, but add needs a counter"},
		{client.Call(b("r"), "counter", "get"), kv.KindWrongType, "the key holds a value, but get needs a counter"},
		{client.Call(b("c"), "value", "get"), kv.KindWrongType, "the key holds a counter, but get needs a value"},
		{client.Put(key, b("v")), kv.KindWrongType, "the key holds a tags, but put needs a value"},
	} {
		_, err := db.Execute(soon(t), client.Get(key), x.op)
		require.Equal(t, x.kind, kv.KindOf(err), "%v: %v", x.op, err)
		require.ErrorContains(t, err, x.says)
		err = db.Update(soon(t), func(tx *client.Tx) error {
			_, err := tx.Do(x.op)
			return err
		})
		require.Equal(t, x.kind, kv.KindOf(err), "%v: %v", x.op, err)
		require.ErrorContains(t, err, x.says)
	}
}

func b(s string) []byte { return []byte(s) }
