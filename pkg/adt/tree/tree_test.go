package tree

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// numbers is an order in which every element has a size of its own.
var numbers = &Order[int, int]{Compare: cmp.Compare[int], Bytes: func(k, v int) int { return 3*k + v }}

// old is a former version with its expected elements.
type old struct {
	m    Map[int, int]
	want map[int]int
}

func requireSame(t require.TestingT, want map[int]int, m Map[int, int]) {
	require.NoError(t, m.Check())
	require.Equal(t, len(want), m.Len())
	require.Equal(t, slices.Sorted(maps.Keys(want)), keys(m.Ascend(-1000)))
	bytes := 0
	for k, v := range want {
		bytes += numbers.Bytes(k, v)
	}
	require.Equal(t, bytes, m.Bytes())
	for k, v := range m.All() {
		require.Equal(t, want[k], v)
	}
}

func keys(seq func(func(int, int) bool)) (out []int) {
	for k := range seq {
		out = append(out, k)
	}
	return out
}

// TestMapMatchesGoMap applies the same changes to a Map and a Go map. All versions are kept and
// compared at the end: no later change has altered them.
func TestMapMatchesGoMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, want := New(numbers), map[int]int{}
		var olds []old
		key := rapid.IntRange(0, 200)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				for _, k := range rapid.SliceOfN(key, 1, 30).Draw(t, "keys") {
					v := rapid.IntRange(0, 5).Draw(t, "value")
					m, want[k] = m.Put(k, v), v
				}
			},
			"delete": func(t *rapid.T) {
				for _, k := range rapid.SliceOfN(key, 1, 20).Draw(t, "keys") {
					m = m.Delete(k)
					delete(want, k)
				}
			},
			"slice": func(t *rapid.T) {
				i, j := rapid.IntRange(-3, 200).Draw(t, "i"), rapid.IntRange(-3, 250).Draw(t, "j")
				sorted := slices.Sorted(maps.Keys(want))
				from, to := min(max(i, 0), len(sorted)), min(max(j, 0), len(sorted))
				next := map[int]int{}
				for _, k := range sorted[from:max(from, to)] {
					next[k] = want[k]
				}
				m, want = m.Slice(i, j), next
			},
			"cut and join": func(t *rapid.T) {
				i, j := rapid.IntRange(0, m.Len()).Draw(t, "i"), rapid.IntRange(0, m.Len()).Draw(t, "j")
				i, j = min(i, j), max(i, j)
				for _, k := range slices.Sorted(maps.Keys(want))[i:j] {
					delete(want, k)
				}
				m = m.Slice(0, i).Join(m.Slice(j, m.Len()))
			},
			"": func(t *rapid.T) {
				requireSame(t, want, m)
				olds = append(olds, old{m, maps.Clone(want)})
			},
		})
		for _, o := range olds {
			requireSame(t, o.want, o.m)
		}
	})
}

func TestMapQueriesMatchSortedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sorted := slices.Compact(slices.Sorted(slices.Values(rapid.SliceOf(rapid.IntRange(0, 99)).Draw(t, "keys"))))
		m := New(numbers)
		for _, k := range rapid.Permutation(sorted).Draw(t, "order") {
			m = m.Put(k, 7*k)
		}
		k := rapid.IntRange(-1, 100).Draw(t, "key")
		rank, exists := slices.BinarySearch(sorted, k)
		gotRank, gotExists := m.Rank(k)
		require.Equal(t, rank, gotRank)
		require.Equal(t, exists, gotExists)
		v, ok := m.Get(k)
		require.Equal(t, exists, ok)
		require.Equal(t, exists, m.Has(k))
		if ok {
			require.Equal(t, 7*k, v)
		}
		for i, k := range sorted {
			at, _ := m.At(i)
			require.Equal(t, k, at)
		}
		total := 0
		for i, k := range sorted {
			require.Equal(t, total, m.Before(i))
			for sum := total; sum < total+numbers.Bytes(k, 7*k); sum++ {
				at, before := m.Past(sum)
				require.Equal(t, []int{i, total}, []int{at, before})
			}
			total += numbers.Bytes(k, 7*k)
		}
		at, before := m.Past(total)
		require.Equal(t, []int{len(sorted), total, total}, []int{at, before, m.Before(len(sorted) + 1)})
		i := rapid.IntRange(-2, len(sorted)+2).Draw(t, "i")
		require.Equal(t, append([]int(nil), sorted[min(max(i, 0), len(sorted)):]...), keys(m.From(i)))
		require.Equal(t, append([]int(nil), sorted[rank:]...), keys(m.Ascend(k)))
		down := append([]int(nil), sorted[:min(max(i+1, 0), len(sorted))]...)
		slices.Reverse(down)
		require.Equal(t, down, keys(m.Down(i)))
		require.Panics(t, func() { m.At(-1) })
		require.Panics(t, func() { m.At(len(sorted)) })
		stop := rapid.IntRange(0, 5).Draw(t, "stop after")
		for _, seq := range []func(func(int, int) bool){m.From(i), m.Down(i)} {
			seen := 0
			seq(func(int, int) bool { seen++; return seen <= stop })
			require.LessOrEqual(t, seen, stop+1, "visited after it was told to stop")
		}
	})
}

