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

var scoredSets = twinned{id: adt.SortedSet, twin: func() twin { return sortedTwin{} }, draw: drawSortedCall, whole: "range-by-rank", args: data(0, -1)}

// sortedTwin has scores in millionths, of up to 15 digits.
type sortedTwin map[string]int64

func (s sortedTwin) clone() twin { return maps.Clone(s) }

// million gives a twin's score; ok is false if it has more than 6 places.
func million(f float64) (n int64, ok bool) {
	n = int64(math.Round(f * 1e6))
	return n, float64(n)/1e6 == f
}

// byRank is the members, lowest score first, as often as there are ranks.
func (s sortedTwin) byRank() []string {
	return slices.SortedFunc(maps.Keys(s), func(a, b string) int { return cmp.Or(cmp.Compare(s[a], s[b]), strings.Compare(a, b)) })
}

func (s sortedTwin) show(members []string) (out []msg.Datum) {
	for _, m := range members {
		out = append(out, adt.Bytes([]byte(m)), adt.Float(float64(s[m])/1e6))
	}
	return out
}

// part is what a range of positions has, negative ones from the end.
func part[E any](all []E, first, last int64) []E {
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

func (s sortedTwin) call(method string, a adt.Args) (answer []msg.Datum, failed kv.Kind) {
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
		return s.show(part(all, a[0].Int, a[1].Int)), kv.KindOK
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
		in := slices.DeleteFunc(all, func(m string) bool { f := float64(s[m]) / 1e6; return f < a[0].Float || f > a[1].Float })
		if len(a) > 2 {
			in = in[:min(int64(len(in)), a[2].Int)]
		}
		return s.show(in), kv.KindOK
	case "len":
		return data(len(s)), kv.KindOK
	}
	return nil, kv.KindOK
}

func (s sortedTwin) add(a adt.Args) ([]msg.Datum, kv.Kind) {
	for i := 0; i < len(a); i += 2 {
		if _, ok := million(a[i].Float); !ok {
			return nil, kv.KindInvalid
		}
	}
	for i := 0; i < len(a); i += 2 {
		s[string(a[i+1].Bytes)], _ = million(a[i].Float)
	}
	return nil, kv.KindOK
}

func (s sortedTwin) increment(method string, a adt.Args) ([]msg.Datum, kv.Kind) {
	n, ok := million(a[1].Float)
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
	return adt.Float(rapid.SampledFrom([]float64{0, 1, 1, 2, -1, 0.1, 0.2, 0.3, -2.5, 0.000001, 123456.789, 1e8, -1e8, 0.0000001}).Draw(t, "score"))
}

