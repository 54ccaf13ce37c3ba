package embed_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
)

// typedSteps and the following use every method of every handle.
func typedSteps(ctx context.Context, t *testing.T, w client.Writer, prefix string) {
	ok := func(err error) { t.Helper(); require.NoError(t, err) }
	is := func(want any) func(any, error) {
		return func(got any, err error) { t.Helper(); require.NoError(t, err); require.Equal(t, want, got) }
	}
	there := func(want any) func(any, bool, error) {
		return func(got any, there bool, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, want != nil, there)
			if there {
				require.Equal(t, want, got)
			}
		}
	}
	n := client.NewCounter(prefix + "counter")
	ok(n.Add(ctx, w, 2))
	get := is(int64(2))
	v, err := n.Get(ctx, w)
	get(v, err)
	v, err = n.AddGet(ctx, w, 3)
	is(int64(5))(v, err)

	s := client.NewSet(prefix+"set", client.Int64)
	ok(s.Add(ctx, w, 1, 2))
	size, err := s.AddCount(ctx, w, 2, 3)
	is(1)(size, err)
	size, err = s.RemoveCount(ctx, w, 1, 9)
	is(1)(size, err)
	ok(s.Remove(ctx, w, 2))
	yes, err := s.Contains(ctx, w, 3)
	is(true)(yes, err)
	size, err = s.Len(ctx, w)
	is(1)(size, err)
	members, err := s.Members(ctx, w)
	is([]int64{3})(members, err)

	h := client.NewMap(prefix+"map", client.String)
	ok(h.Set(ctx, w, "a", "x"))
	yes, err = h.SetIfAbsent(ctx, w, "a", "y")
	is(false)(yes, err)
	ok(h.Increment(ctx, w, "n", 2))
	v, err = h.IncrementGet(ctx, w, "n", 3)
	is(int64(5))(v, err)
	field, found, err := h.Get(ctx, w, "a")
	there("x")(field, found, err)
	_, found, err = h.Get(ctx, w, "z")
	there(nil)(nil, found, err)
	fields, err := h.GetMany(ctx, w, "a", "z", "n")
	is(map[string]string{"a": "x", "n": "5"})(fields, err)
	all, err := h.All(ctx, w)
	is([]client.Field[string]{{Name: "a", Value: "x"}, {Name: "n", Value: "5"}})(all, err)
	all, err = h.Range(ctx, w, "b", 10)
	is([]client.Field[string]{{Name: "n", Value: "5"}})(all, err)
	ok(h.Delete(ctx, w, "a"))
	yes, err = h.Has(ctx, w, "a")
	is(false)(yes, err)
	size, err = h.Len(ctx, w)
	is(1)(size, err)
}

func listSteps(ctx context.Context, t *testing.T, w client.Writer, prefix string) {
	ok := func(err error) { t.Helper(); require.NoError(t, err) }
	l := client.NewList(prefix+"list", client.String)
	ok(l.Append(ctx, w, "a", "b"))
	n, err := l.AppendLen(ctx, w, "c")
	ok(err)
	require.EqualValues(t, 3, n)
	ok(l.Trim(ctx, w, 1, -1))
	all, err := l.Range(ctx, w, 0, -1)
	ok(err)
	require.Equal(t, []string{"b", "c"}, all)
	last, found, err := l.Get(ctx, w, -1)
	ok(err)
	require.True(t, found)
	require.Equal(t, "c", last)
	_, found, err = l.Get(ctx, w, 2)
	ok(err)
	require.False(t, found)
	n, err = l.Len(ctx, w)
	ok(err)
	require.EqualValues(t, 2, n)
}

func scoredSteps(ctx context.Context, t *testing.T, w client.Writer, prefix string) {
	ok := func(err error) { t.Helper(); require.NoError(t, err) }
	type scored = client.Scored[string]
	s := client.NewSortedSet(prefix+"scored", client.String)
	ok(s.Add(ctx, w, "a", 1.5))
	ok(s.Increment(ctx, w, "b", 2))
	x, err := s.IncrementGet(ctx, w, "b", 0.25)
	ok(err)
	require.Equal(t, 2.25, x)
	x, found, err := s.Score(ctx, w, "a")
	ok(err)
	require.True(t, found)
	require.Equal(t, 1.5, x)
	place, found, err := s.Rank(ctx, w, "b")
	ok(err)
	require.True(t, found)
	require.EqualValues(t, 1, place)
	place, _, err = s.RevRank(ctx, w, "b")
	ok(err)
	require.EqualValues(t, 0, place)
	_, found, err = s.Rank(ctx, w, "z")
	ok(err)
	require.False(t, found)
	a, b := scored{Member: "a", Score: 1.5}, scored{Member: "b", Score: 2.25}
	up, down := []scored{a, b}, []scored{b, a}
	got, err := s.RangeByRank(ctx, w, 0, -1)
	ok(err)
	require.Equal(t, up, got)
	got, err = s.RangeByRevRank(ctx, w, 0, -1)
	ok(err)
	require.Equal(t, down, got)
	got, err = s.RangeByScore(ctx, w, 0, 3, 1)
	ok(err)
	require.Equal(t, up[:1], got)
	ok(s.Remove(ctx, w, "a"))
	size, err := s.Len(ctx, w)
	ok(err)
	require.EqualValues(t, 1, size)

	k := client.NewTopK(prefix+"top", client.String)
	_, found, err = k.Max(ctx, w)
	ok(err)
	require.False(t, found)
	ok(k.Add(ctx, w, "a", 1))
	ok(k.Add(ctx, w, "b", 2))
	got, err = k.Top(ctx, w, 5)
	ok(err)
	require.Equal(t, []scored{{Member: "b", Score: 2}, {Member: "a", Score: 1}}, got)
	best, found, err := k.Max(ctx, w)
	ok(err)
	require.True(t, found)
	require.Equal(t, scored{Member: "b", Score: 2}, best)
}

