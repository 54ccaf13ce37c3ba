package adt_test

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

var lists = twinned{id: adt.List, twin: func() twin { return &listTwin{} }, draw: drawListCall, whole: "range", args: data(0, -1)}

type listTwin struct{ values []msg.Datum }

func (s *listTwin) clone() twin { return &listTwin{slices.Clone(s.values)} }

func (s *listTwin) call(method string, a adt.Args) (answer []msg.Datum, failed kv.Kind) {
	switch method {
	case "append":
		s.values = append(s.values, a...)
	case "append-len":
		s.values = append(s.values, a...)
		return data(len(s.values)), kv.KindOK
	case "range":
		return part(s.values, a[0].Int, a[1].Int), kv.KindOK
	case "trim":
		s.values = slices.Clone(part(s.values, a[0].Int, a[1].Int))
	case "len":
		return data(len(s.values)), kv.KindOK
	case "get":
		i := a[0].Int
		if i < 0 {
			i += int64(len(s.values))
		}
		if i < 0 || i >= int64(len(s.values)) {
			return []msg.Datum{adt.Nil()}, kv.KindOK
		}
		return s.values[i : i+1], kv.KindOK
	}
	return nil, kv.KindOK
}

func drawListCall(t *rapid.T) (method string, a adt.Args) {
	method = rapid.SampledFrom([]string{"append", "append", "append", "range", "len", "trim", "append-len", "get"}).Draw(t, "method")
	edges := rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, 0, -1})
	first := rapid.OneOf(rapid.Int64Range(-4, 4), rapid.Int64Range(-4, 4), edges)
	last := rapid.OneOf(rapid.Int64Range(-4, 30), rapid.Int64Range(-4, 30), edges)
	switch method {
	case "len":
		return method, nil
	case "get":
		return method, adt.Args{adt.Int(last.Draw(t, "index"))}
	case "range", "trim":
		return method, adt.Args{adt.Int(first.Draw(t, "first")), adt.Int(last.Draw(t, "last"))}
	}
	for range rapid.OneOf(rapid.IntRange(1, 3), rapid.IntRange(1, 20)).Draw(t, "values") {
		a = append(a, drawText(t, "value"))
	}
	return method, a
}

// TestLocksOfLists: what a call needs depends on whether it could see an append.
func TestLocksOfLists(t *testing.T) {
	v := lists.value(t, lists.op("append", "a", "b", "c"))
	for _, row := range []struct {
		op   msg.Op
		want string
	}{
		{lists.op("append", "d"), "append"},
		{lists.op("append-len", "d"), "append"},
		{lists.op("get", 2), "prefix"},
		{lists.op("get", 3), "all"},
		{lists.op("get", -1), "all"},
		{lists.op("range", 0, 2), "prefix"},
		{lists.op("range", 0, 3), "all"},
		{lists.op("range", 0, -1), "all"},
		{lists.op("range", 9, 8), "prefix"},
		{lists.op("range", -2, 2), "all"},
		{lists.op("trim", 0, 1), "trim"},
		{lists.op("trim", 0, 2), "all"},
		{lists.op("trim", 0, 9), "all"},
		{lists.op("trim", -9, -1), "all"},
		{lists.op("trim", 0, -1), "prefix"},
		{lists.op("len"), "all"},
	} {
		require.Equal(t, row.want, lists.locks(v, row.op), "%v", row.op)
	}
}

func TestLimitsOfLists(t *testing.T) {
	long := strings.Repeat("v", kv.MaxValueBytes)
	require.Nil(t, failure(entry.Value{}, lists.op("append", long)))
	requireFailure(t, kv.KindInvalid, "value has 1048577 bytes", failure(entry.Value{}, lists.op("append", long+"v")))
	requireFailure(t, kv.KindOutOfRange, "the limit is 8388608", failure(entry.Value{}, lists.op("append", long, long, long, long, long, long, long, long)))
	requireFailure(t, kv.KindInvalid, "the argument last is missing; want range first last", failure(entry.Value{}, lists.op("range", 1)))
}

// TestStoredLists: must never change.
func TestStoredLists(t *testing.T) {
	v := lists.value(t, lists.op("append", "b", "", "aa"))
	require.Equal(t, "\x01\x03\x01b\x00\x02aa", string(adt.Payload(&v)))
	for _, bad := range []string{"", "\x02\x01\x01a", "\x01\x00", "\x01\x01\x02a", "\x01\x02\x01a", "\x01\x01\x01a!", "\x01\x7f\x00"} {
		_, err := adt.Apply(adt.List, &entry.Value{Type: adt.List, Version: kv.Version{Write: 1}, Payload: []byte(bad)}, nil)
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err), "%q", bad)
	}
}

// TestTheMemoryOfAListIsEstimated: a value that is taken for much more than it takes never
// stays in memory, and one that is taken for less takes the memory of others.
func TestTheMemoryOfAListIsEstimated(t *testing.T) {
	const values = 20_000
	for _, bytes := range []int{12, 100, 1000} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		v := entry.Value{Type: adt.List}
		for range values {
			var err error
			v, err = adt.Apply(adt.List, &v, []msg.Call{{Method: 1, Args: adt.Args{adt.Bytes(make([]byte, bytes))}}})
			require.NoError(t, err)
			v.Version.Write = 1
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		takes := float64(after.HeapAlloc) - float64(before.HeapAlloc)
		require.InDelta(t, 1, float64(adt.Memory(&v))/takes, 0.5, "%d bytes", bytes)
	}
}
