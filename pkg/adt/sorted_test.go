package adt_test

import (
	"cmp"
	"maps"
	"math"
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

var sortedSetType = collectionType{id: adt.SortedSet, newModel: func() refModel { return sortedModel{} },
	draw: drawSortedCall, wholeMethod: "range-by-rank", wholeArgs: data(0, -1)}

// sortedModel has scores in millionths, with up to 15 digits.
type sortedModel map[string]int64

func (s sortedModel) clone() refModel { return maps.Clone(s) }

// toMillionths returns a score of the model; ok is false if it has more than 6 places.
func toMillionths(f float64) (n int64, ok bool) {
	n = int64(math.Round(f * 1e6))
	return n, float64(n)/1e6 == f
}

// byRank returns the members, lowest score first.
func (s sortedModel) byRank() []string {
	return slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		return cmp.Or(cmp.Compare(s[a], s[b]),
			strings.Compare(a, b))
	})
}

func (s sortedModel) show(members []string) (out []msg.Datum) {
	for _, m := range members {
		out = append(out, adt.Bytes([]byte(m)), adt.Float(float64(s[m])/1e6))
	}
	return out
}

// slicePositions returns the elements at positions first to last; negative positions count from the
// end.
func slicePositions[E any](all []E, first, last int64) []E {
	n := int64(len(all))
	if first < 0 {
		first = max(first+n, 0)
	}
	if last < 0 {
		last += n
	}
	last = min(last, n-1)
	if first > last {
		return nil
	}
	return all[first : last+1]
}

func (s sortedModel) call(method string, a adt.Args) (answer []msg.Datum, failed kv.Kind) {
	all := s.byRank()
	switch method {
	case "add":
		return s.add(a)
	case "increment", "increment-get":
		return s.increment(method, a)
	case "remove":
		for _, d := range a {
			delete(s, string(d.Bytes))
		}
	case "score":
		score, there := s[string(a[0].Bytes)]
		if !there {
			return []msg.Datum{adt.Nil()}, kv.KindOK
		}
		return data(float64(score) / 1e6), kv.KindOK
	case "range-by-rev-rank":
		slices.Reverse(all)
		fallthrough
	case "range-by-rank":
		return s.show(slicePositions(all, a[0].Int, a[1].Int)), kv.KindOK
	case "rev-rank":
		slices.Reverse(all)
		fallthrough
	case "rank":
		if i := slices.Index(all, string(a[0].Bytes)); i >= 0 {
			return data(i), kv.KindOK
		}
		return []msg.Datum{adt.Nil()}, kv.KindOK
	case "range-by-score":
		if len(a) > 2 && a[2].Int < 1 {
			return nil, kv.KindInvalid
		}
		in := slices.DeleteFunc(all, func(m string) bool {
			f := float64(s[m]) / 1e6
			return f < a[0].Float ||
				f > a[1].Float
		})
		if len(a) > 2 {
			in = in[:min(int64(len(in)), a[2].Int)]
		}
		return s.show(in), kv.KindOK
	case "len":
		return data(len(s)), kv.KindOK
	}
	return nil, kv.KindOK
}

func (s sortedModel) add(a adt.Args) ([]msg.Datum, kv.Kind) {
	for i := 0; i < len(a); i += 2 {
		if _, ok := toMillionths(a[i].Float); !ok {
			return nil, kv.KindInvalid
		}
	}
	for i := 0; i < len(a); i += 2 {
		s[string(a[i+1].Bytes)], _ = toMillionths(a[i].Float)
	}
	return nil, kv.KindOK
}

func (s sortedModel) increment(method string, a adt.Args) ([]msg.Datum, kv.Kind) {
	n, ok := toMillionths(a[1].Float)
	if !ok {
		return nil, kv.KindInvalid
	}
	s[string(a[0].Bytes)] += n
	if method == "increment" {
		return nil, kv.KindOK
	}
	return data(float64(s[string(a[0].Bytes)]) / 1e6), kv.KindOK
}

func drawScore(t *rapid.T) msg.Datum {
	return adt.Float(rapid.SampledFrom([]float64{0, 1, 1, 2, -1, 0.1, 0.2, 0.3, -2.5, 0.000001, 123456.789, 1e8, -1e8,
		0.0000001}).Draw(t, "score"))
}

