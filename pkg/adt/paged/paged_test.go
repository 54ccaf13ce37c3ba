package paged

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt/tree"
	"github.com/linchpindb/linchpin/pkg/entry"
)

var numbers = NewForm(Form[int, int64]{
	Order: &tree.Order[int, int64]{Compare: cmp.Compare[int], Bytes: func(k int, v int64) int {
		return NumberBytes(int64(k)) + NumberBytes(v)
	}},
	AppendKey:   func(b []byte, k int) []byte { return AppendNumber(b, int64(k)) },
	AppendValue: AppendNumber,
	ReadKey:     func(r *Reader) (int, error) { n, err := r.Number(); return int(n), err },
	ReadValue:   (*Reader).Number,
})

type (
	numberMap    = Map[int, int64]
	numberChange = Change[int, int64]
)

// disk stores pages.
type disk struct {
	rows map[uint64][]byte
	last uint64
}

func (d *disk) put(row []byte) entry.PageRef {
	d.last++
	d.rows[d.last] = slices.Clone(row)
	return entry.PageRef{ID: d.last, FirstCSN: 7}
}

// reopen returns a Map as read from the disk, with no page in memory.
func (d *disk) reopen(t require.TestingT, m numberMap) numberMap {
	refs := m.AppendRefs(nil)
	r := Reader{string(m.AppendDirectory(nil))}
	out, err := ReadDirectory(numbers, &r, &refs)
	require.NoError(t, err)
	require.NoError(t, r.End())
	require.Empty(t, refs)
	return out
}

func (d *disk) fill(t require.TestingT, pages []Page) {
	require.NotEmpty(t, pages, "Absent names the pages")
	for _, p := range pages {
		require.NoError(t, p.Fill(d.rows[p.Ref().ID]))
		require.True(t, p.Filled())
	}
}

// retry repeats an operation until it needs no absent page, and counts the read rounds.
func (d *disk) retry(t require.TestingT, do func()) (rounds int) {
	for {
		absent := absentIn(do)
		if absent == nil {
			return rounds
		}
		rounds++
		d.fill(t, absent.Pages)
	}
}

func absentIn(do func()) (absent *Absent) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Absent:
			absent = p
		default:
			panic(p)
		}
	}()
	do()
	return nil
}

type refModel = map[int]int64

func requireSame(t require.TestingT, want refModel, m numberMap) {
	require.NoError(t, m.Check())
	require.Equal(t, len(want), m.Len())
	bytes := 0
	for k, v := range want {
		bytes += numbers.weigh(k, v)
	}
	require.Equal(t, bytes, m.Bytes())
}

// modelPair is a Map with its disk, and the reference model.
type modelPair struct {
	*disk
	m    numberMap
	want refModel
	size int
	// looked are the keys that were looked up since the Map was read.
	looked map[int]bool
}

func (w *modelPair) store() {
	w.m = w.m.Store(numbers, &PageWriter{Bytes: w.size, Put: w.put})
}

// TestMapMatchesGoMap applies the same changes to a Map and a Go map, while pages are loaded and
// evicted.
func TestMapMatchesGoMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &modelPair{disk: &disk{rows: map[uint64][]byte{}}, m: New(numbers.Order), want: refModel{},
			looked: map[int]bool{},
			size:   rapid.SampledFrom([]int{1, 8, 40, 1000}).Draw(t, "page")}
		key, value := rapid.IntRange(-20, 120), rapid.Int64Range(0, 1000)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				for _, k := range rapid.SliceOfN(key, 1, 12).Draw(t, "keys") {
					v := value.Draw(t, "value")
					w.retry(t, func() { w.m = w.m.Put(k, v) })
					w.want[k], w.looked[k] = v, true
				}
			},
			"delete": func(t *rapid.T) {
				for _, k := range rapid.SliceOfN(key, 1, 20).Draw(t, "keys") {
					w.retry(t, func() { w.m = w.m.Delete(k) })
					delete(w.want, k)
					w.looked[k] = true
				}
			},
			"change existing": w.changeExisting,
			"change much":     w.changeMany,
			"store":           func(*rapid.T) { w.store() },
			"read back": func(t *rapid.T) {
				w.store()
				if w.m.InPages() {
					w.m = w.reopen(t, w.m)
				}
				clear(w.looked)
			},
			"in one": func(t *rapid.T) {
				if m, ok := w.m.InOne(); ok {
					require.False(t, m.InPages())
					w.m = m
				}
			},
			"":        func(t *rapid.T) { requireSame(t, w.want, w.m) },
			"look up": w.lookUp,
		})
		w.retry(t, func() {
			got := maps.Collect(w.m.All())
			require.Equal(t, w.want, got)
		})
		require.Empty(t, w.m.Missing())
	})
}

