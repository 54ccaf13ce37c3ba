package mvcc

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// added is a call that adds numbered members of 20 bytes to a set.
func added(members ...int) msg.Call {
	c := msg.Call{Method: adt.ByName("set").MethodByName("add").Number}
	for _, n := range members {
		c.Args = append(c.Args, adt.Bytes(fmt.Appendf(nil, "member-%013d", n)))
	}
	return c
}

// setOf is a set of the first n members.
func setOf(t require.TestingT, n int) entry.Value {
	var v entry.Value
	for i := range n {
		after, err := adt.Apply(adt.Set, &v, []msg.Call{added(i)})
		require.NoError(t, err)
		v, v.Version = after, kv.Version{Write: 1}
	}
	return v
}

// extend makes a change visible as a shard does, and returns the result of Extend.
func extend(t require.TestingT, it *Item, s Step, calls ...msg.Call) ([]msg.Call, bool) {
	after, err := adt.Apply(adt.Set, &it.Value, calls)
	require.NoError(t, err)
	after.Version = kv.Version{Write: it.Value.Version.Write + 1}
	it.Value = after
	return it.Extend(calls, s)
}

func TestExtendChoosesDeltaOrWholeValue(t *testing.T) {
	item := func(members int) *Item { return &Item{Key: []byte("k"), Value: setOf(t, members), Loaded: true} }
	for _, c := range []struct {
		name    string
		members int
		s       Step
		call    msg.Call
		delta   bool
	}{
		{"a small value is written whole", 10, Step{PreviousCSN: 1}, added(100), false},
		{"a larger value gets a delta", 100, Step{PreviousCSN: 1}, added(100), true},
		{"also if the value before cannot be read", 100, Step{PreviousCSN: 1, Unread: true}, added(100), true},
		{"a value written whole in this step is written whole again", 100, Step{PreviousCSN: 1, Unread: true, SameStep: true},
			added(100), false},
		{"unless that row can be read", 100, Step{PreviousCSN: 1, SameStep: true}, added(100), true},
		{"a change larger than the value is written whole", 30, Step{PreviousCSN: 1}, added(make([]int, 200)...), false},
	} {
		row, over := extend(t, item(c.members), c.s, c.call)
		require.Equal(t, c.delta, row != nil, c.name)
		require.False(t, over, c.name)
	}

	it := item(100)
	extend(t, it, Step{PreviousCSN: 1}, added(1001))
	require.Equal(t, []kv.CSN{1}, it.Below)
	row, over := extend(t, it, Step{PreviousCSN: 2, Unread: true, SameStep: true}, added(1002))
	require.True(t, over, "changes of one step share a row")
	require.Equal(t, []msg.Call{added(1001, 1002)}, row, "and one call, if the type combines them")
	it.Settle()
	rows := 1
	for i := range 30 {
		old := kv.CSN(rows + 1)
		row, over = extend(t, it, Step{PreviousCSN: old, Unread: true}, added(2000+i))
		if !over {
			rows++
			require.Equal(t, []msg.Call{added(2000 + i)}, row)
		}
		it.Settle()
	}
	require.Greater(t, rows, 5, "a large row of an earlier step is not replaced")
	require.Less(t, rows, 15, "a small one is")
	require.Len(t, it.Below, rows)
	_, over = extend(t, it, Step{PreviousCSN: kv.CSN(rows + 1)}, added(1005))
	require.False(t, over, "the row can be read")
	require.Equal(t, kv.CSN(rows+1), it.Below[rows])
}

// TestChainWeightIsBounded: the weight of a chain is the size of its rows, and never exceeds the
// size of the value or minChainWeight.
func TestChainWeightIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		it := &Item{Key: []byte("key"), Value: setOf(t, rapid.IntRange(30, 200).Draw(t, "members")), Loaded: true}
		rows := [][]msg.Call{}
		for range rapid.IntRange(1, 300).Draw(t, "changes") {
			s := Step{PreviousCSN: 1, Unread: rapid.Bool().Draw(t, "unread"), SameStep: rapid.Bool().Draw(t, "same")}
			if !s.SameStep {
				it.Settle()
			}
			row, over := extend(t, it, s, added(rapid.IntRange(0, 1000).Draw(t, "member")))
			switch {
			case row == nil:
				it.Chain, rows = Chain{}, rows[:0]
			case over:
				rows[len(rows)-1] = slices.Clone(row)
			default:
				rows = append(rows, slices.Clone(row))
			}
			require.Len(t, it.Below, len(rows))
			exact := 0
			for _, r := range rows {
				exact += rowOverhead + len(it.Key) + entry.DeltaSize(&entry.Value{}, r)
			}
			require.InDelta(t, exact, it.Weight, float64(2*len(rows)+exact/20))
			require.LessOrEqual(t, it.Weight, max(adt.Size(&it.Value), minChainWeight))
		}
	})
}

func deltaRow(csn kv.CSN, typ entry.Type, calls ...msg.Call) entry.Row {
	v := entry.Value{Type: typ, Version: kv.Version{Write: uint64(csn)}}
	b := make([]byte, entry.DeltaSize(&v, calls))
	entry.EncodeDelta(b, &v, calls)
	return entry.Row{Key: []byte("k"), CSN: csn, Value: b}
}

