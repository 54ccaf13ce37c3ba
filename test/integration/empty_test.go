package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// emptyStore is a cluster, and a client of it.
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
	return ctx, proc.OpenOld(t, c.Addrs()[:1])
}

// paths are the ways in which an operation gets to the store.
var paths = map[string]func(context.Context, *client.DB, ...client.Op) ([]client.Result, error){
	"one-shot": func(ctx context.Context, db *client.DB, ops ...client.Op) ([]client.Result, error) {
		return db.OneShot(ctx).Do(ops...)
	},
	"interactive": func(ctx context.Context, db *client.DB, ops ...client.Op) (rs []client.Result, err error) {
		err = db.Update(ctx, func(tx *client.Tx) error {
			rs, err = tx.Do(ops...)
			return err
		})
		return rs, err
	},
	"own writes": func(ctx context.Context, db *client.DB, ops ...client.Op) (rs []client.Result, err error) {
		err = db.Update(ctx, func(tx *client.Tx) error {
			for _, op := range ops {
				one, err := tx.Do(op)
				if err != nil {
					return err
				}
				rs = append(rs, one...)
			}
			return nil
		})
		return rs, err
	},
}

// TestConditionsOnEmptyValues: the condition "the value is empty" is not the absence of a
// condition. It holds for a value that is empty, and for no other, on every path. A version
// of zero is the version of no write.
func TestConditionsOnEmptyValues(t *testing.T) {
	t.Parallel()
	ctx, db := emptyStore(t)
	kinds := map[string]func(key []byte) client.Op{
		"put":     func(key []byte) client.Op { return client.Put(key, []byte("new")) },
		"delete":  client.Delete,
		"require": client.RequireExists,
	}
	states := map[string]*client.Result{"absent": {}, "empty": {Found: true, Value: []byte{}}, "full": {Found: true, Value: []byte("x")}}
	conditions := map[string]func(client.Op) client.Op{
		"value nil":    func(op client.Op) client.Op { return op.IfValue(nil) },
		"value empty":  func(op client.Op) client.Op { return op.IfValue([]byte{}) },
		"version zero": func(op client.Op) client.Op { return op.IfVersion(kv.Version{}) },
	}
	n := 0
	for path, run := range paths {
		for kind, build := range kinds {
			for state, holds := range states {
				for condition, with := range conditions {
					n++
					what, key := strings.Join([]string{path, kind, state, condition}, ", "), fmt.Appendf(nil, "k%d", n)
					if holds.Found {
						_, err := db.Execute(ctx, client.Put(key, holds.Value))
						require.NoError(t, err, what)
					}
					want := kv.KindConditionFailed
					switch {
					case condition == "version zero":
						want = kv.KindInvalid
					case state == "empty":
						want = kv.KindOK
					}
					_, err := run(ctx, db, with(build(key)))
					require.Equal(t, want, kv.KindOf(err), "%s: %v", what, err)
					got, err := db.Execute(ctx, client.Get(key))
					require.NoError(t, err, what)
					r := got.Results[0]
					if want == kv.KindOK && kind != "require" {
						require.Equal(t, kind == "put", r.Found, what)
						continue
					}
					require.Equal(t, holds.Found, r.Found, what)
					require.Equal(t, holds.Value, r.Value, "%s: nil is absent, and empty is empty", what)
				}
			}
		}
	}
}

// TestOneClientTakesTheLock that is free when its value is empty: by a comparison with nil,
// and by a comparison with what was read.
func TestOneClientTakesTheLock(t *testing.T) {
	t.Parallel()
	ctx, db := emptyStore(t)
	_, err := db.Execute(ctx, client.Put([]byte("lock"), nil))
	require.NoError(t, err)
	var taken atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			read, err := db.Execute(ctx, client.Get([]byte("lock")))
			if err != nil {
				t.Error(err)
				return
			}
			old := read.Results[0].Value
			if i%2 == 0 && len(old) == 0 {
				old = nil
			}
			if len(old) > 0 {
				return
			}
			_, err = db.Execute(ctx, client.CompareAndSet([]byte("lock"), old, fmt.Appendf(nil, "owner %d", i)))
			switch kv.KindOf(err) {
			case kv.KindOK:
				taken.Add(1)
			case kv.KindConditionFailed:
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, taken.Load())
}