// TestListMatchesSlice applies the same changes to a List and a slice, and compares all versions at
// the end.
func TestListMatchesSlice(t *testing.T) {
	bytes := func(v int) int { return v }
	same := func(t require.TestingT, want []int, l List[int]) {
		require.NoError(t, l.Check(bytes))
		require.Equal(t, want, slices.Collect(l.All()))
		sum := 0
		for i, v := range want {
			require.Equal(t, v, l.At(i))
			sum += v
		}
		require.Equal(t, sum, l.Bytes())
	}
	rapid.Check(t, func(t *rapid.T) {
		var l List[int]
		var want []int
		var lists []List[int]
		var wants [][]int
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				for _, v := range rapid.SliceOfN(rapid.IntRange(0, 99), 1, 30).Draw(t, "values") {
					l, want = l.Append(v, v), append(slices.Clone(want), v)
				}
			},
			"slice": func(t *rapid.T) {
				i, j := rapid.IntRange(-2, len(want)+2).Draw(t, "i"), rapid.IntRange(-2, len(want)+2).Draw(t, "j")
				from, to := min(max(i, 0), len(want)), min(max(j, 0), len(want))
				l, want = l.Slice(i, j), append([]int(nil), want[from:max(from, to)]...)
			},
			"join": func(t *rapid.T) {
				if len(want) < 1000 {
					i := rapid.IntRange(0, len(want)).Draw(t, "i")
					l, want = l.Join(l.Slice(i, len(want))), append(slices.Clone(want), want[i:]...)
				}
			},
			"": func(t *rapid.T) {
				same(t, want, l)
				i := rapid.IntRange(-2, len(want)+2).Draw(t, "from")
				require.Equal(t, append([]int(nil), want[min(max(i, 0), len(want)):]...), slices.Collect(l.From(i)))
				lists, wants = append(lists, l), append(wants, want)
			},
		})
		for i := range lists {
			same(t, wants[i], lists[i])
		}
		require.Panics(t, func() { l.At(l.Len()) })
	})
}

func TestBuildReturnsBalancedTree(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 31, 32, 33, 1000} {
		i := 0
		m, err := Build(numbers, n, func() (int, int, error) { i++; return i, i, nil })
		require.NoError(t, err)
		require.NoError(t, m.Check())
		require.Equal(t, n, m.Len())
		i = 0
		l, err := BuildList(n, func(v int) int { return v }, func() (int, error) { i++; return i, nil })
		require.NoError(t, err)
		require.NoError(t, l.Check(func(v int) int { return v }))
		require.Equal(t, n, l.Len())
	}
	for _, bad := range [][]int{{1, 1}, {2, 1}, {1, 2, 3, 3}, {0, 5, 4, 6}} {
		i := -1
		_, err := Build(numbers, len(bad), func() (int, int, error) { i++; return bad[i], 0, nil })
		require.ErrorIs(t, err, ErrOrder, "%v", bad)
	}
	end := errors.New("the end")
	for n := range 5 {
		i := 0
		_, err := Build(numbers, 1<<40, func() (int, int, error) {
			i++
			if i > n {
				return 0, 0, end
			}
			return i, 0, nil
		})
		require.ErrorIs(t, err, end, "whatever the count promises, no memory is taken for it")
	}
}

// TestCheckReportsDamage: the other tests rely on Check.
func TestCheckReportsDamage(t *testing.T) {
	m := New(numbers)
	for k := range 20 {
		m = m.Put(k, 0)
	}
	require.NoError(t, m.Check())
	broken := *m.root
	broken.len++
	require.Error(t, Map[int, int]{numbers, &broken}.Check())
	broken = *m.root
	broken.bytes++
	require.Error(t, Map[int, int]{numbers, &broken}.Check())
	broken = *m.root
	broken.left = nil
	require.Error(t, Map[int, int]{numbers, &broken}.Check())
	broken = *m.root
	broken.key = 1000
	require.Error(t, Map[int, int]{numbers, &broken}.Check())
}
