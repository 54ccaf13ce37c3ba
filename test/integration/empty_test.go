package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// emptyStore starts a cluster and opens a client of it.
func emptyStore(t *testing.T) (context.Context, *client.DB) {
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), Listen: true, NoSync: true, Nodes: 2})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(func() {
		defer cancel()
		stop, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer done()
		require.NoError(t, c.Stop(stop))
	})
	return ctx, proc.Open(t, c.Addrs()[:1])
}

// paths are the ways in which an operation is executed.
var paths = map[string]func(context.Context, *client.DB, ...client.Op) error{
	"one-shot": func(ctx context.Context, db *client.DB, ops ...client.Op) error { return db.Execute(ctx, ops...) },
	"interactive": func(ctx context.Context, db *client.DB, ops ...client.Op) error {
		return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error { return tx.Execute(ctx, ops...) })
	},
	"own writes": func(ctx context.Context, db *client.DB, ops ...client.Op) error {
		return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			for _, op := range ops {
				if err := tx.Execute(ctx, op); err != nil {
					return err
				}
			}
			return nil
		})
	},
}

// requireValue distinguishes empty from nil: a value is not nil, an absent one is nil.
func requireValue(t *testing.T, want, got []byte, what string) {
	t.Helper()
	require.Equal(t, want == nil, got == nil, what)
	require.Equal(t, want, got, what)
}

// TestConditionsOnEmptyValues: the condition "the value is empty" holds for a value that is empty and for
// no other, on every path. It is not the absence of a condition. A version of zero is invalid.
func TestConditionsOnEmptyValues(t *testing.T) {
	t.Parallel()
	ctx, db := emptyStore(t)
	kinds := map[string]func(key string, c client.DeleteCondition) client.Op{
		"put":     func(key string, c client.DeleteCondition) client.Op { return client.PutOp(key, []byte("new"), c) },
		"delete":  func(key string, c client.DeleteCondition) client.Op { return client.DeleteOp(key, c) },
		"require": func(key string, c client.DeleteCondition) client.Op { return client.RequireOp(key, c) },
	}
	states := map[string][]byte{"absent": nil, "empty": {}, "full": []byte("x")}
	conditions := map[string]client.DeleteCondition{
		"value nil":    client.IfValue(nil),
		"value empty":  client.IfValue([]byte{}),
		"version zero": client.IfVersion(client.Version{}),
	}
	n := 0
	for path, run := range paths {
		for kind, build := range kinds {
			for state, holds := range states {
				for condition, c := range conditions {
					n++
					what, key := strings.Join([]string{path, kind, state, condition}, ", "), fmt.Sprintf("k%d", n)
					if holds != nil {
						require.NoError(t, db.Put(ctx, key, holds), what)
					}
					want := kv.KindConditionFailed
					switch {
					case condition == "version zero":
						want = kv.KindInvalid
					case state == "empty":
						want = kv.KindOK
					}
					err := run(ctx, db, build(key, c))
					require.Equal(t, want, kv.KindOf(err), "%s: %v", what, err)
					value, found, err := db.Get(ctx, key)
					require.NoError(t, err, what)
					if want == kv.KindOK && kind != "require" {
						require.Equal(t, kind == "put", found, what)
						continue
					}
					require.Equal(t, holds != nil, found, what)
					requireValue(t, holds, value, what)
				}
			}
		}
	}
}