// changeExisting changes elements whose old state the model knows. It needs no page.
func (w *modelPair) changeExisting(t *rapid.T) {
	for range rapid.IntRange(1, 12).Draw(t, "changes") {
		k, v := rapid.IntRange(-20, 120).Draw(t, "key"), rapid.Int64Range(0, 1000).Draw(t, "value")
		old, was := w.want[k]
		require.Nil(t, absentIn(func() {
			switch {
			case was && v%2 == 0:
				w.m = w.m.Drop(k, old)
				delete(w.want, k)
			case was && w.m.InPages():
				w.m = w.m.Change(numberChange{Key: k, Was: true, Old: numbers.weigh(k, old), Is: true, Value: v})
				w.want[k] = v
			case !was:
				w.m = w.m.Insert(k, v)
				w.want[k] = v
			}
		}))
		w.looked[k] = true
	}
}

// changeMany changes many elements at once.
func (w *modelPair) changeMany(t *rapid.T) {
	if !w.m.InPages() {
		return
	}
	var all []numberChange
	for k := -20; k <= 120; k++ {
		old, was := w.want[k]
		c := numberChange{Key: k, Was: was, Is: rapid.Bool().Draw(t, "is"), Value: int64(k)}
		if was {
			c.Old = numbers.weigh(k, old)
		}
		if rapid.IntRange(0, 3).Draw(t, "at all") > 0 || !c.Was && !c.Is {
			continue
		}
		all = append(all, c)
		w.looked[k] = true
		delete(w.want, k)
		if c.Is {
			w.want[k] = c.Value
		}
	}
	require.Nil(t, absentIn(func() { w.m = w.m.Change(all...) }))
}

// lookUp looks keys up. A key that was looked up once needs no page again, whatever has changed
// since.
func (w *modelPair) lookUp(t *rapid.T) {
	sorted := slices.Sorted(maps.Keys(w.want))
	k := rapid.IntRange(-25, 125).Draw(t, "key")
	v, ok := w.want[k]
	rounds := w.retry(t, func() {
		got, exists := w.m.Get(k)
		require.Equal(t, ok, exists)
		if exists {
			require.Equal(t, v, got)
		}
	})
	require.LessOrEqual(t, rounds, 1)
	if w.looked[k] {
		require.Zero(t, rounds, "the key was looked up before")
	}
	w.looked[k] = true
	require.Empty(t, w.m.Missing(k))
	at, _ := slices.BinarySearch(sorted, k)
	w.retry(t, func() {
		rank, exists := w.m.Rank(k)
		require.Equal(t, at, rank)
		require.Equal(t, ok, exists)
	})
	i, n := rapid.IntRange(-2, len(sorted)+2).Draw(t, "i"), rapid.IntRange(1, 30).Draw(t, "n")
	w.retry(t, func() {
		require.Equal(t, head(sorted[min(max(i, 0), len(sorted)):], n), collect(w.m.From(i), n))
		require.Equal(t, head(sorted[at:], n), collect(w.m.Ascend(k), n))
		down := slices.Clone(sorted[:min(max(i+1, 0), len(sorted))])
		slices.Reverse(down)
		require.Equal(t, head(down, n), collect(w.m.Down(i), n))
	})
}

