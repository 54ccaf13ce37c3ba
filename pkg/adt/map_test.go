package adt_test

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

var mapType = collectionType{id: adt.Map, newModel: func() refModel { return mapModel{} }, draw: drawMapCall,
	wholeMethod: "all"}

type mapModel map[string]string

func (s mapModel) clone() refModel { return maps.Clone(s) }

func (s mapModel) get(field []byte) msg.Datum {
	if v, ok := s[string(field)]; ok {
		return adt.Bytes([]byte(v))
	}
	return adt.Nil()
}

func (s mapModel) from(field string, limit int64) (out []msg.Datum) {
	for _, f := range slices.Sorted(maps.Keys(s)) {
		if f >= field && int64(len(out)) < 2*limit {
			out = append(out, adt.Bytes([]byte(f)), adt.Bytes([]byte(s[f])))
		}
	}
	return out
}

func (s mapModel) call(method string, a adt.Args) (answer []msg.Datum, failed kv.Kind) {
	switch method {
	case "set":
		for i := 0; i < len(a); i += 2 {
			s[string(a[i].Bytes)] = string(a[i+1].Bytes)
		}
	case "delete":
		for _, d := range a {
			delete(s, string(d.Bytes))
		}
	case "get", "get-many":
		for _, d := range a {
			answer = append(answer, s.get(d.Bytes))
		}
	case "increment", "increment-get":
		return s.increment(method, a)
	case "len":
		return data(len(s)), kv.KindOK
	case "all":
		return s.from("", math.MaxInt32), kv.KindOK
	case "range":
		if a[1].Int < 1 {
			return nil, kv.KindInvalid
		}
		return s.from(string(a[0].Bytes), a[1].Int), kv.KindOK
	case "has":
		return []msg.Datum{adt.Bool(s.get(a[0].Bytes).Kind != msg.DatumNil)}, kv.KindOK
	case "set-if-absent":
		_, there := s[string(a[0].Bytes)]
		if !there {
			s[string(a[0].Bytes)] = string(a[1].Bytes)
		}
		return []msg.Datum{adt.Bool(!there)}, kv.KindOK
	}
	return answer, kv.KindOK
}

