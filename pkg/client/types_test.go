package client_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/linchpintest"
)

// onEach runs a test of a data type on each kind of writer, with a store of its own.
func onEach(t *testing.T, run func(t *testing.T, ctx context.Context, w client.Writer)) {
	onBoth(t, func(t *testing.T) *client.DB { db, _ := openStore(t); return db }, run)
}

// onCluster is onEach on a whole node in place of a store in memory.
func onCluster(t *testing.T, run func(t *testing.T, ctx context.Context, w client.Writer)) {
	onBoth(t, func(t *testing.T) *client.DB { return linchpintest.Start(t) }, run)
}

func onBoth(t *testing.T, open func(*testing.T) *client.DB, run func(*testing.T, context.Context, client.Writer)) {
	t.Run("DB", func(t *testing.T) { run(t, within(t, 20*time.Second), open(t)) })
	t.Run("Tx", func(t *testing.T) {
		db := open(t)
		require.NoError(t, db.Update(within(t, 20*time.Second), func(ctx context.Context, tx *client.Tx) error {
			run(t, ctx, tx)
			return nil
		}))
	})
}

// is holds that there is a value.
func is[T any](t *testing.T, want T) func(T, bool, error) {
	return func(got T, ok bool, err error) {
		t.Helper()
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
}

// none holds that there is no value.
func none[T any](t *testing.T) func(T, bool, error) {
	return func(got T, ok bool, err error) {
		t.Helper()
		require.NoError(t, err)
		require.False(t, ok)
		require.Zero(t, got)
	}
}

// eq holds that a result is what it should be.
func eq[T any](t *testing.T, want T) func(T, error) {
	return func(got T, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestValue(t *testing.T) {
	type item struct{ Name string }
	onEach(t, func(t *testing.T, ctx context.Context, w client.Writer) {
		v := client.NewValue("k", client.JSON[item]())
		require.Equal(t, "k", v.Key())
		none[item](t)(v.Get(ctx, w))
		require.NoError(t, v.Put(ctx, w, item{"lamp"}, client.IfAbsent()))
		is(t, item{"lamp"})(v.Get(ctx, w))
		require.NoError(t, v.CompareAndSet(ctx, w, item{"lamp"}, item{"sofa"}))
		if tx, ok := w.(*client.Tx); ok {
			is(t, item{"sofa"})(v.GetForUpdate(ctx, tx))
		}
		put := v.PutOp(item{"bed"})
		require.NoError(t, w.Execute(ctx, put))
		require.False(t, put.Value().IsZero())
		is(t, item{"bed"})(v.Get(ctx, w))
	})
}

func TestCounter(t *testing.T) {
	onEach(t, func(t *testing.T, ctx context.Context, w client.Writer) {
		c := client.NewCounter("n")
		eq[int64](t, 0)(c.Get(ctx, w))
		require.NoError(t, c.Add(ctx, w, 5))
		eq[int64](t, 3)(c.AddGet(ctx, w, -2))
		eq[int64](t, 3)(c.Get(ctx, w))
		require.Equal(t, "n", c.Key())
	})
}

func TestBoundedCounter(t *testing.T) {
	onEach(t, func(t *testing.T, ctx context.Context, w client.Writer) {
		c := client.NewBoundedCounter("n")
		none[int64](t)(c.Get(ctx, w))
		none[client.Bounds](t)(c.Bounds(ctx, w))
		require.NoError(t, c.Create(ctx, w, -1, 10, 4))
		require.NoError(t, c.Create(ctx, w, -1, 10, 7), "no effect")
		require.NoError(t, c.Add(ctx, w, 6))
		eq(t, false)(c.TryAdd(ctx, w, 1))
		eq(t, true)(c.TrySubtract(ctx, w, 11))
		eq(t, false)(c.TrySubtract(ctx, w, 1))
		eq(t, true)(c.TryAdd(ctx, w, 3))
		require.NoError(t, c.Subtract(ctx, w, 1))
		is[int64](t, 1)(c.Get(ctx, w))
		is(t, client.Bounds{Floor: -1, Ceiling: 10})(c.Bounds(ctx, w))
	})
	db, _ := openStore(t)
	c := client.NewBoundedCounter("n")
	ctx := within(t, 10*time.Second)
	require.ErrorIs(t, c.Add(ctx, db, 1), client.ErrNotFound)
	require.NoError(t, c.Create(ctx, db, 0, 1, 0))
	require.ErrorIs(t, c.Add(ctx, db, 2), client.ErrOutOfRange)
	require.ErrorIs(t, c.Create(ctx, db, 0, 2, 0), client.ErrConditionFailed, "it has other bounds")
}

func TestSet(t *testing.T) {
	onEach(t, func(t *testing.T, ctx context.Context, w client.Writer) {
		s := client.NewSet("s", client.String)
		require.NoError(t, s.Add(ctx, w))
		require.NoError(t, s.Add(ctx, w, "b", "a"))
		eq(t, 1)(s.AddCount(ctx, w, "c", "a"))
		eq(t, 3)(s.Len(ctx, w))
		eq(t, []string{"a", "b", "c"})(s.Members(ctx, w))
		eq(t, true)(s.Contains(ctx, w, "b"))
		require.NoError(t, s.Remove(ctx, w, "b", "x"))
		eq(t, false)(s.Contains(ctx, w, "b"))
		eq(t, 1)(s.RemoveCount(ctx, w, "a", "x"))
		eq(t, 0)(s.RemoveCount(ctx, w))
		eq(t, []string{"c"})(s.Members(ctx, w))
	})
}

func TestMap(t *testing.T) {
	onEach(t, func(t *testing.T, ctx context.Context, w client.Writer) {
		m := client.NewMap("m", client.Int64)
		require.NoError(t, m.Set(ctx, w, "a", 1))
		eq(t, false)(m.SetIfAbsent(ctx, w, "a", 7))
		eq(t, true)(m.SetIfAbsent(ctx, w, "b", 2))
		require.NoError(t, m.Increment(ctx, w, "c", 4))
		eq[int64](t, 3)(m.IncrementGet(ctx, w, "c", -1))
		is[int64](t, 1)(m.Get(ctx, w, "a"))
		none[int64](t)(m.Get(ctx, w, "x"))
		eq(t, map[string]int64{"a": 1, "c": 3})(m.GetMany(ctx, w, "a", "x", "c"))
		eq(t, map[string]int64{})(m.GetMany(ctx, w))
		eq(t, true)(m.Has(ctx, w, "b"))
		eq(t, 3)(m.Len(ctx, w))
		eq(t, []client.Field[int64]{{"a", 1}, {"b", 2}, {"c", 3}})(m.All(ctx, w))
		eq(t, []client.Field[int64]{{"b", 2}})(m.Range(ctx, w, "aa", 1))
		require.NoError(t, m.Delete(ctx, w))
		require.NoError(t, m.Delete(ctx, w, "a", "b"))
		eq(t, 1)(m.Len(ctx, w))
	})
}

func TestSortedSet(t *testing.T) {
	onEach(t, func(t *testing.T, ctx context.Context, w client.Writer) {
		s := client.NewSortedSet("z", client.String)
		require.NoError(t, s.Add(ctx, w, "low", 1))
		require.NoError(t, s.Add(ctx, w, "high", 2.5))
		require.NoError(t, s.Increment(ctx, w, "mid", 2))
		eq(t, 1.5)(s.IncrementGet(ctx, w, "mid", -0.5))
		is(t, 2.5)(s.Score(ctx, w, "high"))
		none[float64](t)(s.Score(ctx, w, "x"))
		is(t, 0)(s.Rank(ctx, w, "low"))
		is(t, 2)(s.RevRank(ctx, w, "low"))
		none[int](t)(s.Rank(ctx, w, "x"))
		eq(t, []client.Scored[string]{{"low", 1}, {"mid", 1.5}})(s.RangeByRank(ctx, w, 0, 1))
		eq(t, []client.Scored[string]{{"high", 2.5}, {"mid", 1.5}})(s.RangeByRevRank(ctx, w, 0, 1))
		eq(t, []client.Scored[string]{{"mid", 1.5}, {"high", 2.5}})(s.RangeByScore(ctx, w, 1.5, math.MaxInt32, 0))
		eq(t, []client.Scored[string]{{"low", 1}})(s.RangeByScore(ctx, w, 0, 3, 1))
		require.NoError(t, s.Remove(ctx, w))
		require.NoError(t, s.Remove(ctx, w, "mid", "x"))
		eq(t, 2)(s.Len(ctx, w))
	})
}

func TestTopK(t *testing.T) {
	onEach(t, func(t *testing.T, ctx context.Context, w client.Writer) {
		k := client.NewTopK("k", client.Int64)
		none[client.Scored[int64]](t)(k.Max(ctx, w))
		for i := range int64(5) {
			require.NoError(t, k.Add(ctx, w, i, float64(i)))
		}
		require.NoError(t, k.Add(ctx, w, 1, 0.5), "not its highest")
		is(t, client.Scored[int64]{Member: 4, Score: 4})(k.Max(ctx, w))
		eq(t, []client.Scored[int64]{{4, 4}, {3, 3}})(k.Top(ctx, w, 2))
	})
}

func TestList(t *testing.T) {
	onEach(t, func(t *testing.T, ctx context.Context, w client.Writer) {
		l := client.NewList("l", client.Bytes)
		require.NoError(t, l.Append(ctx, w))
		require.NoError(t, l.Append(ctx, w, b("a"), b("b")))
		eq(t, 4)(l.AppendLen(ctx, w, b("c"), nil))
		is(t, b("a"))(l.Get(ctx, w, 0))
		is(t, b(""))(l.Get(ctx, w, -1))
		none[[]byte](t)(l.Get(ctx, w, 4))
		require.NoError(t, l.Trim(ctx, w, 0, -2))
		eq(t, [][]byte{b("b"), b("c")})(l.Range(ctx, w, 1, -1))
		eq(t, 3)(l.Len(ctx, w))
	})
}

func TestSummary(t *testing.T) {
	onEach(t, func(t *testing.T, ctx context.Context, w client.Writer) {
		s := client.NewSummary("s")
		none[float64](t)(s.Mean(ctx, w))
		eq(t, client.Stats{})(s.Stats(ctx, w))
		require.NoError(t, s.Add(ctx, w))
		require.NoError(t, s.Add(ctx, w, 1, 2, 3, 6))
		eq(t, 4)(s.Count(ctx, w))
		eq(t, 12.0)(s.Sum(ctx, w))
		is(t, 3.0)(s.Mean(ctx, w))
		is(t, 1.0)(s.Min(ctx, w))
		is(t, 6.0)(s.Max(ctx, w))
		is(t, 3.5)(s.Variance(ctx, w))
		eq(t, client.Stats{Count: 4, Sum: 12, Mean: 3, Min: 1, Max: 6, Variance: 3.5})(s.Stats(ctx, w))
	})
}

func TestIDs(t *testing.T) {
	db := linchpintest.Start(t) // the store of other tests does not number operations
	both := func(run func(ctx context.Context, w client.Writer)) {
		run(t.Context(), db)
		require.NoError(t, db.Update(t.Context(), func(ctx context.Context, tx *client.Tx) error {
			run(ctx, tx)
			return nil
		}))
	}
	both(func(ctx context.Context, w client.Writer) {
		ids := client.NewIDs("i")
		seen := map[client.ID]bool{}
		one, err := ids.Next(ctx, w)
		require.NoError(t, err)
		require.Len(t, one.String(), 32)
		many, err := ids.NextN(ctx, w, 5)
		require.NoError(t, err)
		require.Len(t, many, 5)
		for _, id := range append(many, one) {
			require.False(t, seen[id])
			seen[id] = true
		}
	})
}

// TestTheNodeDecidesWhetherAnUnknownMethodWrites: a type of the cluster's own can be read in the past and
// in a View.
func TestTheNodeDecidesWhetherAnUnknownMethodWrites(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 20*time.Second)
	_, err := db.CreateSnapshot(ctx, "s")
	require.NoError(t, err)
	own := client.CallOp[int]("k", "own", "len", nil)
	err = db.AtSnapshot("s").Execute(ctx, own)
	requireKind(t, client.KindInvalid, err)
	require.ErrorContains(t, err, `unknown data type "own"`)
	err = db.View(ctx, func(ctx context.Context, v *client.View) error { return v.Execute(ctx, own) })
	require.ErrorContains(t, err, `unknown data type "own"`)
	err = db.View(ctx, func(ctx context.Context, v *client.View) error {
		return v.Execute(ctx, client.PutOp("k", nil))
	})
	require.ErrorContains(t, err, "read-only")
}

// TestTypesAreReadInViewsAndSnapshots, all of one state.
func TestTypesAreReadInViewsAndSnapshots(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 20*time.Second)
	set, list := client.NewSet("s", client.String), client.NewList("l", client.Int64)
	require.NoError(t, db.Execute(ctx, set.AddOp("a"), list.AppendOp(1, 2)))
	past, err := db.CreateSnapshot(ctx, "s")
	require.NoError(t, err)
	require.NoError(t, db.Execute(ctx, set.AddOp("b"), list.AppendOp(3)))
	read := func(ctx context.Context, r client.Reader, members []string, elements []int64) {
		eq(t, members)(set.Members(ctx, r))
		eq(t, elements)(list.Range(ctx, r, 0, -1))
	}
	read(ctx, past, []string{"a"}, []int64{1, 2})
	require.NoError(t, db.View(ctx, func(ctx context.Context, v *client.View) error {
		read(ctx, v, []string{"a", "b"}, []int64{1, 2, 3})
		return nil
	}))
}

func TestAnotherTypeIsAnError(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 20*time.Second)
	require.NoError(t, client.NewSet("s", client.String).Add(ctx, db, "not a number"))
	require.NoError(t, db.Put(ctx, "v", b("not a number")))

	_, _, err := db.Get(ctx, "s")
	e := requireKind(t, client.KindWrongType, err)
	require.Equal(t, "s", e.Key)
	require.Equal(t, -1, e.Op)
	require.Contains(t, e.Message, "set")
	_, _, err = client.NewValue("s", client.String).Get(ctx, db)
	requireKind(t, client.KindWrongType, err)
	_, err = client.NewSet("v", client.String).Members(ctx, db)
	requireKind(t, client.KindWrongType, err)
	e, ok := func() (*client.Error, bool) {
		entry, ok, err := db.Entry(ctx, "s")
		require.NoError(t, err)
		require.Equal(t, client.TypeSet, entry.Type)
		return nil, ok
	}()
	require.Nil(t, e)
	require.True(t, ok)

	// What a codec cannot decode: the error of a read, and of a transaction that has committed.
	numbers := client.NewSet("s", client.Int64)
	_, err = numbers.Members(ctx, db)
	e = requireKind(t, client.KindWrongType, err)
	require.Equal(t, client.NotApplied, e.Outcome)
	require.Equal(t, "set.members", e.Operation)
	members := numbers.MembersOp()
	err = db.Execute(ctx, client.PutOp("w", nil), members)
	e = requireKind(t, client.KindWrongType, err)
	require.Equal(t, client.Committed, e.Outcome)
	require.Equal(t, 1, e.Op)
	require.Empty(t, members.Value())
	_, ok, err = db.Get(ctx, "w")
	require.NoError(t, err)
	require.True(t, ok)

	// In a Tx it ends the transaction, unless it is nested.
	require.ErrorIs(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		require.NoError(t, tx.Put(ctx, "x", nil))
		_, err := numbers.Members(ctx, tx)
		require.ErrorIs(t, err, client.ErrWrongType)
		return nil
	}), client.ErrWrongType)
	require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		err := tx.Nested(ctx, func(ctx context.Context) error {
			require.NoError(t, tx.Put(ctx, "x", nil))
			_, err := numbers.Members(ctx, tx)
			return err
		})
		require.ErrorIs(t, err, client.ErrWrongType)
		return tx.Put(ctx, "y", nil)
	}))
	_, ok, err = db.Get(ctx, "x")
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = db.Get(ctx, "y")
	require.NoError(t, err)
	require.True(t, ok)
}