// TestEmptyAndZeroArguments of every operation, on every path.
func TestEmptyAndZeroArguments(t *testing.T) {
	t.Parallel()
	ctx, db := emptyStore(t)
	call := func(typ, method string, args ...any) func([]byte) client.Op {
		return func(key []byte) client.Op { return client.Call(key, typ, method, args...) }
	}
	for name, c := range map[string]struct {
		// first makes what op is about.
		first, op func(key []byte) client.Op
		kind      kv.Kind
		// answer is what op answers, as client.Datum.Any.
		answer []any
	}{
		"put of nil":                 {op: func(k []byte) client.Op { return client.Put(k, nil) }},
		"put with no time to live":   {op: func(k []byte) client.Op { return client.Put(k, nil).WithTTL(0) }, kind: kv.KindInvalid},
		"expire in no time":          {op: func(k []byte) client.Op { return client.Expire(k, 0) }, kind: kv.KindInvalid},
		"expire at the zero time":    {op: func(k []byte) client.Op { return client.Expire(k, time.Hour).At(time.Time{}) }, kind: kv.KindInvalid},
		"put at the zero time":       {op: func(k []byte) client.Op { return client.Put(k, nil).WithTTL(time.Hour).At(time.Time{}) }, kind: kv.KindInvalid},
		"add of 0":                   {op: func(k []byte) client.Op { return client.Add(k, 0) }},
		"add-get of 0":               {op: func(k []byte) client.Op { return client.AddGet(k, 0) }},
		"scan of everything":         {op: func([]byte) client.Op { return client.ScanRange(nil, nil, 0) }},
		"scan of nothing":            {op: func(k []byte) client.Op { return client.ScanRange(k, k, 0) }, kind: kv.KindInvalid},
		"scan with a negative limit": {op: func(k []byte) client.Op { return client.ScanRange(k, nil, -1) }, kind: kv.KindInvalid},
		"scan with a condition":      {op: func(k []byte) client.Op { return client.ScanRange(k, nil, 0).IfExists() }, kind: kv.KindInvalid},
		"delete-range of everything": {op: func([]byte) client.Op { return client.DeleteRange(nil, nil) }, kind: kv.KindInvalid},
		"delete-range on condition":  {op: func(k []byte) client.Op { return client.DeleteRange(k, append(k, 0)).IfExists() }, kind: kv.KindInvalid},
		"restore on condition":       {op: func(k []byte) client.Op { return client.Restore(k, 0, nil, 0).IfAbsent() }, kind: kv.KindInvalid},
		"add on condition":           {op: func(k []byte) client.Op { return client.Add(k, 1).IfAbsent() }, kind: kv.KindInvalid},
		"call on condition":          {op: func(k []byte) client.Op { return client.Call(k, "set", "len").IfAbsent() }, kind: kv.KindInvalid},
		"call of nothing":            {op: call("", ""), kind: kv.KindInvalid},
		"call with an argument nil":  {op: call("set", "add", nil), kind: kv.KindInvalid},
		"call with too few":          {op: call("set", "add"), kind: kv.KindInvalid},

		"set":                 {first: call("set", "add", ""), op: call("set", "contains", ""), answer: []any{true}},
		"set, nil":            {first: call("set", "add", []byte(nil)), op: call("set", "members"), answer: []any{[]byte{}}},
		"set, none":           {op: call("set", "contains", ""), answer: []any{false}},
		"map":                 {first: call("map", "set", "", ""), op: call("map", "get", ""), answer: []any{[]byte{}}},
		"map, all":            {first: call("map", "set", "", []byte(nil)), op: call("map", "all"), answer: []any{[]byte{}, []byte{}}},
		"map, many":           {first: call("map", "set", "f", ""), op: call("map", "get-many", "", "f"), answer: []any{nil, []byte{}}},
		"map, none":           {op: call("map", "get", ""), answer: []any{nil}},
		"map, range of 0":     {op: call("map", "range", "", 0), kind: kv.KindInvalid},
		"map, increment by 0": {first: call("map", "increment", "", 0), op: call("map", "get", ""), answer: []any{[]byte("0")}},
		"list":                {first: call("list", "append", "", "x", ""), op: call("list", "range", 0, -1), answer: []any{[]byte{}, []byte("x"), []byte{}}},
		"list, get":           {first: call("list", "append", ""), op: call("list", "get", 0), answer: []any{[]byte{}}},
		"list, none":          {op: call("list", "get", 0), answer: []any{nil}},
		"sorted set":          {first: call("sorted-set", "add", 0.0, ""), op: call("sorted-set", "score", ""), answer: []any{0.0}},
		"sorted set, none":    {op: call("sorted-set", "score", ""), answer: []any{nil}},
		"sorted set, ranks":   {first: call("sorted-set", "add", 0.0, ""), op: call("sorted-set", "range-by-rank", 0, 0), answer: []any{[]byte{}, 0.0}},
		"sorted set, limit 0": {op: call("sorted-set", "range-by-score", 0.0, 1.0, 0), kind: kv.KindInvalid},
		"top-k":               {first: call("top-k", "add", 0.0, ""), op: call("top-k", "max"), answer: []any{[]byte{}, 0.0}},
		"top-k, top 0":        {op: call("top-k", "top", 0), kind: kv.KindInvalid},
		"summary":             {first: call("summary", "add", 0.0), op: call("summary", "min"), answer: []any{0.0}},
		"summary, none":       {op: call("summary", "min"), answer: []any{nil}},
		"bounded":             {first: call("bounded-counter", "create", -5, 5, 0), op: call("bounded-counter", "get"), answer: []any{int64(0)}},
		"bounded, no start":   {first: call("bounded-counter", "create", -5, 5), op: call("bounded-counter", "get"), answer: []any{int64(-5)}},
		"bounded, of 0":       {first: call("bounded-counter", "create", 0, 0, 0), op: call("bounded-counter", "bounds"), answer: []any{int64(0), int64(0)}},
		"bounded, add of 0":   {first: call("bounded-counter", "create", -5, 5, 0), op: call("bounded-counter", "add", 0), kind: kv.KindInvalid},
		"bounded, sold out":   {first: call("bounded-counter", "create", 0, 5, 0), op: call("bounded-counter", "subtract", 1), kind: kv.KindOutOfRange},
		"bounded, too much":   {first: call("bounded-counter", "create", 0, 5), op: call("bounded-counter", "add", 6), kind: kv.KindOutOfRange},
		"bounded, none":       {op: call("bounded-counter", "subtract", 1), kind: kv.KindNotFound},
		"bounded, none, add":  {op: call("bounded-counter", "add", 1), kind: kv.KindNotFound},
		"bounded, none, try":  {op: call("bounded-counter", "try-subtract", 1), kind: kv.KindNotFound},
		"bounded, others":     {first: call("bounded-counter", "create", 0, 5, 0), op: call("bounded-counter", "create", 0, 6), kind: kv.KindConditionFailed},
		"ids, none":           {op: call("ids", "next", 0), kind: kv.KindInvalid},
		"value":               {first: call("value", "put", ""), op: call("value", "get"), answer: []any{[]byte{}}},
		"value, none":         {op: call("value", "get"), answer: []any{nil}},
	} {
		for path, run := range paths {
			what, key := path+": "+name, []byte("args/"+path+"/"+name)
			var ops []client.Op
			if c.first != nil {
				ops = append(ops, c.first(key))
			}
			rs, err := run(ctx, db, append(ops, c.op(key))...)
			require.Equal(t, c.kind, kv.KindOf(err), "%s: %v", what, err)
			if c.kind != kv.KindOK {
				failed, ok := errors.AsType[*client.Error](err)
				require.True(t, ok, what)
				require.False(t, failed.Error() == "", what)
				continue
			}
			var answer []any
			for _, d := range rs[len(rs)-1].Answer {
				answer = append(answer, d.Any())
			}
			require.Equal(t, c.answer, answer, what)
		}
	}
}

