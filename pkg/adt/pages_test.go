package adt_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// pagedTypes are the types whose values can be in pages.
var pagedTypes = []*collectionType{&setType, &mapType, &sortedSetType}

// pageStore has the pages of a value, and its log since it was stored.
type pageStore struct {
	t     require.TestingT
	rows  map[uint64][]byte
	last  uint64
	bytes int
	// head, refs and directory are the value as it was stored last, patches what
	// has changed since.
	head      entry.Value
	refs      []entry.PageRef
	directory []byte
	patches   [][]byte
	// under is the value before the newest patch, which was made of calls; there are
	// none after a restart.
	under entry.Value
	calls []msg.Call
	// read are the bytes of pages that were read.
	read int
}

func (p *pageStore) store(v *entry.Value) {
	var err error
	p.refs, p.directory, err = adt.StoreInPages(v, &adt.Storing{Bytes: p.bytes, Put: func(row []byte) entry.PageRef {
		p.last++
		p.rows[p.last] = slices.Clone(row)
		return entry.PageRef{ID: p.last, FirstCSN: 1}
	}})
	require.NoError(p.t, err)
	require.True(p.t, adt.InPages(v))
	p.head, p.patches, p.calls = entry.Value{Type: v.Type, Version: v.Version}, nil, nil
}

// change logs calls on a value, as a patch of their own or combined with the calls before.
func (p *pageStore) change(before, after *entry.Value, calls []msg.Call, same bool) {
	if n := len(p.patches); same && len(p.calls) > 0 {
		p.patches = p.patches[:n-1]
	} else {
		p.under, p.calls = *before, nil
	}
	p.calls = adt.CombineCalls(after.Type, p.calls, calls)
	p.patches = append(p.patches, adt.Patch(&p.under, after, p.calls))
}

// readBack returns the value as read from the log, with no page in memory.
func (p *pageStore) readBack() entry.Value {
	p.calls = nil
	v, err := adt.Open(p.head, slices.Clone(p.refs), slices.Clone(p.directory))
	require.NoError(p.t, err)
	one := v
	for _, patch := range p.patches {
		after, err := adt.Patched(&one, patch)
		require.NoError(p.t, err)
		one = stored(after)
	}
	if len(p.patches) == 0 {
		return v
	}
	after, err := adt.Patched(&v, p.patches...)
	require.NoError(p.t, err)
	require.Equal(p.t, adt.Size(&one), adt.Size(&after))
	return stored(after)
}

func (p *pageStore) fill(lacks []adt.Page) {
	require.NotEmpty(p.t, lacks)
	for _, x := range lacks {
		require.NoError(p.t, x.Fill(p.rows[x.Ref().ID]))
		p.read += len(p.rows[x.Ref().ID])
	}
}

// plan plans a call until it needs no more pages.
func (p *pageStore) plan(r *adt.Request) (plan adt.Plan, rounds int) {
	for ; ; rounds++ {
		plan, _ = r.Plan(nil)
		if adt.AbsentPages(plan.Err) == nil {
			return plan, rounds
		}
		p.fill(adt.AbsentPages(plan.Err))
	}
}

func (p *pageStore) apply(id entry.Type, v *entry.Value, calls []msg.Call) entry.Value {
	for {
		after, err := adt.Apply(id, v, calls)
		if adt.AbsentPages(err) == nil {
			require.NoError(p.t, err)
			return after
		}
		p.fill(adt.AbsentPages(err))
	}
}

// TestPagedValuesMatchWholeValues executes the same calls on a value in pages, which are loaded and
// evicted, and on a whole value. A call that was planned needs no page later.
func TestPagedValuesMatchWholeValues(t *testing.T) {
	for _, w := range pagedTypes {
		t.Run(adt.TypeName(w.id), func(t *testing.T) { rapid.Check(t, w.comparePages) })
	}
}