func TestFoldRebuildsValueFromChain(t *testing.T) {
	base := setOf(t, 3)
	adt.Payload(&base)
	whole := entry.Row{Key: []byte("k"), CSN: 4, Value: base.Encode()}
	f, err := Fold(nil)
	require.NoError(t, err)
	require.Equal(t, Found{}, f, "nothing is stored")

	f, err = Fold([]entry.Row{deltaRow(9, adt.Set, added(7), added(8)), deltaRow(6, adt.Set, added(5)), whole})
	require.NoError(t, err)
	require.EqualValues(t, 9, f.CSN)
	require.Equal(t, []kv.CSN{4, 6}, f.Below)
	require.EqualValues(t, 9, f.Value.Version.Write)
	require.Nil(t, f.Calls)
	want := setOf(t, 3)
	want, err = adt.Apply(adt.Set, &want, []msg.Call{added(5, 7, 8)})
	require.NoError(t, err)
	require.Equal(t, adt.Payload(&want), adt.Payload(&f.Value))

	gone := deltaRow(9, adt.Set, msg.Call{Method: adt.ByName("set").MethodByName("remove").Number,
		Args: added(0, 1, 2).Args})
	other := setOf(t, 3)
	other.Type, other.Payload = 239, []byte("x")
	for name, test := range map[string]struct {
		rows []entry.Row
		text string
		kind kv.Kind
	}{
		"a delta alone":        {[]entry.Row{deltaRow(9, adt.Set, added(7))}, "not a whole value", kv.KindCorrupt},
		"a value amid a chain": {[]entry.Row{whole, whole}, "not a change", kv.KindCorrupt},
		"another type": {[]entry.Row{deltaRow(9, adt.Map, added(7)), whole},
			"a set has a stored change of a map", kv.KindCorrupt},
		"no such method": {[]entry.Row{deltaRow(9, adt.Set, msg.Call{Method: 77}), whole},
			"no update number 77", kv.KindCorrupt},
		"a method that changes nothing": {[]entry.Row{deltaRow(9, adt.Set, msg.Call{Method: 3}), whole},
			"no update number 3", kv.KindCorrupt},
		"arguments that are missing": {[]entry.Row{deltaRow(9, adt.Map, msg.Call{Method: 5}),
			{Key: []byte("k"), CSN: 1, Value: mapRow(t)}}, "cannot be applied", kv.KindCorrupt},
		"an empty result": {[]entry.Row{gone, whole}, "would be removed", kv.KindCorrupt},
		"a value that cannot be read": {[]entry.Row{deltaRow(9, adt.Set, added(7)),
			{Key: []byte("k"), Value: append(base.Encode()[:20:20], 0xff)}}, "cannot be read", kv.KindCorrupt},
		"a type that is not declared": {[]entry.Row{deltaRow(9, 239, added(7)), {Key: []byte("k"), Value: other.Encode()}},
			"data type 239 is not known", kv.KindInvalid},
	} {
		_, err := Fold(test.rows)
		require.ErrorContains(t, err, test.text, name)
		require.Equal(t, test.kind, kv.KindOf(err), name)
	}
}

func mapRow(t *testing.T) []byte {
	m := adt.ByName("map").MethodByName("set")
	v, err := adt.Apply(adt.Map, &entry.Value{}, []msg.Call{
		{Method: m.Number, Args: []msg.Datum{adt.Bytes([]byte("f")), adt.Bytes([]byte("v"))}}})
	require.NoError(t, err)
	v.Version.Write = 1
	adt.Payload(&v)
	return v.Encode()
}

// TestReplacedChainIsCollectedRowByRow: of a replaced chain, the rows that a retained CSN sees
// stay, down to the whole value; all others are removed.
func TestReplacedChainIsCollectedRowByRow(t *testing.T) {
	g := NewGarbage(100, false)
	collect := func(safePoint kv.CSN, retained ...kv.CSN) (out []string) {
		for _, e := range g.Collect(safePoint, retained) {
			out = append(out, fmt.Sprintf("%v@%d", e.Action, e.CSN))
		}
		return out
	}
	g.AddReplaced([]byte("k"), []kv.CSN{2, 4, 6}, 8, 10, false)
	require.Equal(t, 4, g.Len(), "each row counts")
	require.Empty(t, collect(9), "a read below is possible")
	require.Equal(t, []string{"delete@6", "delete@8"}, collect(10, 3, 5))
	require.Empty(t, collect(10, 3, 5))
	require.Equal(t, []string{"delete@4"}, collect(10, 3))
	require.Equal(t, []string{"delete@2"}, collect(10))
	require.Zero(t, g.Len())

	g.AddReplaced([]byte("k"), []kv.CSN{12, 14}, 0, 20, false)
	require.Equal(t, []string{"delete@12", "delete@14"}, collect(20), "the newest row was replaced in its place")
	g.AddReplaced([]byte("k"), []kv.CSN{16, 18}, 22, 30, true)
	require.Equal(t, []string{"delete@18", "delete@22"}, collect(30, 17),
		"a tombstone stays while a CSN below it is retained")
	require.Equal(t, []string{"delete-below@31"}, collect(30))

	long := []kv.CSN{40}
	for i := kv.CSN(41); i < 60; i++ {
		long = append(long, i)
	}
	g.AddReplaced([]byte("k"), long, 60, 70, false)
	require.Equal(t, []string{"delete-below@61"}, collect(70), "one entry removes a long chain")
	g.AddReplaced([]byte("k"), long, 0, 70, false)
	require.Equal(t, []string{"delete-below@60"}, collect(70), "but not the value in the newest row's place")
}
