package embed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// typedSteps and the following use every method of every handle.
func typedSteps(t *testing.T, d client.Doer, prefix string) {
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
	n := client.Counter(prefix + "counter")
	ok(n.Add(d, 2))
	get := is(int64(2))
	v, err := n.Get(d)
	get(v, err)
	v, err = n.AddGet(d, 3)
	is(int64(5))(v, err)

	s := client.NewSet(prefix+"set", client.Ints)
	ok(s.Add(d, 1, 2))
	v, err = s.AddCount(d, 2, 3)
	is(int64(1))(v, err)
	v, err = s.RemoveCount(d, 1, 9)
	is(int64(1))(v, err)
	ok(s.Remove(d, 2))
	yes, err := s.Contains(d, 3)
	is(true)(yes, err)
	v, err = s.Size(d)
	is(int64(1))(v, err)
	members, err := s.Members(d)
	is([]int64{3})(members, err)

	h := client.NewDict(prefix+"map", client.Strings)
	ok(h.Set(d, "a", "x"))
	yes, err = h.SetNew(d, "a", "y")
	is(false)(yes, err)
	ok(h.Increment(d, "n", 2))
	v, err = h.IncrementGet(d, "n", 3)
	is(int64(5))(v, err)
	field, found, err := h.Get(d, "a")
	there("x")(field, found, err)
	_, found, err = h.Get(d, "z")
	there(nil)(nil, found, err)
	fields, err := h.GetMany(d, "a", "z", "n")
	is(map[string]string{"a": "x", "n": "5"})(fields, err)
	all, err := h.All(d)
	is([]client.Field[string]{{Name: "a", Value: "x"}, {Name: "n", Value: "5"}})(all, err)
	all, err = h.Scan(d, "b", 10)
	is([]client.Field[string]{{Name: "n", Value: "5"}})(all, err)
	ok(h.Delete(d, "a"))
	yes, err = h.Has(d, "a")
	is(false)(yes, err)
	v, err = h.Size(d)
	is(int64(1))(v, err)
}

func listSteps(t *testing.T, d client.Doer, prefix string) {
	ok := func(err error) { t.Helper(); require.NoError(t, err) }
	l := client.NewList(prefix+"list", client.Strings)
	ok(l.Append(d, "a", "b"))
	n, err := l.AppendLength(d, "c")
	ok(err)
	require.EqualValues(t, 3, n)
	ok(l.Trim(d, 1, -1))
	all, err := l.Range(d, 0, -1)
	ok(err)
	require.Equal(t, []string{"b", "c"}, all)
	last, found, err := l.Get(d, -1)
	ok(err)
	require.True(t, found)
	require.Equal(t, "c", last)
	_, found, err = l.Get(d, 2)
	ok(err)
	require.False(t, found)
	n, err = l.Length(d)
	ok(err)
	require.EqualValues(t, 2, n)
}

func scoredSteps(t *testing.T, d client.Doer, prefix string) {
	ok := func(err error) { t.Helper(); require.NoError(t, err) }
	type scored = client.Scored[string]
	s := client.NewScoredSet(prefix+"scored", client.Strings)
	ok(s.Add(d, 1.5, "a"))
	ok(s.Increment(d, "b", 2))
	x, err := s.IncrementGet(d, "b", 0.25)
	ok(err)
	require.Equal(t, 2.25, x)
	x, found, err := s.Score(d, "a")
	ok(err)
	require.True(t, found)
	require.Equal(t, 1.5, x)
	place, found, err := s.Rank(d, "b")
	ok(err)
	require.True(t, found)
	require.EqualValues(t, 1, place)
	place, _, err = s.RevRank(d, "b")
	ok(err)
	require.EqualValues(t, 0, place)
	_, found, err = s.Rank(d, "z")
	ok(err)
	require.False(t, found)
	up, down := []scored{{Member: "a", Score: 1.5}, {Member: "b", Score: 2.25}}, []scored{{Member: "b", Score: 2.25}, {Member: "a", Score: 1.5}}
	got, err := s.ByRank(d, 0, -1)
	ok(err)
	require.Equal(t, up, got)
	got, err = s.ByRankDesc(d, 0, -1)
	ok(err)
	require.Equal(t, down, got)
	got, err = s.ByScore(d, 0, 3, 1)
	ok(err)
	require.Equal(t, up[:1], got)
	ok(s.Remove(d, "a"))
	size, err := s.Size(d)
	ok(err)
	require.EqualValues(t, 1, size)

	k := client.NewTopK(prefix+"top", client.Strings)
	_, found, err = k.Max(d)
	ok(err)
	require.False(t, found)
	ok(k.Add(d, 1, "a"))
	ok(k.Add(d, 2, "b"))
	got, err = k.Top(d, 5)
	ok(err)
	require.Equal(t, []scored{{Member: "b", Score: 2}, {Member: "a", Score: 1}}, got)
	best, found, err := k.Max(d)
	ok(err)
	require.True(t, found)
	require.Equal(t, scored{Member: "b", Score: 2}, best)
}

