package embed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

var errTakenBack = errors.New("taken back")

// called is an operation whose result has what the method has returned, with bytes as strings.
type called = client.Result[[]any]

// call calls a method of a data type by its name.
func call(key, typ, method string, args ...any) *called {
	return client.CallOp(key, typ, method, func(data []client.Datum) (out []any, err error) {
		for _, d := range data {
			if b := d.Bytes(); b != nil {
				out = append(out, string(b))
			} else {
				out = append(out, d.Any())
			}
		}
		return out, nil
	}, args...)
}

// TestMethodsAreCalledByNameWhereverThereIsATransaction: in one-shots, in
// interactive ones, in views, in snapshots, on one shard and on several.
func TestMethodsAreCalledByNameWhereverThereIsATransaction(t *testing.T) {
	servertest.Tags()
	c := start(t, embed.ClusterOptions{Listen: true, Protocol: embed.Protocol{HistoryEvery: 50 * time.Millisecond}})
	db, ctx := connect(t, c.Addrs()[1]), soon(t)
	// last executes operations and returns the result of the last one.
	last := func(ctx context.Context, r client.Reader, last *called, before ...client.Op) []any {
		t.Helper()
		require.NoError(t, r.Execute(ctx, append(before, last)...))
		return last.Value()
	}
	const key, other = "post", "counted"
	first := call(key, "tags", "first")

	require.Empty(t, last(ctx, db, call(key, "tags", "add", "go", "db")))
	got := last(ctx, db, first, call(key, "tags", "weigh", 2), call(key, "tags", "weigh", -2))
	require.Equal(t, []any{"db", "go", 0.0}, got)
	require.Equal(t, []any{true}, last(ctx, db, call(key, "tags", "has", "go")))
	snap, err := db.CreateSnapshot(ctx, "before")
	require.NoError(t, err)

	require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		require.NoError(t, tx.Execute(ctx, call(key, "tags", "add", "kv"), client.NewCounter(other).AddOp(2)))
		got := last(ctx, tx, first, call(key, "tags", "weigh", 1.5))
		require.Equal(t, []any{"db", "go", "kv", 1.5}, got, "its own changes are seen")
		require.Equal(t, []any{int64(5)}, last(ctx, tx, call(other, "counter", "add-get", 3)))
		require.ErrorIs(t, tx.Nested(ctx, func(ctx context.Context) error {
			require.NoError(t, tx.Execute(ctx, call(key, "tags", "weigh", 7), first, client.NewCounter(other).AddOp(100)))
			require.Equal(t, []any{"db", "go", "kv", 8.5}, first.Value())
			return errTakenBack
		}), errTakenBack)
		require.Equal(t, []any{"db", "go", "kv", 1.5}, last(ctx, tx, first), "what was taken back is not seen")
		return nil
	}))
	require.NoError(t, db.View(ctx, func(ctx context.Context, v *client.View) error {
		n := call(other, "counter", "get")
		require.Equal(t, []any{"db", "go", 1.5}, last(ctx, v, call(key, "tags", "first", 2), n))
		require.Equal(t, []any{int64(5)}, n.Value())
		e, found, err := v.Entry(ctx, key)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, client.Entry{Key: key, Type: "tags", Version: e.Version}, e)
		return nil
	}))
	past := db.AtSnapshot(snap.Info().ID)
	require.Equal(t, []any{"db", "go", 0.0}, last(ctx, past, first))
	for e, err := range db.Scan(ctx, client.Range{Start: key}) {
		require.NoError(t, err)
		require.Equal(t, client.Type("tags"), e.Type)
	}

	get := call("r", "value", "get")
	require.Equal(t, []any{nil}, last(ctx, db, get))
	require.Equal(t, []any{"v"}, last(ctx, db, get, call("r", "value", "put", "v")))
	require.Equal(t, []any{int64(0)}, last(ctx, db, call("no", "counter", "get")))

	require.ErrorIs(t, past.Execute(ctx, call(key, "tags", "add", "x")), client.ErrInvalid)
	require.Error(t, db.View(ctx, func(ctx context.Context, v *client.View) error {
		return v.Execute(ctx, call(key, "tags", "add", "x"))
	}))
}

// TestOperationsAreCounted, by type and method, whichever way they come.
func TestOperationsAreCounted(t *testing.T) {
	c := start(t, embed.ClusterOptions{Listen: true})
	db, ctx := connect(t, c.Addrs()[0]), soon(t)
	set, n := client.NewSet("s", client.String), client.NewCounter("n")
	require.NoError(t, set.Add(ctx, db, "a"))
	require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error { return set.Add(ctx, tx, "b") }))
	require.NoError(t, db.Execute(ctx, n.AddOp(1), n.GetOp(), set.LenOp()))
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

// TestInvalidCallsAreExplained: the type, the method, and what to do.
func TestInvalidCallsAreExplained(t *testing.T) {
	servertest.Tags()
	c := start(t, embed.ClusterOptions{Listen: true})
	db, ctx := connect(t, c.Addrs()[0]).With(client.NoRetry()), soon(t)
	const key = "k"
	value := []byte("v")
	require.NoError(t, db.Execute(ctx, call(key, "tags", "add", "go"), client.PutOp("r", value),
		client.NewCounter("c").AddOp(1)))
	for _, x := range []struct {
		op   client.Op
		kind client.Kind
		says string
	}{
		{call(key, "tag", "add", "x"), client.KindInvalid, `unknown data type "tag"; the types are value, counter`},
		{call(key, "tags", "addd", "x"), client.KindInvalid,
			`the type tags has no method "addd"; its methods are add, has, first, weigh`},
		{call(key, "tags", "add"), client.KindInvalid, "add of a tags: want add word ..."},
		{call(key, "tags", "has", 7), client.KindInvalid, "has of a tags: word must be bytes"},
		{call(key, "tags", "has", "a", "b"), client.KindInvalid,
			"has of a tags: 2 arguments are too many; want has word"},
		{call(key, "tags", "weigh", "much"), client.KindInvalid, "weigh of a tags: by must be a number"},
		{call(key, "tags", "add", "a\nb"), client.KindInvalid, "add of a tags: a word is one line"},
		{call(key, "tags", "weigh", 2000), client.KindOutOfRange, "weigh of a tags: the weight would be 2000"},
		{call(key, "tags", "weigh", []int{1}), client.KindInvalid, "argument 1 of weigh of a tags is a []int"},
		{call("r", "tags", "add", "x"), client.KindWrongType, "the key holds a value, but add needs a tags"},
		{call(key, "counter", "add", 1), client.KindWrongType, "the key holds a tags, but add needs a counter"},
		{call("r", "counter", "get"), client.KindWrongType, "the key holds a value, but get needs a counter"},
		{call("c", "value", "get"), client.KindWrongType, "the key holds a counter, but get needs a value"},
		{client.PutOp(key, value), client.KindWrongType, "the key holds a tags, but put needs a value"},
	} {
		err := db.Execute(ctx, client.EntryOp(key), x.op)
		require.Equal(t, x.kind, client.KindOf(err), "%v: %v", x.op, err)
		require.ErrorContains(t, err, x.says)
		err = db.Update(ctx, func(ctx context.Context, tx *client.Tx) error { return tx.Execute(ctx, x.op) })
		require.Equal(t, x.kind, client.KindOf(err), "%v: %v", x.op, err)
		require.ErrorContains(t, err, x.says)
	}
}