func drawSortedCall(t *rapid.T) (method string, a adt.Args) {
	names := []string{"add", "add", "increment", "increment", "remove", "score", "rank", "range-by-rank",
		"range-by-score", "len", "increment-get", "rev-rank", "range-by-rev-rank"}
	method = rapid.SampledFrom(names).Draw(t, "method")
	switch method {
	case "len":
		return method, nil
	case "score", "rank", "rev-rank":
		return method, adt.Args{drawText(t, "member")}
	case "range-by-rank", "range-by-rev-rank":
		rank := rapid.Int64Range(-6, 6)
		return method, adt.Args{adt.Int(rank.Draw(t, "first")), adt.Int(rank.Draw(t, "last"))}
	case "range-by-score":
		bound := rapid.SampledFrom([]float64{-1e300, -1, 0, 0.1, 0.2, 1, 2, 100, 1e15})
		a = adt.Args{adt.Float(bound.Draw(t, "min")), adt.Float(bound.Draw(t, "max"))}
		if rapid.Bool().Draw(t, "limited") {
			a = append(a, adt.Int(rapid.Int64Range(0, 4).Draw(t, "limit")))
		}
		return method, a
	case "increment", "increment-get":
		return method, adt.Args{drawText(t, "member"), drawScore(t)}
	}
	for range rapid.OneOf(rapid.IntRange(1, 3), rapid.IntRange(1, 20)).Draw(t, "members") {
		if method == "add" {
			a = append(a, drawScore(t))
		}
		a = append(a, drawText(t, "member"))
	}
	return method, a
}

// TestSortedSetLocksDependOnMembers: the lock depends on which members exist.
func TestSortedSetLocksDependOnMembers(t *testing.T) {
	v := sortedSetType.value(t, sortedSetType.op("add", 1.0, "x", 2.0, "y"))
	for _, row := range []struct {
		op   msg.Op
		want string
	}{
		{sortedSetType.op("add", 1.0, "z"), "add"},
		{sortedSetType.op("add", 5.0, "x"), "rescore"},
		{sortedSetType.op("add", 1.0, "x"), "score"},
		{sortedSetType.op("add", 5.0, "x", 1.0, "z"), "add"},
		{sortedSetType.op("increment", "x", 1.0), "shift"},
		{sortedSetType.op("increment", "z", 1.0), "increment"},
		{sortedSetType.op("increment-get", "x", 1.0), "rescore"},
		{sortedSetType.op("increment-get", "z", 1.0), "add"},
		{sortedSetType.op("remove", "x", "z"), "remove"},
		{sortedSetType.op("remove", "z"), "absent"},
		{sortedSetType.op("score", "x"), "score"},
		{sortedSetType.op("score", "z"), "absent"},
		{sortedSetType.op("rank", "x"), "order"},
		{sortedSetType.op("rank", "z"), "absent"},
		{sortedSetType.op("rev-rank", "z"), "absent"},
		{sortedSetType.op("range-by-rank", 0, 0), "order"},
		{sortedSetType.op("len"), "len"},
	} {
		require.Equal(t, row.want, sortedSetType.locks(v, row.op), "%v", row.op)
	}
}

func TestSortedSetLimits(t *testing.T) {
	long := strings.Repeat("m", adt.MaxMemberBytes+1)
	for _, op := range []msg.Op{sortedSetType.op("add", 1.0, long), sortedSetType.op("increment", long, 1.0),
		sortedSetType.op("increment-get", long, 1.0)} {
		requireFailure(t, kv.KindInvalid, "a member has 65537 bytes", failure(entry.Value{}, op))
	}
	for _, op := range []msg.Op{sortedSetType.op("add", 0.1234567, "m"), sortedSetType.op("increment", "m", 0.1234567),
		sortedSetType.op("increment-get", "m", 0.1234567), sortedSetType.op("range-by-score", 0.1234567,
			1.0), sortedSetType.op("range-by-score", 0.0, 0.1234567)} {
		requireFailure(t, kv.KindInvalid, "0.1234567 has more than 6 decimal places; round it to millionths",
			failure(entry.Value{}, op))
	}
	requireFailure(t, kv.KindInvalid, "score is not a finite number",
		failure(entry.Value{}, sortedSetType.op("add", math.Inf(1), "m")))
	requireFailure(t, kv.KindInvalid, "is out of range: decimals are between",
		failure(entry.Value{}, sortedSetType.op("add", 1e13, "m")))
	requireFailure(t, kv.KindInvalid, "the limit is 0; the minimum is 1",
		failure(entry.Value{}, sortedSetType.op("range-by-score", 0.0, 1.0, 0)))
	for _, name := range []string{"increment", "increment-get"} {
		requireFailure(t, kv.KindOutOfRange, "would exceed 9.2e12",
			failure(entry.Value{}, sortedSetType.op("add", 9e12, "m"), sortedSetType.op(name, "m", 9e12)))
	}
}