func numberSteps(t *testing.T, d client.Doer, prefix string) {
	ok := func(err error) { t.Helper(); require.NoError(t, err) }
	c := client.BoundedCounter(prefix + "bounded")
	_, found, err := c.Get(d)
	ok(err)
	require.False(t, found)
	ok(c.Create(d, 0, 10, 5))
	ok(c.Add(d, 3))
	ok(c.Subtract(d, 1))
	yes, err := c.TryAdd(d, 4)
	ok(err)
	require.False(t, yes)
	yes, err = c.TrySubtract(d, 7)
	ok(err)
	require.True(t, yes)
	n, found, err := c.Get(d)
	ok(err)
	require.True(t, found)
	require.EqualValues(t, 0, n)
	floor, ceiling, found, err := c.Bounds(d)
	ok(err)
	require.Equal(t, []any{int64(0), int64(10), true}, []any{floor, ceiling, found})

	b := client.Bag(prefix + "summary")
	_, found, err = b.Mean(d)
	ok(err)
	require.False(t, found)
	empty, err := b.Summary(d)
	ok(err)
	require.Equal(t, client.Summary{}, empty)
	ok(b.Add(d, 1, 2.5, 4))
	sum, err := b.Sum(d)
	ok(err)
	require.Equal(t, 7.5, sum)
	whole, err := b.Summary(d)
	ok(err)
	require.Equal(t, client.Summary{Count: 3, Sum: 7.5, Mean: 2.5, Min: 1, Max: 4, Variance: 1.5}, whole)

	ids, err := client.IDs(prefix+"ids").NextN(d, 3)
	ok(err)
	one, err := client.IDs(prefix + "ids").Next(d)
	ok(err)
	different := map[[16]byte]bool{one: true}
	for _, id := range ids {
		different[id] = true
	}
	require.Len(t, different, 4)
}

// TestHandlesWorkAloneAndInTransactions: the same steps each as a transaction of
// its own, and all in one.
func TestHandlesWorkAloneAndInTransactions(t *testing.T) {
	c := start(t, embed.ClusterOptions{Listen: true})
	db, err := client.Open(t.Context(), c.Addrs()[1:2])
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for name, steps := range map[string]func(*testing.T, client.Doer, string){"collections": typedSteps, "scores": scoredSteps, "lists": listSteps, "numbers": numberSteps} {
		t.Run(name, func(t *testing.T) {
			steps(t, db.OneShot(soon(t)), "one/")
			require.NoError(t, db.Update(soon(t), func(tx *client.Tx) error {
				steps(t, tx, "tx/")
				return nil
			}))
		})
	}
	require.NoError(t, db.View(soon(t), func(ro *client.ReadTx) error {
		for _, prefix := range []string{"one/", "tx/"} {
			members, err := client.NewSet(prefix+"set", client.Ints).Members(ro)
			require.NoError(t, err)
			require.Equal(t, []int64{3}, members)
			n, err := client.Counter(prefix + "counter").Get(ro)
			require.NoError(t, err)
			require.EqualValues(t, 5, n)
		}
		return nil
	}))

	full := client.BoundedCounter("one/bounded")
	err = full.Add(db.OneShot(soon(t)), 11)
	require.Equal(t, kv.KindOutOfRange, kv.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "add of a bounded-counter")
	err = db.Update(soon(t), func(tx *client.Tx) error { return full.Add(tx, 11) })
	require.Equal(t, kv.KindOutOfRange, kv.KindOf(err), "%v", err)
	_, err = client.NewSet("one/map", client.Strings).Size(db.OneShot(soon(t)))
	require.Equal(t, kv.KindWrongType, kv.KindOf(err))
	_, err = client.NewDict("one/map", client.JSON[[]string]()).All(db.OneShot(soon(t)))
	require.ErrorContains(t, err, "an element of the map cannot be read")
}