// TestEmptyAndZeroArguments: every operation accepts or rejects them alike on every path.
func TestEmptyAndZeroArguments(t *testing.T) {
	t.Parallel()
	ctx, db := emptyStore(t)
	call := func(typ, method string, args ...any) func(string) client.Op {
		return func(key string) client.Op { return callOp(key, typ, method, args...) }
	}
	for name, c := range map[string]struct {
		// first prepares the value that op is applied to.
		first, op func(key string) client.Op
		kind      kv.Kind
		// results are those of op, as client.Datum.Any.
		results []any
	}{
		"put of nil":         {op: func(k string) client.Op { return client.PutOp(k, nil) }},
		"add of 0":           {op: func(k string) client.Op { return add(k, 0) }},
		"add-get of 0":       {op: func(k string) client.Op { return client.NewCounter(k).AddGetOp(0) }},
		"scan of everything": {op: func(string) client.Op { return client.ScanOp(client.Range{}, 0) }},

		"set":       {first: call("set", "add", ""), op: call("set", "contains", ""), results: []any{true}},
		"set, nil":  {first: call("set", "add", []byte(nil)), op: call("set", "members"), results: []any{[]byte{}}},
		"set, none": {op: call("set", "contains", ""), results: []any{false}},
		"map":       {first: call("map", "set", "", ""), op: call("map", "get", ""), results: []any{[]byte{}}},
		"map, all": {first: call("map", "set", "", []byte(nil)), op: call("map", "all"),
			results: []any{[]byte{}, []byte{}}},
		"map, many": {first: call("map", "set", "f", ""), op: call("map", "get-many", "", "f"),
			results: []any{nil, []byte{}}},
		"map, none":       {op: call("map", "get", ""), results: []any{nil}},
		"map, range of 0": {op: call("map", "range", "", 0), kind: kv.KindInvalid},
		"map, increment by 0": {first: call("map", "increment", "", 0), op: call("map", "get", ""),
			results: []any{[]byte("0")}},
		"list": {first: call("list", "append", "", "x", ""), op: call("list", "range", 0, -1),
			results: []any{[]byte{}, []byte("x"), []byte{}}},
		"list, get":  {first: call("list", "append", ""), op: call("list", "get", 0), results: []any{[]byte{}}},
		"list, none": {op: call("list", "get", 0), results: []any{nil}},
		"sorted set": {first: call("sorted-set", "add", 0.0, ""), op: call("sorted-set", "score", ""),
			results: []any{0.0}},
		"sorted set, none": {op: call("sorted-set", "score", ""), results: []any{nil}},
		"sorted set, ranks": {first: call("sorted-set", "add", 0.0, ""), op: call("sorted-set", "range-by-rank", 0, 0),
			results: []any{[]byte{}, 0.0}},
		"sorted set, limit 0": {op: call("sorted-set", "range-by-score", 0.0, 1.0, 0), kind: kv.KindInvalid},
		"top-k": {first: call("top-k", "add", 0.0, ""), op: call("top-k", "max"),
			results: []any{[]byte{}, 0.0}},
		"top-k, top 0":  {op: call("top-k", "top", 0), kind: kv.KindInvalid},
		"summary":       {first: call("summary", "add", 0.0), op: call("summary", "min"), results: []any{0.0}},
		"summary, none": {op: call("summary", "min"), results: []any{nil}},
		"bounded": {first: call("bounded-counter", "create", -5, 5, 0), op: call("bounded-counter", "get"),
			results: []any{int64(0)}},
		"bounded, no start": {first: call("bounded-counter", "create", -5, 5), op: call("bounded-counter", "get"),
			results: []any{int64(-5)}},
		"bounded, of 0": {first: call("bounded-counter", "create", 0, 0, 0), op: call("bounded-counter", "bounds"),
			results: []any{int64(0), int64(0)}},
		"bounded, add of 0": {first: call("bounded-counter", "create", -5, 5, 0), op: call("bounded-counter", "add", 0),
			kind: kv.KindInvalid},
		"bounded, sold out": {first: call("bounded-counter", "create", 0, 5, 0),
			op: call("bounded-counter", "subtract", 1), kind: kv.KindOutOfRange},
		"bounded, too much": {first: call("bounded-counter", "create", 0, 5), op: call("bounded-counter", "add", 6),
			kind: kv.KindOutOfRange},
		"bounded, none":      {op: call("bounded-counter", "subtract", 1), kind: kv.KindNotFound},
		"bounded, none, add": {op: call("bounded-counter", "add", 1), kind: kv.KindNotFound},
		"bounded, none, try": {op: call("bounded-counter", "try-subtract", 1), kind: kv.KindNotFound},
		"bounded, others": {first: call("bounded-counter", "create", 0, 5, 0),
			op: call("bounded-counter", "create", 0, 6), kind: kv.KindConditionFailed},
		"ids, none":   {op: call("ids", "next", 0), kind: kv.KindInvalid},
		"value":       {first: call("value", "put", ""), op: call("value", "get"), results: []any{[]byte{}}},
		"value, none": {op: call("value", "get"), results: []any{nil}},
	} {
		for path, run := range paths {
			what, key := path+": "+name, "args/"+path+"/"+name
			op := c.op(key)
			ops := []client.Op{op}
			if c.first != nil {
				ops = []client.Op{c.first(key), op}
			}
			err := run(ctx, db, ops...)
			require.Equal(t, c.kind, kv.KindOf(err), "%s: %v", what, err)
			if c.kind != kv.KindOK {
				require.NotEmpty(t, err.Error(), what)
				continue
			}
			if called, ok := op.(*client.Result[[]any]); ok {
				require.Equal(t, c.results, called.Value(), what)
			}
		}
	}
}

// callOp calls a method of a data type. Its results are those of client.Datum.Any.
func callOp(key, typ, method string, args ...any) *client.Result[[]any] {
	decode := func(data []client.Datum) (out []any, err error) {
		for _, d := range data {
			out = append(out, d.Any())
		}
		return out, nil
	}
	return client.CallOp(key, typ, method, decode, args...)
}