// TestLargeScoresStayExact: above 9e9 a double does not have all places of a score; the set has.
func TestLargeScoresStayExact(t *testing.T) {
	v := sortedSetType.value(t, sortedSetType.op("add", 9e12, "m"), sortedSetType.op("increment", "m", 0.000001),
		sortedSetType.op("increment", "m", -9e12))
	plan, _ := (&adt.Request{Method: sortedSetType.method("score"), Args: data("m"), Value: &v}).Plan(nil)
	require.Equal(t, 0.000001, plan.Answer[0].Float)
	v = sortedSetType.value(t, sortedSetType.op("add", 9e12, "m"), sortedSetType.op("add", -9e12, "l"))
	for _, all := range []msg.Op{sortedSetType.op("range-by-score", -math.MaxFloat64, math.MaxFloat64),
		sortedSetType.op("range-by-score", -9e12, 9e12)} {
		plan, _ = (&adt.Request{Method: sortedSetType.method("range-by-score"), Args: all.Args, Value: &v}).Plan(nil)
		require.Equal(t, format(data("l", -9e12, "m", 9e12)), format(plan.Answer))
	}
}

// TestScoreIncrementNearLimitWaits: as TestMapIncrementNearLimitWaits.
func TestScoreIncrementNearLimitWaits(t *testing.T) {
	v := sortedSetType.value(t, sortedSetType.op("add", 9e12, "m"))
	lock := func(member string, delta float64, others ...msg.Op) string {
		op := sortedSetType.op("increment", member, delta)
		r := adt.Request{Method: sortedSetType.method("increment"), Args: op.Args, Value: &v,
			Others: func(visit func([]msg.Call)) {
				for _, o := range others {
					visit([]msg.Call{{Method: o.Method, Args: o.Args}})
				}
			}}
		_, modes := r.Plan(nil)
		return adt.Lookup(adt.SortedSet).Kinds[modes[0].Kind()-1].Name
	}
	require.Equal(t, "shift", lock("m", 1e11, sortedSetType.op("increment", "m", 1e11)))
	require.Equal(t, "rescore", lock("m", 1e11, sortedSetType.op("increment", "m", 2e11)))
	require.Equal(t, "rescore", lock("m", 1e12, sortedSetType.op("increment", "m", -1e12)))
	require.Equal(t, "shift", lock("m", 1e11, sortedSetType.op("increment", "l", 2e11), sortedSetType.op("add", 5.0, "l")))
	require.Equal(t, "increment", lock("l", 9e12, sortedSetType.op("increment", "l", -9e12)))
	require.Equal(t, "add", lock("l", 9e12, sortedSetType.op("increment", "l", 9e12)))
}

// TestScoreIncrementsCombine: increments with the same sign are combined if a double can represent
// the sum.
func TestScoreIncrementsCombine(t *testing.T) {
	merge := func(ops ...msg.Op) (out []float64) {
		var calls []msg.Call
		for _, op := range ops {
			calls = adt.CombineCalls(adt.SortedSet, calls, []msg.Call{{Method: op.Method, Args: op.Args}})
		}
		for _, c := range calls {
			out = append(out, c.Args[1].Float)
		}
		return out
	}
	require.Equal(t, []float64{0.3}, merge(sortedSetType.op("increment", "f", 0.1),
		sortedSetType.op("increment", "f", 0.2)), "not 0.30000000000000004")
	require.Equal(t, []float64{0.3, -0.2}, merge(sortedSetType.op("increment", "f", 0.1),
		sortedSetType.op("increment", "f", 0.2), sortedSetType.op("increment", "f", -0.2)))
	require.Equal(t, []float64{0.1, 0.2}, merge(sortedSetType.op("increment", "f", 0.1),
		sortedSetType.op("increment", "g", 0.2)))
	require.Equal(t, []float64{1e12, 0.000001}, merge(sortedSetType.op("increment", "f", 1e12),
		sortedSetType.op("increment", "f", 0.000001)))
	require.Equal(t, []float64{9e12, 9e12}, merge(sortedSetType.op("increment", "f", 9e12),
		sortedSetType.op("increment", "f", 9e12)))
}