func (w *collectionType) comparePages(t *rapid.T) {
	p := &pageStore{t: t, rows: map[uint64][]byte{}, bytes: rapid.SampledFrom([]int{1, 6, 20}).Draw(t, "page")}
	whole, v := entry.Value{}, entry.Value{}
	var later [][]msg.Call
	for range rapid.IntRange(1, 60).Draw(t, "calls") {
		name, a := w.draw(t)
		want, _ := (&adt.Request{Method: w.method(name), Args: a, Value: &whole}).Plan(nil)
		plan, rounds := p.plan(&adt.Request{Method: w.method(name), Args: a, Value: &v})
		require.Equal(t, kv.KindOf(want.Err), kv.KindOf(plan.Err))
		require.Equal(t, format(want.Answer), format(plan.Answer), "%s %s", name, format(a))
		require.Equal(t, want.Need, plan.Need)
		require.LessOrEqual(t, rounds, 6)
		if len(plan.Calls) > 0 && plan.Err == nil {
			next := p.apply(w.id, &v, plan.Calls)
			if rapid.IntRange(0, 4).Draw(t, "later") == 0 && v.Exists() {
				later = append(later, plan.Calls)
				continue
			}
			after, err := adt.Apply(w.id, &whole, plan.Calls)
			require.NoError(t, err)
			whole = stored(after)
			if adt.InPages(&v) && next.Type != entry.TypeDeleted {
				p.change(&v, &next, plan.Calls, rapid.Bool().Draw(t, "same row"))
			}
			v = stored(next)
		}
		require.Equal(t, whole.Exists(), v.Exists())
		if !v.Exists() {
			later = nil
			continue
		}
		require.Equal(t, adt.Size(&entry.Value{Type: w.id, State: whole.State}),
			adt.Size(&entry.Value{Type: w.id, State: v.State}))
		for _, calls := range later {
			require.Empty(t, adt.NeededPages(&v, calls), "what was planned lacks pages")
		}
		switch what := rapid.IntRange(0, 7).Draw(t, "what"); {
		case what == 0, what < 3 && !adt.InPages(&v):
			p.store(&v)
		case what < 4 && adt.InPages(&v):
			v, later = p.readBack(), nil
		case what == 4 && adt.InPages(&v):
			adt.InOnePiece(&v)
		}
	}
	if v.Exists() {
		if missing := adt.MissingPages(&v); len(missing) > 0 {
			p.fill(missing)
		}
		require.Equal(t, adt.Payload(&entry.Value{Type: w.id, State: whole.State}),
			adt.Payload(&entry.Value{Type: w.id, State: v.State}))
	}
}

// TestPatchEmptiesAndRefillsPage: transactions that share a row remove the last element of an
// absent page and add another element there, which the value before them does not have.
func TestPatchEmptiesAndRefillsPage(t *testing.T) {
	p := &pageStore{t: t, rows: map[uint64][]byte{}, bytes: 1}
	v := entry.Value{}
	call := func(name string, same bool, args ...string) {
		plan, _ := p.plan(&adt.Request{Method: setType.method(name), Args: texts(args), Value: &v})
		require.NoError(t, plan.Err)
		after := p.apply(setType.id, &v, plan.Calls)
		if adt.InPages(&v) {
			p.change(&v, &after, plan.Calls, same)
		}
		v = stored(after)
	}
	call("add", false, "m", "z")
	p.store(&v)
	call("remove", false, "m")
	call("add", false, "b")
	v, p.read = p.readBack(), 0
	call("remove", false, "b")
	call("add", true, "a")
	require.Zero(t, p.read, "no page is needed")
	v = p.readBack()
	members, _ := p.plan(&adt.Request{Method: setType.method("members"), Value: &v})
	require.Equal(t, texts([]string{"a", "z"}), members.Answer)
}

func texts(of []string) (out []msg.Datum) {
	for _, s := range of {
		out = append(out, adt.Bytes([]byte(s)))
	}
	return out
}

