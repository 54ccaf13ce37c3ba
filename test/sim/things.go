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
	// call does what a method does, and says what it answers, or how it fails.
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
	{"set", func() thing { return setThing{} }, []shows{{"members", nil}, {"size", nil}}},
	{"dict", func() thing { return dictThing{} }, []shows{{"all", nil}, {"size", nil}}},
	{"scored-set", func() thing { return scoredThing{} }, []shows{{"by-rank", numbers(0, 99)}, {"size", nil}}},
	{"list", func() thing { return &listThing{} }, []shows{{"range", numbers(0, 99)}, {"length", nil}}},
	{"bounded-counter", func() thing { return &boundedThing{} }, []shows{{"get", nil}}},
	{"bag", func() thing { return &bagThing{} }, []shows{{"count", nil}, {"sum", nil}, {"min", nil}, {"max", nil}}},
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
	case "size":
		return []msg.Datum{adt.Int(int64(len(s)))}, kv.KindOK
	case "members":
		for _, m := range slices.Sorted(maps.Keys(s)) {
			out = append(out, datum(m))
		}
	}
	switch method {
	case "add-count":
		return []msg.Datum{adt.Int(int64(len(s) - before))}, kv.KindOK
	case "remove-count":
		return []msg.Datum{adt.Int(int64(before - len(s)))}, kv.KindOK
	}
	return out, kv.KindOK
}

type dictThing map[string]string

func (d dictThing) clone() thing { return maps.Clone(d) }
func (d dictThing) empty() bool  { return len(d) == 0 }

func (d dictThing) get(f msg.Datum) msg.Datum {
	if v, ok := d[text(f)]; ok {
		return datum(v)
	}
	return adt.Nil()
}

func (d dictThing) call(method string, args []msg.Datum) (out []msg.Datum, _ kv.Kind) {
	switch method {
	case "set":
		for i := 0; i < len(args); i += 2 {
			d[text(args[i])] = text(args[i+1])
		}
	case "set-new":
		if _, ok := d[text(args[0])]; ok {
			return []msg.Datum{adt.Bool(false)}, kv.KindOK
		}
		d[text(args[0])] = text(args[1])
		return []msg.Datum{adt.Bool(true)}, kv.KindOK
	case "delete":
		for _, a := range args {
			delete(d, text(a))
		}
	case "get":
		return []msg.Datum{d.get(args[0])}, kv.KindOK
	case "has":
		_, ok := d[text(args[0])]
		return []msg.Datum{adt.Bool(ok)}, kv.KindOK
	case "increment", "increment-get":
		n, err := strconv.ParseInt(d[text(args[0])], 10, 64)
		if _, ok := d[text(args[0])]; ok && err != nil {
			return nil, kv.KindCondition
		}
		d[text(args[0])] = strconv.FormatInt(n+args[1].Int, 10)
		if method == "increment-get" {
			out = append(out, adt.Int(n+args[1].Int))
		}
	case "size":
		return []msg.Datum{adt.Int(int64(len(d)))}, kv.KindOK
	case "all":
		for _, f := range slices.Sorted(maps.Keys(d)) {
			out = append(out, datum(f), datum(d[f]))
		}
	}
	return out, kv.KindOK
}

// scoredThing has whole scores only: sums of floats are exact then.
type scoredThing map[string]float64

func (s scoredThing) clone() thing { return maps.Clone(s) }
func (s scoredThing) empty() bool  { return len(s) == 0 }

// order is from the lowest score to the highest, by name where they are equal.
func (s scoredThing) order() []string {
	return slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		switch {
		case s[a] < s[b], s[a] == s[b] && a < b:
			return -1
		}
		return 1
	})
}

func (s scoredThing) call(method string, args []msg.Datum) (out []msg.Datum, _ kv.Kind) {
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
		if i := slices.Index(s.order(), text(args[0])); i >= 0 {
			return []msg.Datum{adt.Int(int64(i))}, kv.KindOK
		}
		return []msg.Datum{adt.Nil()}, kv.KindOK
	case "size":
		return []msg.Datum{adt.Int(int64(len(s)))}, kv.KindOK
	case "by-rank":
		for i, m := range s.order() {
			if int64(i) >= args[0].Int && int64(i) <= args[1].Int {
				out = append(out, datum(m), adt.Float(s[m]))
			}
		}
	}
	return out, kv.KindOK
}

type listThing struct{ values []string }

func (l *listThing) String() string { return fmt.Sprint(l.values) }
func (l *listThing) clone() thing   { return &listThing{slices.Clone(l.values)} }
func (l *listThing) empty() bool    { return len(l.values) == 0 }

func (l *listThing) call(method string, args []msg.Datum) (out []msg.Datum, _ kv.Kind) {
	switch method {
	case "append", "append-length":
		for _, a := range args {
			l.values = append(l.values, text(a))
		}
		if method == "append-length" {
			out = append(out, adt.Int(int64(len(l.values))))
		}
	case "range":
		for i, v := range l.values {
			if int64(i) >= args[0].Int && int64(i) <= args[1].Int {
				out = append(out, datum(v))
			}
		}
	case "index":
		if i := args[0].Int; i < int64(len(l.values)) {
			return []msg.Datum{datum(l.values[i])}, kv.KindOK
		}
		return []msg.Datum{adt.Nil()}, kv.KindOK
	case "length":
		return []msg.Datum{adt.Int(int64(len(l.values)))}, kv.KindOK
	case "trim":
		kept := []string(nil)
		for i, v := range l.values {
			if int64(i) >= args[0].Int && int64(i) <= args[1].Int {
				kept = append(kept, v)
			}
		}
		l.values = kept
	}
	return out, kv.KindOK
}