// picky encodes nothing.
type picky struct{}

func (picky) Encode(string) ([]byte, error) { return nil, errors.New("not this one") }
func (picky) Decode([]byte) (string, error) { return "", errors.New("nor that one") }

func TestWhatCannotBeEncodedIsNotSent(t *testing.T) {
	db, s := openNoted(t)
	ctx := within(t, 10*time.Second)
	set, sorted, value := client.NewSet("s", picky{}), client.NewSortedSet("z", picky{}), client.NewValue("v", picky{})
	for _, op := range []client.Op{set.AddOp("x"), set.ContainsOp("x"), sorted.IncrementOp("x", 1),
		sorted.IncrementGetOp("x", 1),
		sorted.AddOp("x", 1), value.PutOp("x"), value.CompareAndSetOp("x", "y")} {
		e := requireKind(t, client.KindInvalid, db.Execute(ctx, op))
		require.Contains(t, e.Message, "not this one")
		require.Equal(t, e, op.Err())
	}
	require.Empty(t, s.take())
}

// TestCallsByName are for types without a Go type.
func TestCallsByName(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	add := client.CallOp[bool]("m", "map", "set", nil, "field", 7.5)
	require.False(t, add.ReadOnly())
	size := client.CallOp("m", "map", "len", func(d []client.Datum) (int64, error) { return d[0].Int(), nil })
	require.True(t, size.ReadOnly())
	require.ErrorIs(t, db.Execute(ctx, add), client.ErrInvalid, "a value is bytes")
	add = client.CallOp[bool]("m", "map", "set", nil, "field", b("7.5"))
	require.NoError(t, db.Execute(ctx, add, size))
	require.EqualValues(t, 1, size.Value())
	mine := errors.New("not what I want")
	bad := client.CallOp("m", "map", "len", func([]client.Datum) (int, error) { return 0, mine })
	err := db.Execute(ctx, bad)
	requireKind(t, client.KindWrongType, err)
	require.ErrorIs(t, err, mine)
	require.ErrorIs(t, db.Execute(ctx, client.CallOp[int]("m", "map", "nonsense", nil)), client.ErrInvalid)
}
