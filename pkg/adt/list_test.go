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

var listType = collectionType{id: adt.List, newModel: func() refModel { return &listModel{} }, draw: drawListCall,
	wholeMethod: "range", wholeArgs: data(0, -1)}

type listModel struct{ values []msg.Datum }

func (s *listModel) clone() refModel { return &listModel{slices.Clone(s.values)} }

func (s *listModel) call(method string, a adt.Args) (answer []msg.Datum, failed kv.Kind) {
	switch method {
	case "append":
		s.values = append(s.values, a...)
	case "append-len":
		s.values = append(s.values, a...)
		return data(len(s.values)), kv.KindOK
	case "range":
		return slicePositions(s.values, a[0].Int, a[1].Int), kv.KindOK
	case "trim":
		s.values = slices.Clone(slicePositions(s.values, a[0].Int, a[1].Int))
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
	method = rapid.SampledFrom([]string{"append", "append", "append", "range", "len", "trim", "append-len", "get"}).Draw(
		t, "method")
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

// TestListLocksDependOnPositions: the lock depends on whether the call could read an append.
func TestListLocksDependOnPositions(t *testing.T) {
	v := listType.value(t, listType.op("append", "a", "b", "c"))
	for _, row := range []struct {
		op   msg.Op
		want string
	}{
		{listType.op("append", "d"), "append"},
		{listType.op("append-len", "d"), "append"},
		{listType.op("get", 2), "prefix"},
		{listType.op("get", 3), "all"},
		{listType.op("get", -1), "all"},
		{listType.op("range", 0, 2), "prefix"},
		{listType.op("range", 0, 3), "all"},
		{listType.op("range", 0, -1), "all"},
		{listType.op("range", 9, 8), "prefix"},
		{listType.op("range", -2, 2), "all"},
		{listType.op("trim", 0, 1), "trim"},
		{listType.op("trim", 0, 2), "all"},
		{listType.op("trim", 0, 9), "all"},
		{listType.op("trim", -9, -1), "all"},
		{listType.op("trim", 0, -1), "prefix"},
		{listType.op("len"), "all"},
	} {
		require.Equal(t, row.want, listType.locks(v, row.op), "%v", row.op)
	}
}

func TestListLimits(t *testing.T) {
	long := strings.Repeat("v", kv.MaxValueBytes)
	require.Nil(t, failure(entry.Value{}, listType.op("append", long)))
	requireFailure(t, kv.KindInvalid, "value has 1048577 bytes", failure(entry.Value{}, listType.op("append", long+"v")))
	requireFailure(t, kv.KindOutOfRange, "the limit is 8388608",
		failure(entry.Value{}, listType.op("append", long, long, long, long, long, long, long, long)))
	requireFailure(t, kv.KindInvalid, "the argument last is missing; want range first last",
		failure(entry.Value{}, listType.op("range", 1)))
}

// TestListMemoryEstimate: if the estimate is far too high, the value never stays in memory; if it
// is too low, the cache exceeds its limit.
func TestListMemoryEstimate(t *testing.T) {
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