func drawSortedCall(t *rapid.T) (method string, a adt.Args) {
	names := []string{"add", "add", "increment", "increment", "remove", "score", "rank", "range-by-rank", "range-by-score", "len", "increment-get", "rev-rank", "range-by-rev-rank"}
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

// TestLocksOfSortedSets: what a call needs depends on which members there are.
func TestLocksOfSortedSets(t *testing.T) {
	v := scoredSets.value(t, scoredSets.op("add", 1.0, "x", 2.0, "y"))
	for _, row := range []struct {
		op   msg.Op
		want string
	}{
		{scoredSets.op("add", 1.0, "z"), "add"},
		{scoredSets.op("add", 5.0, "x"), "rescore"},
		{scoredSets.op("add", 1.0, "x"), "score"},
		{scoredSets.op("add", 5.0, "x", 1.0, "z"), "add"},
		{scoredSets.op("increment", "x", 1.0), "shift"},
		{scoredSets.op("increment", "z", 1.0), "increment"},
		{scoredSets.op("increment-get", "x", 1.0), "rescore"},
		{scoredSets.op("increment-get", "z", 1.0), "add"},
		{scoredSets.op("remove", "x", "z"), "remove"},
		{scoredSets.op("remove", "z"), "absent"},
		{scoredSets.op("score", "x"), "score"},
		{scoredSets.op("score", "z"), "absent"},
		{scoredSets.op("rank", "x"), "order"},
		{scoredSets.op("rank", "z"), "absent"},
		{scoredSets.op("rev-rank", "z"), "absent"},
		{scoredSets.op("range-by-rank", 0, 0), "order"},
		{scoredSets.op("len"), "len"},
	} {
		require.Equal(t, row.want, scoredSets.locks(v, row.op), "%v", row.op)
	}
}

func TestLimitsOfSortedSets(t *testing.T) {
	long := strings.Repeat("m", adt.MaxMemberBytes+1)
	for _, op := range []msg.Op{scoredSets.op("add", 1.0, long), scoredSets.op("increment", long, 1.0), scoredSets.op("increment-get", long, 1.0)} {
		requireFailure(t, kv.KindInvalid, "a member has 65537 bytes", failure(entry.Value{}, op))
	}
	for _, op := range []msg.Op{scoredSets.op("add", 0.1234567, "m"), scoredSets.op("increment", "m", 0.1234567), scoredSets.op("increment-get", "m", 0.1234567), scoredSets.op("range-by-score", 0.1234567, 1.0), scoredSets.op("range-by-score", 0.0, 0.1234567)} {
		requireFailure(t, kv.KindInvalid, "0.1234567 has more than 6 decimal places; round it to millionths", failure(entry.Value{}, op))
	}
	requireFailure(t, kv.KindInvalid, "score is not a finite number", failure(entry.Value{}, scoredSets.op("add", math.Inf(1), "m")))
	requireFailure(t, kv.KindInvalid, "is out of range: decimals are between", failure(entry.Value{}, scoredSets.op("add", 1e13, "m")))
	requireFailure(t, kv.KindInvalid, "the limit is 0; the minimum is 1", failure(entry.Value{}, scoredSets.op("range-by-score", 0.0, 1.0, 0)))
	for _, name := range []string{"increment", "increment-get"} {
		requireFailure(t, kv.KindOutOfRange, "would exceed 9.2e12", failure(entry.Value{}, scoredSets.op("add", 9e12, "m"), scoredSets.op(name, "m", 9e12)))
	}
}

// TestLargeScoresStayExact: above 9e9 a double has not all places of a score; the
// set has.
func TestLargeScoresStayExact(t *testing.T) {
	v := scoredSets.value(t, scoredSets.op("add", 9e12, "m"), scoredSets.op("increment", "m", 0.000001), scoredSets.op("increment", "m", -9e12))
	plan, _ := (&adt.Request{Method: scoredSets.method("score"), Args: data("m"), Value: &v}).Plan(nil)
	require.Equal(t, 0.000001, plan.Answer[0].Float)
	v = scoredSets.value(t, scoredSets.op("add", 9e12, "m"), scoredSets.op("add", -9e12, "l"))
	for _, all := range []msg.Op{scoredSets.op("range-by-score", -math.MaxFloat64, math.MaxFloat64), scoredSets.op("range-by-score", -9e12, 9e12)} {
		plan, _ = (&adt.Request{Method: scoredSets.method("range-by-score"), Args: all.Args, Value: &v}).Plan(nil)
		require.Equal(t, show(data("l", -9e12, "m", 9e12)), show(plan.Answer))
	}
}

// TestUndecidedIncrementsOfScores: as of maps.
func TestUndecidedIncrementsOfScores(t *testing.T) {
	v := scoredSets.value(t, scoredSets.op("add", 9e12, "m"))
	lock := func(member string, delta float64, others ...msg.Op) string {
		op := scoredSets.op("increment", member, delta)
		r := adt.Request{Method: scoredSets.method("increment"), Args: op.Args, Value: &v, Others: func(visit func([]msg.Call)) {
			for _, o := range others {
				visit([]msg.Call{{Method: o.Method, Args: o.Args}})
			}
		}}
		_, modes := r.Plan(nil)
		return adt.Lookup(adt.SortedSet).Kinds[modes[0].Kind()-1].Name
	}
	require.Equal(t, "shift", lock("m", 1e11, scoredSets.op("increment", "m", 1e11)))
	require.Equal(t, "rescore", lock("m", 1e11, scoredSets.op("increment", "m", 2e11)))
	require.Equal(t, "rescore", lock("m", 1e12, scoredSets.op("increment", "m", -1e12)))
	require.Equal(t, "shift", lock("m", 1e11, scoredSets.op("increment", "l", 2e11), scoredSets.op("add", 5.0, "l")))
	require.Equal(t, "increment", lock("l", 9e12, scoredSets.op("increment", "l", -9e12)))
	require.Equal(t, "add", lock("l", 9e12, scoredSets.op("increment", "l", 9e12)))
}

// TestScoreIncrementsInARow: one call is made of those that go the same way, if
// its argument can be said.
func TestScoreIncrementsInARow(t *testing.T) {
	merge := func(ops ...msg.Op) (out []float64) {
		var calls []msg.Call
		for _, op := range ops {
			calls = adt.Gather(adt.SortedSet, calls, []msg.Call{{Method: op.Method, Args: op.Args}})
		}
		for _, c := range calls {
			out = append(out, c.Args[1].Float)
		}
		return out
	}
	require.Equal(t, []float64{0.3}, merge(scoredSets.op("increment", "f", 0.1), scoredSets.op("increment", "f", 0.2)), "not 0.30000000000000004")
	require.Equal(t, []float64{0.3, -0.2}, merge(scoredSets.op("increment", "f", 0.1), scoredSets.op("increment", "f", 0.2), scoredSets.op("increment", "f", -0.2)))
	require.Equal(t, []float64{0.1, 0.2}, merge(scoredSets.op("increment", "f", 0.1), scoredSets.op("increment", "g", 0.2)))
	require.Equal(t, []float64{1e12, 0.000001}, merge(scoredSets.op("increment", "f", 1e12), scoredSets.op("increment", "f", 0.000001)))
	require.Equal(t, []float64{9e12, 9e12}, merge(scoredSets.op("increment", "f", 9e12), scoredSets.op("increment", "f", 9e12)))
}

// TestStoredSortedSets: must never change.
func TestStoredSortedSets(t *testing.T) {
	v := scoredSets.value(t, scoredSets.op("add", -0.000001, "b", 0.000064, "a", 9e12, "c"))
	require.Equal(t, "\x01\x03\x01a\x80\x01\x01b\x01\x01c\x80\x80\xa0\xa8\x9c\x94\xb6\xe6\xf9\x01", string(adt.Payload(&v)))
	for _, bad := range []string{"", "\x02\x01\x01a\x00", "\x01\x00", "\x01\x01\x01a", "\x01\x02\x01b\x00\x01a\x00", "\x01\x01\x01a\x00!", "\x01\x01\x01a\x80\x00", "\x01\x01\x01a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"} {
		_, err := adt.Apply(adt.SortedSet, &entry.Value{Type: adt.SortedSet, Version: kv.Version{Write: 1}, Payload: []byte(bad)}, nil)
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err), "%q", bad)
	}
}