// requireEmptyValuesRead requires that every read returns the key "empty" as empty and the key "none" as
// absent.
func requireEmptyValuesRead(ctx context.Context, t *testing.T, r client.Reader, what string) {
	t.Helper()
	empty, none, page := client.GetOp("empty"), client.GetOp("none"), client.ScanOp(client.Prefix("empty"), 0)
	require.NoError(t, r.Execute(ctx, empty, none, page), what)
	read := func(how string, value []byte, found, exists bool) {
		t.Helper()
		require.Equal(t, exists, found, "%s: %s", what, how)
		want := []byte{}
		if !exists {
			want = nil
		}
		requireValue(t, want, value, what+": "+how)
	}
	read("execute", empty.Value(), empty.Found(), true)
	read("execute, none", none.Value(), none.Found(), false)
	require.Len(t, page.Value().Entries, 1, what)
	read("scan operation", page.Value().Entries[0].Value, true, true)
	for key, exists := range map[string]bool{"empty": true, "none": false} {
		value, found, err := r.Get(ctx, key)
		require.NoError(t, err, what)
		read("get", value, found, exists)
		e, found, err := r.Entry(ctx, key)
		require.NoError(t, err, what)
		read("entry", e.Value, found, exists)
	}
	scanned := 0
	for e, err := range r.Scan(ctx, client.Prefix("empty")) {
		require.NoError(t, err, what)
		read("scan", e.Value, true, true)
		scanned++
	}
	require.Equal(t, 1, scanned, what)
}

// TestEmptyValuesAreRead: every read returns an empty value as empty and not as nil, and an absent one as
// nil.
func TestEmptyValuesAreRead(t *testing.T) {
	t.Parallel()
	ctx, db := emptyStore(t)
	var report client.Report
	put, own, none := client.PutOp("empty", nil), client.GetOp("empty"), client.GetOp("none")
	require.NoError(t, db.With(client.ReportTo(&report)).Execute(ctx, put, own, none))
	requireValue(t, []byte{}, own.Value(), "own write of a one-shot")
	requireValue(t, nil, none.Value(), "none, in a one-shot")
	outcome, err := db.Outcome(ctx, report.TxID, put, own, none)
	require.NoError(t, err)
	require.Equal(t, client.Committed, outcome)
	require.True(t, own.Found())
	require.False(t, none.Found())
	requireValue(t, []byte{}, own.Value(), "outcome")
	requireValue(t, nil, none.Value(), "none, of an outcome")

	requireEmptyValuesRead(ctx, t, db, "db")
	snapshot, err := db.CreateSnapshot(ctx, "s", client.TTL(time.Hour))
	require.NoError(t, err)
	requireEmptyValuesRead(ctx, t, snapshot, "snapshot")
	requireEmptyValuesRead(ctx, t, db.AtSnapshot("s"), "snapshot by its name")
	require.NoError(t, db.View(ctx, func(ctx context.Context, v *client.View) error {
		requireEmptyValuesRead(ctx, t, v, "view")
		return nil
	}))
	require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		require.NoError(t, tx.Put(ctx, "own", nil))
		requireEmptyValuesRead(ctx, t, tx, "update")
		for key, want := range map[string][]byte{"empty": {}, "none": nil, "own": {}} {
			value, found, err := tx.GetForUpdate(ctx, key)
			require.NoError(t, err, key)
			require.Equal(t, want != nil, found, key)
			requireValue(t, want, value, "get for update of "+key)
		}
		value, found, err := tx.Get(ctx, "own")
		require.NoError(t, err)
		require.True(t, found)
		requireValue(t, []byte{}, value, "own write")
		for e, err := range tx.Scan(ctx, client.Range{}) {
			require.NoError(t, err)
			requireValue(t, []byte{}, e.Value, "scan of an update")
		}
		return nil
	}))

	dump, nothing := client.DumpOp("empty"), client.DumpOp("none")
	require.NoError(t, db.Execute(ctx, dump, nothing))
	require.True(t, dump.Found())
	require.False(t, nothing.Found())
	require.Equal(t, client.Type(""), nothing.Value().Type())
	restored := client.GetOp("restored")
	require.NoError(t, db.Execute(ctx, client.RestoreOp("restored", dump.Value()), restored))
	require.True(t, restored.Found())
	requireValue(t, []byte{}, restored.Value(), "dump")
}

// TestFailedConditionsReportEmptyValues: the error has an empty value as empty and not as nil, and an
// absent one as nil.
func TestFailedConditionsReportEmptyValues(t *testing.T) {
	t.Parallel()
	ctx, db := emptyStore(t)
	require.NoError(t, db.Put(ctx, "empty", nil))
	current := func(err error) *client.Entry {
		t.Helper()
		failed, ok := errors.AsType[*client.Error](err)
		require.True(t, ok, "%v", err)
		require.NotNil(t, failed.Current, "%v", err)
		return failed.Current
	}
	for _, c := range []client.Condition{client.IfAbsent(), client.IfValue([]byte("x"))} {
		e := current(db.Put(ctx, "empty", nil, c))
		require.Equal(t, client.TypeValue, e.Type)
		requireValue(t, []byte{}, e.Value, "the current value")
	}
	e := current(db.Put(ctx, "none", nil, client.IfValue(nil)))
	require.Equal(t, client.Type(""), e.Type)
	requireValue(t, nil, e.Value, "the current value")
}