// TestCallsReadFewPages bounds the bytes of pages that one call reads of a value with 100,000
// elements.
func TestCallsReadFewPages(t *testing.T) {
	for _, w := range pagedTypes {
		p := &pageStore{t: t, rows: map[uint64][]byte{}, bytes: 8192}
		v := w.full(t)
		p.store(&v)
		for name, args := range map[string][]msg.Datum{
			"contains": data(member(70_000)), "get": data(member(70_000)), "score": data(member(70_000)),
			"rank":          data(member(70_000)),
			"range-by-rank": data(50_000, 50_009), "len": nil, "increment": data(member(70_000), 1.0),
			"range-by-rev-rank": data(0, 0),
			"range-by-score":    data(1e6, 1e9, 3),
		} {
			if w.id == adt.Map && name == "increment" {
				args[1] = adt.Int(1)
			}
			if w.method(name) == nil {
				continue
			}
			cold := p.readBack()
			p.read = 0
			plan, rounds := p.plan(&adt.Request{Method: w.method(name), Args: args, Value: &cold})
			require.NoError(t, plan.Err)
			if len(plan.Calls) > 0 {
				_, err := adt.Apply(w.id, &cold, plan.Calls)
				require.NoError(t, err, "what was planned can be made")
			}
			t.Logf("%s of a %s: %d bytes of pages in %d rounds, beside a directory of %d", name, adt.TypeName(w.id), p.read,
				rounds, len(p.directory))
			require.LessOrEqual(t, p.read, 2*9000)
			require.LessOrEqual(t, rounds, 2)
		}
		require.Less(t, len(p.directory), 30_000)
	}
}

// TestUnloadedBytesOfSortedSet: half of a sorted set is in memory if its members are loaded by
// score and not by name.
func TestUnloadedBytesOfSortedSet(t *testing.T) {
	p := &pageStore{t: t, rows: map[uint64][]byte{}, bytes: 8192}
	v := sortedSetType.full(t)
	whole := adt.Memory(&v)
	p.store(&v)
	cold := p.readBack()
	require.Less(t, adt.Memory(&cold), whole/10)
	all, _ := p.plan(&adt.Request{Method: sortedSetType.method("range-by-rank"), Args: data(0, -1), Value: &cold})
	require.NoError(t, all.Err)
	require.InDelta(t, whole/2, adt.Memory(&cold), float64(whole)/10)
	require.Positive(t, adt.UnloadedBytes(&cold))
	p.fill(adt.MissingPages(&cold))
	require.Zero(t, adt.UnloadedBytes(&cold))
	require.Equal(t, whole, adt.Memory(&cold))
}

// TestAbsentPagesAreReportedTogether: all pages that a call on several members needs are reported
// at once.
func TestAbsentPagesAreReportedTogether(t *testing.T) {
	p := &pageStore{t: t, rows: map[uint64][]byte{}, bytes: 1000}
	v := setType.full(t)
	p.store(&v)
	cold := p.readBack()
	var many []msg.Datum
	for i := range 50 {
		many = append(many, data(member(i))...)
	}
	_, rounds := p.plan(&adt.Request{Method: setType.method("remove"), Args: many, Value: &cold})
	require.Equal(t, 1, rounds)
	whole, rounds := p.plan(&adt.Request{Method: setType.method("members"), Value: &cold})
	require.Len(t, whole.Answer, large)
	require.Equal(t, 1, rounds)
}

// TestDamagedPatchesAreErrors: a damaged patch is an error and never a panic.
func TestDamagedPatchesAreErrors(t *testing.T) {
	for _, w := range pagedTypes {
		p := &pageStore{t: t, rows: map[uint64][]byte{}, bytes: 1000}
		v := w.full(t)
		p.store(&v)
		for _, patch := range [][]byte{nil, {2}, {1, 3}, {1, 1, 'a', 9}, {1, 1, 'a', 3}, {1, 1, 'a', 0}} {
			cold := p.readBack()
			_, err := adt.Patched(&cold, patch)
			require.Equal(t, kv.KindCorrupt, kv.KindOf(err), "%v", err)
		}
		cold := p.readBack()
		name := "there was no such thing"
		twice := slices.Concat([]byte{1, byte(len(name))}, []byte(name), []byte{1, 20})
		after, err := adt.Patched(&cold, twice)
		require.NoError(t, err, "the page is not there to tell")
		after.Version = v.Version
		p.fill(adt.MissingPages(&after))
		r := adt.Request{Method: adt.Lookup(w.id).Methods[0], Args: w.elementArgs(name), Value: &after}
		plan, _ := r.Plan(nil)
		require.Equal(t, kv.KindCorrupt, kv.KindOf(plan.Err), "%v", plan.Err)
	}
}

