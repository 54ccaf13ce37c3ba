package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// thing is a value of a data type in the model: the dumbest that will do, which
// knows nothing of locks, encodings or what commutes.
type thing interface {
	// call does what a method does, and says what it answers, or how it fails. It
	// panics if it does not know the method.
	call(method string, args []msg.Datum) ([]msg.Datum, kv.Kind)
	clone() thing
	// empty: the key goes away.
	empty() bool
}

// things are the data types that the model knows, and what shows all of a value.
var things = []struct {
	name string
	make func() thing
	show []shows
}{
	{"set", func() thing { return setThing{} }, []shows{{"members", nil}, {"len", nil}}},
	{"map", func() thing { return mapThing{} }, []shows{{"all", nil}, {"len", nil}}},
	{"sorted-set", func() thing { return sortedThing{} }, []shows{{"range-by-rank", numbers(0, -1)}, {"range-by-score", []msg.Datum{adt.Float(-1e12), adt.Float(1e12)}}, {"len", nil}}},
	{"list", func() thing { return &listThing{} }, []shows{{"range", numbers(0, -1)}, {"len", nil}}},
	{"bounded-counter", func() thing { return &boundedThing{} }, []shows{{"get", nil}, {"bounds", nil}}},
	{"summary", func() thing { return &summaryThing{} }, []shows{{"stats", nil}}},
	{"top-k", func() thing { return topThing{} }, []shows{{"top", numbers(99)}, {"max", nil}}},
	{"ids", func() thing { return idsThing{} }, nil},
}

// shows is a call whose answer shows all of a value, or a part of it.
type shows struct {
	method string
	args   []msg.Datum
}

func numbers(ns ...int64) (out []msg.Datum) {
	for _, n := range ns {
		out = append(out, adt.Int(n))
	}
	return out
}

// between picks the elements from position first to last; negative ones count from
// the end.
func between[E any](all []E, first, last int64) (out []E) {
	n := int64(len(all))
	if first < 0 {
		first += n
	}
	if last < 0 {
		last += n
	}
	for i, e := range all {
		if int64(i) >= first && int64(i) <= last {
			out = append(out, e)
		}
	}
	return out
}

// rank is where an element is, or nothing.
func rank(all []string, of string) []msg.Datum {
	if i := slices.Index(all, of); i >= 0 {
		return numbers(int64(i))
	}
	return []msg.Datum{adt.Nil()}
}

func unknownMethod(thing, method string) string {
	return "the model's " + thing + " has no method " + method
}

func text(d msg.Datum) string  { return string(d.Bytes) }
func datum(s string) msg.Datum { return adt.Bytes([]byte(s)) }

type setThing map[string]bool

func (s setThing) clone() thing { return maps.Clone(s) }
func (s setThing) empty() bool  { return len(s) == 0 }

func (s setThing) call(method string, args []msg.Datum) (out []msg.Datum, _ kv.Kind) {
	before := len(s)
	switch method {
	case "add", "add-count":
		for _, a := range args {
			s[text(a)] = true
		}
	case "remove", "remove-count":
		for _, a := range args {
			delete(s, text(a))
		}
	case "contains":
		return []msg.Datum{adt.Bool(s[text(args[0])])}, kv.KindOK
	case "len":
		return []msg.Datum{adt.Int(int64(len(s)))}, kv.KindOK
	case "members":
		for _, m := range slices.Sorted(maps.Keys(s)) {
			out = append(out, datum(m))
		}
	default:
		panic(unknownMethod("set", method))
	}
	switch method {
	case "add-count":
		return []msg.Datum{adt.Int(int64(len(s) - before))}, kv.KindOK
	case "remove-count":
		return []msg.Datum{adt.Int(int64(before - len(s)))}, kv.KindOK
	}
	return out, kv.KindOK
}

type mapThing map[string]string

func (d mapThing) clone() thing { return maps.Clone(d) }
func (d mapThing) empty() bool  { return len(d) == 0 }

func (d mapThing) get(f msg.Datum) msg.Datum {
	if v, ok := d[text(f)]; ok {
		return datum(v)
	}
	return adt.Nil()
}