// TestEmptyKeys: no operation takes one, on any path.
func TestEmptyKeys(t *testing.T) {
	t.Parallel()
	ctx, db := emptyStore(t)
	for _, key := range [][]byte{nil, {}} {
		for _, op := range []client.Op{client.Get(key), client.GetForUpdate(key), client.Put(key, key), client.Delete(key), client.PutIfAbsent(key, key),
			client.CompareAndSet(key, nil, nil), client.RequireAbsent(key), client.RequireEquals(key, nil), client.Add(key, 1), client.AddGet(key, 1),
			client.Expire(key, time.Hour), client.Persist(key), client.Call(key, "set", "len"), client.Dump(key), client.Restore(key, 0, nil, 0)} {
			for path, run := range paths {
				_, err := run(ctx, db, op)
				require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%s: %v: %v", path, op, err)
			}
		}
	}
}

// TestEmptyValuesAreRead as empty and not as nil, and absent ones as nil, by every read.
func TestEmptyValuesAreRead(t *testing.T) {
	t.Parallel()
	ctx, db := emptyStore(t)
	empty, absent := []byte("empty"), []byte("none")
	out, err := db.Execute(ctx, client.Put(empty, nil), client.Get(empty), client.Get(absent))
	require.NoError(t, err)
	reads := func(what string, rs ...client.Result) {
		t.Helper()
		require.True(t, rs[0].Found, what)
		require.Equal(t, []byte{}, rs[0].Value, what)
		require.False(t, rs[1].Found, what)
		require.Nil(t, rs[1].Value, what)
	}
	values := func(what string, a, b client.Value) {
		t.Helper()
		reads(what, client.Result{Found: a.Found, Value: a.Value}, client.Result{Found: b.Found, Value: b.Value})
	}
	pairs := func(what string, p client.Pair, err error) {
		t.Helper()
		require.NoError(t, err, what)
		require.Equal(t, []byte{}, p.Value, what)
	}
	reads("own write of a one-shot", out.Results[1:]...)
	committed, results, err := db.Outcome(ctx, out.ID)
	require.NoError(t, err)
	require.True(t, committed)
	reads("outcome", results[1:]...)
	out, err = db.Execute(ctx, client.Get(empty), client.Get(absent), client.ScanRange(nil, nil, 0), client.Dump(empty), client.Dump(absent))
	require.NoError(t, err)
	reads("one-shot", out.Results[:2]...)
	pairs("scan of a one-shot", out.Results[2].Pairs[0], nil)
	reads("dump", out.Results[3:]...)
	for p, err := range db.Scan(ctx, nil, nil, client.ScanOptions{}) {
		pairs("scan", p, err)
	}
	snapshot, err := db.CreateSnapshot(ctx, "s", time.Hour)
	require.NoError(t, err)
	for _, at := range []string{"", snapshot.ID} {
		x := db.With()
		if at != "" {
			x = db.With(client.AtSnapshot(at))
		}
		out, err := x.Execute(ctx, client.Get(empty), client.Get(absent))
		require.NoError(t, err)
		reads("at "+at, out.Results...)
		for p, err := range x.Scan(ctx, nil, nil, client.ScanOptions{}) {
			pairs("scan at "+at, p, err)
		}
		require.NoError(t, x.View(ctx, func(ro *client.ReadTx) error {
			a, err := ro.Get(empty)
			require.NoError(t, err)
			b, err := ro.Get(absent)
			require.NoError(t, err)
			values("view at "+at, a, b)
			for p, err := range ro.Scan(nil, nil) {
				pairs("scan of a view at "+at, p, err)
			}
			return nil
		}))
	}
	require.NoError(t, db.Update(ctx, func(tx *client.Tx) error {
		for what, get := range map[string]func([]byte) (client.Value, error){"get": tx.Get, "get for update": tx.GetForUpdate} {
			a, err := get(empty)
			require.NoError(t, err)
			b, err := get(absent)
			require.NoError(t, err)
			values(what, a, b)
		}
		require.NoError(t, tx.Put([]byte("own"), nil))
		a, err := tx.Get([]byte("own"))
		require.NoError(t, err)
		values("own write", a, client.Value{})
		for p, err := range tx.Scan(nil, nil) {
			pairs("scan of an update", p, err)
		}
		return nil
	}))
	for what, op := range map[string]client.Op{"one that is absent": client.PutIfAbsent(empty, nil), "another value": client.CompareAndSet(empty, []byte("x"), nil)} {
		_, err = db.Execute(ctx, op)
		failed, ok := errors.AsType[*client.Error](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, []byte{}, failed.Current.Value, what)
	}
	_, err = db.Execute(ctx, client.CompareAndSet(absent, nil, nil))
	failed, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	require.False(t, failed.Current.Found)
	require.Nil(t, failed.Current.Value)
	for p, err := range db.Scan(ctx, nil, nil, client.ScanOptions{Limit: -1}) {
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", p)
	}
}
