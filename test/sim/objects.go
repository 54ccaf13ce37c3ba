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

// object is a value of a data type in the model: the simplest implementation, without locks, encodings or commuting
// calls.
type object interface {
	// call executes a method and returns its result or its failure. It panics if it does not know the method.
	call(method string, args []msg.Datum) ([]msg.Datum, kv.Kind)
	clone() object
	// empty reports whether the key becomes absent.
	empty() bool
}

// objectTypes are the data types of the model, with calls that return the whole state of a value.
var objectTypes = []struct {
	name string
	make func() object
	show []dumpCall
}{
	{"set", func() object { return setObject{} }, []dumpCall{{"members", nil}, {"len", nil}}},
	{"map", func() object { return mapObject{} }, []dumpCall{{"all", nil}, {"len", nil}}},
	{"sorted-set", func() object { return sortedObject{} }, []dumpCall{{"range-by-rank", numbers(0, -1)},
		{"range-by-score", []msg.Datum{adt.Float(-1e12), adt.Float(1e12)}}, {"len", nil}}},
	{"list", func() object { return &listObject{} }, []dumpCall{{"range", numbers(0, -1)}, {"len", nil}}},
	{"bounded-counter", func() object { return &boundedObject{} }, []dumpCall{{"get", nil}, {"bounds", nil}}},
	{"summary", func() object { return &summaryObject{} }, []dumpCall{{"stats", nil}}},
	{"top-k", func() object { return topObject{} }, []dumpCall{{"top", numbers(99)}, {"max", nil}}},
	{"ids", func() object { return idsObject{} }, nil},
}

// dumpCall is a call that returns all of a value, or a part of it.
type dumpCall struct {
	method string
	args   []msg.Datum
}

func numbers(ns ...int64) (out []msg.Datum) {
	for _, n := range ns {
		out = append(out, adt.Int(n))
	}
	return out
}

// between returns the elements from position first to last; negative positions count from the end.
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

// rank returns the position of an element, or nothing.
func rank(all []string, of string) []msg.Datum {
	if i := slices.Index(all, of); i >= 0 {
		return numbers(int64(i))
	}
	return []msg.Datum{adt.Nil()}
}

func unknownMethod(typ, method string) string {
	return "the model's " + typ + " has no method " + method
}

func text(d msg.Datum) string  { return string(d.Bytes) }
func datum(s string) msg.Datum { return adt.Bytes([]byte(s)) }

type setObject map[string]bool

func (s setObject) clone() object { return maps.Clone(s) }
func (s setObject) empty() bool   { return len(s) == 0 }

func (s setObject) call(method string, args []msg.Datum) (out []msg.Datum, _ kv.Kind) {
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

type mapObject map[string]string

func (d mapObject) clone() object { return maps.Clone(d) }
func (d mapObject) empty() bool   { return len(d) == 0 }

func (d mapObject) get(f msg.Datum) msg.Datum {
	if v, ok := d[text(f)]; ok {
		return datum(v)
	}
	return adt.Nil()
}

func (d mapObject) call(method string, args []msg.Datum) (out []msg.Datum, _ kv.Kind) {
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

// from lists up to most fields from first on, each with its value.
func (d mapObject) from(first string, most int) (out []msg.Datum) {
	for _, f := range slices.Sorted(maps.Keys(d)) {
		if f >= first && len(out) < 2*most {
			out = append(out, datum(f), datum(d[f]))
		}
	}
	return out
}

// sortedObject has only whole scores, so that sums of floats are exact.
type sortedObject map[string]float64

func (s sortedObject) clone() object { return maps.Clone(s) }
func (s sortedObject) empty() bool   { return len(s) == 0 }

// order sorts by score, and by name where scores are equal.
func (s sortedObject) order() []string {
	return slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		switch {
		case s[a] < s[b], s[a] == s[b] && a < b:
			return -1
		}
		return 1
	})
}

func (s sortedObject) call(method string, args []msg.Datum) (out []msg.Datum, _ kv.Kind) {
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

func (s sortedObject) down() []string {
	out := s.order()
	slices.Reverse(out)
	return out
}

func (s sortedObject) withScores(members []string) (out []msg.Datum) {
	for _, m := range members {
		out = append(out, datum(m), adt.Float(s[m]))
	}
	return out
}

type listObject struct{ values []string }

func (l *listObject) String() string { return fmt.Sprint(l.values) }
func (l *listObject) clone() object  { return &listObject{slices.Clone(l.values)} }
func (l *listObject) empty() bool    { return len(l.values) == 0 }

func (l *listObject) call(method string, args []msg.Datum) (out []msg.Datum, _ kv.Kind) {
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