func numberSteps(ctx context.Context, t *testing.T, w client.Writer, prefix string) {
	ok := func(err error) { t.Helper(); require.NoError(t, err) }
	c := client.NewBoundedCounter(prefix + "bounded")
	_, found, err := c.Get(ctx, w)
	ok(err)
	require.False(t, found)
	ok(c.Create(ctx, w, 0, 10, 5))
	ok(c.Add(ctx, w, 3))
	ok(c.Subtract(ctx, w, 1))
	yes, err := c.TryAdd(ctx, w, 4)
	ok(err)
	require.False(t, yes)
	yes, err = c.TrySubtract(ctx, w, 7)
	ok(err)
	require.True(t, yes)
	n, found, err := c.Get(ctx, w)
	ok(err)
	require.True(t, found)
	require.EqualValues(t, 0, n)
	bounds, found, err := c.Bounds(ctx, w)
	ok(err)
	require.True(t, found)
	require.Equal(t, client.Bounds{Floor: 0, Ceiling: 10}, bounds)

	b := client.NewSummary(prefix + "summary")
	_, found, err = b.Mean(ctx, w)
	ok(err)
	require.False(t, found)
	empty, err := b.Stats(ctx, w)
	ok(err)
	require.Equal(t, client.Stats{}, empty)
	ok(b.Add(ctx, w, 1, 2.5, 4))
	sum, err := b.Sum(ctx, w)
	ok(err)
	require.Equal(t, 7.5, sum)
	whole, err := b.Stats(ctx, w)
	ok(err)
	require.Equal(t, client.Stats{Count: 3, Sum: 7.5, Mean: 2.5, Min: 1, Max: 4, Variance: 1.5}, whole)

	generator := client.NewIDs(prefix + "ids")
	ids, err := generator.NextN(ctx, w, 3)
	ok(err)
	one, err := generator.Next(ctx, w)
	ok(err)
	different := map[client.ID]bool{one: true}
	for _, id := range ids {
		different[id] = true
	}
	require.Len(t, different, 4)
}

// TestHandlesWorkAloneAndInTransactions: the same steps each as a transaction of
// its own, and all in one.
func TestHandlesWorkAloneAndInTransactions(t *testing.T) {
	c := start(t, embed.ClusterOptions{Listen: true})
	db, ctx := connect(t, c.Addrs()[1]), soon(t)
	for name, steps := range map[string]func(context.Context, *testing.T, client.Writer, string){
		"collections": typedSteps, "scores": scoredSteps, "lists": listSteps, "numbers": numberSteps,
	} {
		t.Run(name, func(t *testing.T) {
			steps(ctx, t, db, "one/")
			require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
				steps(ctx, t, tx, "tx/")
				return nil
			}))
		})
	}
	require.NoError(t, db.View(ctx, func(ctx context.Context, v *client.View) error {
		for _, prefix := range []string{"one/", "tx/"} {
			members, err := client.NewSet(prefix+"set", client.Int64).Members(ctx, v)
			require.NoError(t, err)
			require.Equal(t, []int64{3}, members)
			n, err := client.NewCounter(prefix+"counter").Get(ctx, v)
			require.NoError(t, err)
			require.EqualValues(t, 5, n)
		}
		return nil
	}))

	full := client.NewBoundedCounter("one/bounded")
	err := full.Add(ctx, db, 11)
	require.ErrorIs(t, err, client.ErrOutOfRange)
	require.ErrorContains(t, err, "add of a bounded-counter")
	err = db.Update(ctx, func(ctx context.Context, tx *client.Tx) error { return full.Add(ctx, tx, 11) })
	require.ErrorIs(t, err, client.ErrOutOfRange)
	_, err = client.NewSet("one/map", client.String).Len(ctx, db)
	require.ErrorIs(t, err, client.ErrWrongType)
	_, err = client.NewMap("one/map", client.JSON[[]string]()).All(ctx, db)
	require.ErrorContains(t, err, "what the key holds cannot be decoded")
}