func head(s []int, n int) []int { return append([]int{}, s[:min(n, len(s))]...) }

func collect(seq func(func(int, int64) bool), n int) []int {
	out := []int{}
	seq(func(k int, _ int64) bool {
		out = append(out, k)
		return len(out) < n
	})
	return out
}

func filled(n int) numberMap {
	m := New(numbers.Order)
	for k := range n {
		m = m.Put(k, int64(k))
	}
	return m
}

func TestOperationsReadFewPages(t *testing.T) {
	d := &disk{rows: map[uint64][]byte{}}
	m := d.reopen(t, filled(100_000).Store(numbers, &PageWriter{Bytes: 4096, Put: d.put}))
	pages := len(d.rows)
	require.InDelta(t, m.Bytes()/4096, pages, 2)
	require.Equal(t, 1, d.retry(t, func() { m.Get(50_000) }))
	require.Equal(t, 1, d.retry(t, func() { m.Rank(20_000) }))
	require.Len(t, m.Missing(), pages-2)
	require.Zero(t, d.retry(t, func() { m = m.Put(50_001, 0).Delete(50_002).Insert(-1, 1).Drop(99_999, 99_999) }))
	require.Equal(t, 100_000-1, m.Len())
	require.LessOrEqual(t, d.retry(t, func() { collect(m.From(0), 1_000_000) }), 6,
		"a long walk requests increasingly many pages")
	before := len(d.rows)
	m = m.Store(numbers, &PageWriter{Bytes: 4096, Put: d.put})
	require.InDelta(t, 3, len(d.rows)-before, 1, "unchanged pages are not written")
	require.NoError(t, m.Check())
}

// TestTopsReportsBufferedChanges: absent pages with buffered changes are reported, so that they can
// be loaded.
func TestTopsReportsBufferedChanges(t *testing.T) {
	d := &disk{rows: map[uint64][]byte{}}
	m := d.reopen(t, filled(1000).Store(numbers, &PageWriter{Bytes: 100, Put: d.put}))
	pages, bytes := m.BufferedPages()
	require.Empty(t, pages)
	require.Zero(t, bytes)
	m = m.Drop(3, 3).Drop(5, 5).Insert(2000, 1)
	m = d.reopen(t, m.Store(numbers, &PageWriter{Bytes: 100, Put: d.put}))
	pages, bytes = m.BufferedPages()
	require.Len(t, pages, 2)
	require.Positive(t, bytes)
	d.fill(t, pages)
	pages, _ = m.BufferedPages()
	require.Empty(t, pages)
	require.NoError(t, m.Check())
}

func TestEmptyPagesAreRemoved(t *testing.T) {
	d := &disk{rows: map[uint64][]byte{}}
	m := d.reopen(t, filled(100).Store(numbers, &PageWriter{Bytes: 20, Put: d.put}))
	for k := range 99 {
		m = m.Drop(k, int64(k))
	}
	m = m.Store(numbers, &PageWriter{Bytes: 20, Put: d.put})
	require.Len(t, m.AppendRefs(nil), 2, "an empty page keeps the removed keys known")
	require.False(t, m.Has(7))
	d.retry(t, func() { require.True(t, m.Has(99)) })
	require.Zero(t, m.AbsentBytes(), "removed pages are not counted")
	require.Len(t, m.Store(numbers, &PageWriter{Bytes: 20, Put: d.put}).AppendRefs(nil), 1)
}