func (d mapThing) call(method string, args []msg.Datum) (out []msg.Datum, _ kv.Kind) {
	switch method {
	case "set":
		for i := 0; i < len(args); i += 2 {
			d[text(args[i])] = text(args[i+1])
		}
	case "set-if-absent":
		if _, ok := d[text(args[0])]; ok {
			return []msg.Datum{adt.Bool(false)}, kv.KindOK
		}
		d[text(args[0])] = text(args[1])
		return []msg.Datum{adt.Bool(true)}, kv.KindOK
	case "delete":
		for _, a := range args {
			delete(d, text(a))
		}
	case "get", "get-many":
		for _, a := range args {
			out = append(out, d.get(a))
		}
	case "has":
		_, ok := d[text(args[0])]
		return []msg.Datum{adt.Bool(ok)}, kv.KindOK
	case "increment", "increment-get":
		n, err := strconv.ParseInt(d[text(args[0])], 10, 64)
		if _, ok := d[text(args[0])]; ok && err != nil {
			return nil, kv.KindConditionFailed
		}
		d[text(args[0])] = strconv.FormatInt(n+args[1].Int, 10)
		if method == "increment-get" {
			out = append(out, adt.Int(n+args[1].Int))
		}
	case "len":
		return []msg.Datum{adt.Int(int64(len(d)))}, kv.KindOK
	case "all":
		return d.from("", len(d)), kv.KindOK
	case "range":
		return d.from(text(args[0]), int(args[1].Int)), kv.KindOK
	default:
		panic(unknownMethod("map", method))
	}
	return out, kv.KindOK
}

// from lists up to so many fields from one on, each with its value.
func (d mapThing) from(first string, most int) (out []msg.Datum) {
	for _, f := range slices.Sorted(maps.Keys(d)) {
		if f >= first && len(out) < 2*most {
			out = append(out, datum(f), datum(d[f]))
		}
	}
	return out
}

// sortedThing has whole scores only: sums of floats are exact then.
type sortedThing map[string]float64

func (s sortedThing) clone() thing { return maps.Clone(s) }
func (s sortedThing) empty() bool  { return len(s) == 0 }

// order is from the lowest score to the highest, by name where they are equal.
func (s sortedThing) order() []string {
	return slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		switch {
		case s[a] < s[b], s[a] == s[b] && a < b:
			return -1
		}
		return 1
	})
}

func (s sortedThing) call(method string, args []msg.Datum) (out []msg.Datum, _ kv.Kind) {
	switch method {
	case "add":
		for i := 0; i < len(args); i += 2 {
			s[text(args[i+1])] = args[i].Float
		}
	case "increment", "increment-get":
		s[text(args[0])] += args[1].Float
		if method == "increment-get" {
			out = append(out, adt.Float(s[text(args[0])]))
		}
	case "remove":
		for _, a := range args {
			delete(s, text(a))
		}
	case "score":
		if score, ok := s[text(args[0])]; ok {
			return []msg.Datum{adt.Float(score)}, kv.KindOK
		}
		return []msg.Datum{adt.Nil()}, kv.KindOK
	case "rank":
		return rank(s.order(), text(args[0])), kv.KindOK
	case "rev-rank":
		return rank(s.down(), text(args[0])), kv.KindOK
	case "len":
		return []msg.Datum{adt.Int(int64(len(s)))}, kv.KindOK
	case "range-by-rank":
		return s.withScores(between(s.order(), args[0].Int, args[1].Int)), kv.KindOK
	case "range-by-rev-rank":
		return s.withScores(between(s.down(), args[0].Int, args[1].Int)), kv.KindOK
	case "range-by-score":
		some := slices.DeleteFunc(s.order(), func(m string) bool { return s[m] < args[0].Float || s[m] > args[1].Float })
		if len(args) > 2 {
			some = some[:min(int64(len(some)), args[2].Int)]
		}
		return s.withScores(some), kv.KindOK
	default:
		panic(unknownMethod("sorted set", method))
	}
	return out, kv.KindOK
}

func (s sortedThing) down() []string {
	out := s.order()
	slices.Reverse(out)
	return out
}

func (s sortedThing) withScores(members []string) (out []msg.Datum) {
	for _, m := range members {
		out = append(out, datum(m), adt.Float(s[m]))
	}
	return out
}

type listThing struct{ values []string }

func (l *listThing) String() string { return fmt.Sprint(l.values) }
func (l *listThing) clone() thing   { return &listThing{slices.Clone(l.values)} }
func (l *listThing) empty() bool    { return len(l.values) == 0 }

func (l *listThing) call(method string, args []msg.Datum) (out []msg.Datum, _ kv.Kind) {
	switch method {
	case "append", "append-len":
		for _, a := range args {
			l.values = append(l.values, text(a))
		}
		if method == "append-len" {
			out = append(out, adt.Int(int64(len(l.values))))
		}
	case "range":
		for _, v := range between(l.values, args[0].Int, args[1].Int) {
			out = append(out, datum(v))
		}
	case "get":
		if one := between(l.values, args[0].Int, args[0].Int); len(one) > 0 {
			return []msg.Datum{datum(one[0])}, kv.KindOK
		}
		return []msg.Datum{adt.Nil()}, kv.KindOK
	case "len":
		return []msg.Datum{adt.Int(int64(len(l.values)))}, kv.KindOK
	case "trim":
		l.values = between(l.values, args[0].Int, args[1].Int)
	default:
		panic(unknownMethod("list", method))
	}
	return out, kv.KindOK
}