// elementArgs returns the arguments of the first method for one element.
func (w *collectionType) elementArgs(name string) []msg.Datum {
	switch w.id {
	case adt.Map:
		return data(name, "")
	case adt.SortedSet:
		return data(1.0, name)
	}
	return data(name)
}

// TestPageEncodingsAreStable: the bytes of a directory, a page and a patch of each type never
// change.
func TestPageEncodingsAreStable(t *testing.T) {
	for _, x := range []struct {
		w                *collectionType
		op, then         msg.Op
		directory, patch string
		pages            []string
	}{
		{&setType, setType.op("add", "a", "bc"), setType.op("remove", "a"), "\x01\x01\x01a\x02\x05\x00", "\x01\x01a\x01\x02",
			[]string{"\x01\x02\x01a\x02bc"}},
		{&mapType, mapType.op("set", "a", "1", "b", ""), mapType.op("set", "a", "2", "c", "3"), "\x01\x01\x01a\x02\x07\x00",
			"\x01\x01a\x03\x04\x012\x01c\x02\x013", []string{"\x01\x02\x01a\x011\x01b\x00"}},
		{&sortedSetType, sortedSetType.op("add", 0.000002, "a", -0.000001, "b"), sortedSetType.op("increment", "b", 0.000004),
			"\x01\x01\x01a\x02\x06\x00\x01\x01\x01b\x02\x06\x00", "\x01\x01b\x03\x01\x06",
			[]string{"\x01\x02\x01a\x04\x01b\x01", "\x01\x02\x01\x01b\x04\x01a"}},
	} {
		p := &pageStore{t: t, rows: map[uint64][]byte{}, bytes: 1000}
		v := x.w.value(t, x.op)
		p.store(&v)
		require.Equal(t, x.directory, string(p.directory))
		for i, page := range x.pages {
			require.Equal(t, page, string(p.rows[uint64(i)+1]))
		}
		calls := []msg.Call{{Method: x.then.Method, Args: x.then.Args}}
		after, err := adt.Apply(x.w.id, &v, calls)
		require.NoError(t, err)
		require.Equal(t, x.patch, string(adt.Patch(&v, &after, calls)))
	}
}

// FuzzPages: damaged directories, patches and pages are errors, or values that can be read.
func FuzzPages(f *testing.F) {
	for _, w := range pagedTypes {
		f.Add(uint8(w.id), []byte("\x01\x02\x01a\x02\x05\x00\x01c\x01\x02\x01\x02\x05\x01d\x01\x01e"),
			[]byte("\x01\x01a\x01\x02"), []byte("\x01\x02\x01a\x02bc"))
	}
	f.Fuzz(func(t *testing.T, id uint8, directory, patch, page []byte) {
		if !slices.ContainsFunc(pagedTypes, func(w *collectionType) bool { return uint8(w.id) == id }) {
			return
		}
		v, err := adt.Open(entry.Value{Type: entry.Type(id), Version: kv.Version{Write: 1}}, make([]entry.PageRef, 2),
			bytes.Clone(directory))
		if err != nil {
			require.Equal(t, kv.KindCorrupt, kv.KindOf(err))
			return
		}
		if after, err := adt.Patched(&v, patch); err == nil {
			v = stored(after)
		}
		for _, x := range adt.MissingPages(&v) {
			_ = x.Fill(page)
		}
		for _, m := range adt.Lookup(entry.Type(id)).Methods {
			args := make(adt.Args, len(m.Params))
			for i := range args {
				args[i].Kind = m.Params[i].Kind
			}
			(&adt.Request{Method: m, Args: args, Value: &v}).Plan(nil)
		}
		if v.Exists() {
			_, _, err = adt.StoreInPages(&v, &adt.Storing{Bytes: 10, Put: func([]byte) entry.PageRef { return entry.PageRef{} }})
			require.NoError(t, err)
		}
	})
}