func TestContradictionsAreReported(t *testing.T) {
	d := &disk{rows: map[uint64][]byte{}}
	fresh := func() numberMap {
		return d.reopen(t, filled(10).Store(numbers, &PageWriter{Bytes: 1000, Put: d.put}))
	}
	damaged := func(do func(), text string) {
		t.Helper()
		defer func() {
			p, ok := recover().(*Damaged)
			require.True(t, ok)
			require.ErrorContains(t, p, text)
		}()
		do()
	}
	m := fresh().Insert(3, 3) // it was exists
	d.fill(t, m.Missing())
	damaged(func() { m.Get(4) }, "11 of")
	damaged(func() { m.Rank(4) }, "11 of")
	require.Error(t, m.Check())
	require.Len(t, m.Store(numbers, &PageWriter{Bytes: 10, Put: d.put}).AppendRefs(nil), 1, "a damaged page is kept")
	m = fresh()
	d.fill(t, m.Missing())
	damaged(func() { m.Insert(3, 3) }, "was there")
	m = fresh()
	damaged(func() {
		for k := range 11 {
			m = m.Drop(k+100, 0)
		}
	}, "less than nothing")
}

func TestDamagedPagesAreRejected(t *testing.T) {
	d := &disk{rows: map[uint64][]byte{}}
	m := d.reopen(t, filled(10).Store(numbers, &PageWriter{Bytes: 1000, Put: d.put}))
	p, row := m.Missing()[0], d.rows[1]
	for name, bad := range map[string][]byte{
		"its version is not known": append([]byte{9}, row[1:]...), "it has 9 elements": filled(9).row(),
		"it ends too early":   row[:len(row)-1],
		"bytes after its end": append(slices.Clone(row), 0), "not in order": {1, 2, 4, 4, 2, 2},
		"more elements than": {1, 200, 1},
		"version is not":     nil,
	} {
		require.ErrorContains(t, p.Fill(bad), name)
		require.False(t, p.Filled())
	}
	require.NoError(t, p.Fill(row))
	require.NoError(t, p.Fill(nil), "a loaded page ignores Fill")
}

func (m Map[K, V]) row() []byte { return any(numbers).(*Form[K, V]).appendPage(nil, m.whole) }

// TestEncodingIsStable: the bytes of a page and of a directory never change.
func TestEncodingIsStable(t *testing.T) {
	d := &disk{rows: map[uint64][]byte{}}
	m := filled(3).Store(numbers, &PageWriter{Bytes: 1000, Put: d.put})
	require.Equal(t, []byte{1, 3, 0, 0, 2, 2, 4, 4}, d.rows[1])
	require.Equal(t, []byte{1, 0, 3, 6, 0}, m.AppendDirectory(nil))
	m = d.reopen(t, m).Drop(1, 1).Insert(9, 1)
	require.Equal(t, []byte{1, 0, 3, 6, 2, 3, 6, 2, 0, 18, 1, 2},
		m.Store(numbers, &PageWriter{Bytes: 1000, Put: d.put}).AppendDirectory(nil))
}

func FuzzStored(f *testing.F) {
	d := &disk{rows: map[uint64][]byte{}}
	m := filled(50).Store(numbers, &PageWriter{Bytes: 30, Put: d.put})
	f.Add(m.AppendDirectory(nil), d.rows[1])
	f.Add(d.reopen(f, m).Drop(1, 1).Store(numbers, &PageWriter{Bytes: 30, Put: d.put}).AppendDirectory(nil), []byte{1})
	f.Fuzz(func(t *testing.T, directory, page []byte) {
		refs := make([]entry.PageRef, 100)
		r := Reader{string(directory)}
		m, err := ReadDirectory(numbers, &r, &refs)
		if err != nil {
			return
		}
		require.Equal(t, string(directory[:len(directory)-len(r.Rest)]), string(m.AppendDirectory(nil)),
			"each directory has one encoding")
		for _, p := range m.Missing() {
			_ = p.Fill(page)
		}
		defer func() {
			switch p := recover().(type) {
			case nil, *Absent, *Damaged:
			default:
				t.Fatal(p)
			}
		}()
		m.Store(numbers, &PageWriter{Bytes: 30, Put: d.put})
		if errors.Is(m.Check(), tree.ErrOrder) {
			t.Fatal("pages are not in order")
		}
		m.Put(7, 7).Delete(9).Rank(8)
	})
}