func (s mapModel) increment(method string, a adt.Args) ([]msg.Datum, kv.Kind) {
	text, there := s[string(a[0].Bytes)]
	if !there {
		text = "0"
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || text != strconv.FormatInt(n, 10) {
		return nil, kv.KindConditionFailed
	}
	sum, ok := adt.Sum(n, a[1].Int)
	if !ok {
		return nil, kv.KindOutOfRange
	}
	s[string(a[0].Bytes)] = strconv.FormatInt(sum, 10)
	if method == "increment" {
		return nil, kv.KindOK
	}
	return data(int(sum)), kv.KindOK
}

func drawMapCall(t *rapid.T) (method string, a adt.Args) {
	method = rapid.SampledFrom([]string{"set", "delete", "get", "get-many", "increment", "increment", "increment-get",
		"len", "all", "range", "has", "set-if-absent"}).Draw(t, "method")
	value := func() msg.Datum {
		if rapid.Bool().Draw(t, "a number") {
			return data(rapid.SampledFrom([]string{"0", "5", "-7", "9223372036854775807", "-9223372036854775808", "007", "+1",
				"9223372036854775808"}).Draw(t, "value"))[0]
		}
		return drawText(t, "value")
	}
	switch method {
	case "len", "all":
		return method, nil
	case "get", "has":
		return method, adt.Args{drawText(t, "field")}
	case "set-if-absent":
		return method, adt.Args{drawText(t, "field"), value()}
	case "range":
		return method, adt.Args{drawText(t, "from"), adt.Int(rapid.Int64Range(-1, 6).Draw(t, "limit"))}
	case "increment", "increment-get":
		return method, adt.Args{drawText(t, "field"), adt.Int(
			rapid.OneOf(rapid.Int64Range(-5, 5), rapid.Int64()).Draw(t, "delta"))}
	}
	for range rapid.OneOf(rapid.IntRange(1, 3), rapid.IntRange(1, 20)).Draw(t, "fields") {
		a = append(a, drawText(t, "field"))
		if method == "set" {
			a = append(a, value())
		}
	}
	return method, a
}

// TestMapLocksDependOnFields: the lock depends on which fields exist.
func TestMapLocksDependOnFields(t *testing.T) {
	v := mapType.value(t, mapType.op("set", "x", "1", "y", "2"))
	for _, row := range []struct {
		op   msg.Op
		want string
	}{
		{mapType.op("set", "z", "1"), "set"},
		{mapType.op("set", "x", "5"), "overwrite"},
		{mapType.op("set", "x", "1"), "get"},
		{mapType.op("set", "x", "5", "z", "1"), "set"},
		{mapType.op("delete", "x"), "delete"},
		{mapType.op("delete", "z"), "absent"},
		{mapType.op("get", "x"), "get"},
		{mapType.op("get", "z"), "absent"},
		{mapType.op("get-many", "z", "zz"), "absent"},
		{mapType.op("get-many", "z", "x"), "get"},
		{mapType.op("increment", "x", 1), "bump"},
		{mapType.op("increment", "z", 1), "increment"},
		{mapType.op("increment-get", "x", 1), "overwrite"},
		{mapType.op("increment-get", "z", 1), "set"},
		{mapType.op("len"), "len"},
		{mapType.op("range", "", 1), "all"},
		{mapType.op("has", "x"), "present"},
		{mapType.op("has", "z"), "absent"},
		{mapType.op("set-if-absent", "x", "5"), "present"},
		{mapType.op("set-if-absent", "z", "5"), "set"},
	} {
		require.Equal(t, row.want, mapType.locks(v, row.op), "%v", row.op)
	}
}

func TestMapLimits(t *testing.T) {
	long := strings.Repeat("f", adt.MaxMemberBytes)
	for _, name := range []string{"set", "set-if-absent"} {
		require.Nil(t, failure(entry.Value{}, mapType.op(name, long, "")))
		requireFailure(t, kv.KindInvalid, "a field has 65537 bytes", failure(entry.Value{}, mapType.op(name, long+"f", "")))
	}
	for _, name := range []string{"increment", "increment-get"} {
		requireFailure(t, kv.KindInvalid, "a field has 65537 bytes", failure(entry.Value{}, mapType.op(name, long+"f", 1)))
		requireFailure(t, kv.KindConditionFailed, name+" of a map: the field is not a decimal 64-bit integer",
			failure(entry.Value{}, mapType.op("set", "a", "x"), mapType.op(name, "a", 1)))
		requireFailure(t, kv.KindOutOfRange, "the field is 7",
			failure(entry.Value{}, mapType.op("set", "a", "7"), mapType.op(name, "a", math.MaxInt64)))
	}
	requireFailure(t, kv.KindInvalid, "value has 1048577 bytes",
		failure(entry.Value{}, mapType.op("set", "f", strings.Repeat("v", kv.MaxValueBytes+1))))
	requireFailure(t, kv.KindInvalid, "want set field value ...", failure(entry.Value{}, mapType.op("set", "f")))
	requireFailure(t, kv.KindInvalid, "the limit is 0; the minimum is 1",
		failure(entry.Value{}, mapType.op("range", "", 0)))
	requireFailure(t, kv.KindOutOfRange, "the limit is 8388608", failure(entry.Value{}, manyFields()...))
}

func manyFields() (ops []msg.Op) {
	for i := range 9 {
		ops = append(ops, mapType.op("set", strconv.Itoa(i), strings.Repeat("v", kv.MaxValueBytes)))
	}
	return ops
}

// TestMapIncrementNearLimitWaits: if the sum may exceed 64 bits for some outcome of the undecided
// increments, the call waits for them under an exclusive lock.
func TestMapIncrementNearLimitWaits(t *testing.T) {
	v := mapType.value(t, mapType.op("set", "f", strconv.Itoa(math.MaxInt64-10)))
	lock := func(field string, delta int, others ...msg.Op) string {
		op := mapType.op("increment", field, delta)
		r := adt.Request{Method: mapType.method("increment"), Args: op.Args, Value: &v, Others: func(visit func([]msg.Call)) {
			for _, o := range others {
				visit([]msg.Call{{Method: o.Method, Args: o.Args}})
			}
		}}
		p, modes := r.Plan(nil)
		if p.Err != nil {
			return kv.KindOf(p.Err).String()
		}
		return adt.Lookup(adt.Map).Kinds[modes[0].Kind()-1].Name
	}
	require.Equal(t, "bump", lock("f", 4, mapType.op("increment", "f", 6)))
	require.Equal(t, "overwrite", lock("f", 4, mapType.op("increment", "f", 7)))
	require.Equal(t, "overwrite", lock("f", 4, mapType.op("increment", "f", 7), mapType.op("increment", "f", -7)),
		"only the 7 may come to be")
	require.Equal(t, "bump", lock("f", 4, mapType.op("increment", "g", 7), mapType.op("set", "h", "7")))
	require.Equal(t, "overwrite", lock("f", -10, mapType.op("increment", "f", math.MaxInt64),
		mapType.op("increment", "f", math.MaxInt64)))
	require.Equal(t, "overwrite", lock("f", 0, mapType.op("increment", "f", math.MinInt64),
		mapType.op("increment", "f", -1)))
	require.Equal(t, "overwrite", lock("f", 11, mapType.op("increment", "f", -1)), "it fails unless the other comes to be")
	require.Equal(t, kv.KindOutOfRange.String(), lock("f", 11))
	require.Equal(t, "set", lock("g", math.MaxInt64, mapType.op("increment", "g", 1)))
	require.Equal(t, "increment", lock("g", math.MaxInt64, mapType.op("increment", "g", -1)))
}

// TestMapIncrementsCombine: increments with the same sign are combined.
func TestMapIncrementsCombine(t *testing.T) {
	merge := func(ops ...msg.Op) (out []int64) {
		var calls []msg.Call
		for _, op := range ops {
			calls = adt.CombineCalls(adt.Map, calls, []msg.Call{{Method: op.Method, Args: op.Args}})
		}
		for _, c := range calls {
			out = append(out, c.Args[1].Int)
		}
		return out
	}
	require.Equal(t, []int64{5}, merge(mapType.op("increment", "f", 2), mapType.op("increment", "f", 3)))
	require.Equal(t, []int64{5, -2}, merge(mapType.op("increment", "f", 2), mapType.op("increment", "f", 3),
		mapType.op("increment", "f", -2)))
	require.Equal(t, []int64{2, 3}, merge(mapType.op("increment", "f", 2), mapType.op("increment", "g", 3)))
	require.Equal(t, []int64{math.MaxInt64, 1}, merge(mapType.op("increment", "f", math.MaxInt64),
		mapType.op("increment", "f", 1)))
}
