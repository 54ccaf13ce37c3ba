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
	show []string
}{
	{"set", func() thing { return setThing{} }, []string{"members", "size"}},
	{"dict", func() thing { return dictThing{} }, []string{"all", "size"}},
	{"scored-set", func() thing { return scoredThing{} }, []string{"size"}},
	{"list", func() thing { return &listThing{} }, []string{"length"}},
	{"bounded-counter", func() thing { return &boundedThing{} }, []string{"get"}},
	{"bag", func() thing { return &bagThing{} }, []string{"count", "sum", "min", "max"}},
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

type boundedThing struct {
	made              bool
	n, floor, ceiling int64
}

func (b *boundedThing) String() string { return fmt.Sprintf("%+v", *b) }
func (b *boundedThing) clone() thing   { c := *b; return &c }
func (b *boundedThing) empty() bool    { return !b.made }

func (b *boundedThing) call(method string, args []msg.Datum) ([]msg.Datum, kv.Kind) {
	switch {
	case method == "get" && !b.made:
		return []msg.Datum{adt.Nil()}, kv.KindOK
	case method == "get":
		return []msg.Datum{adt.Int(b.n)}, kv.KindOK
	case method == "create" && b.made:
		if b.floor != args[0].Int || b.ceiling != args[1].Int {
			return nil, kv.KindCondition
		}
		return nil, kv.KindOK
	case method == "create":
		*b = boundedThing{made: true, floor: args[0].Int, ceiling: args[1].Int, n: args[2].Int}
		return nil, kv.KindOK
	case !b.made:
		return nil, kv.KindCondition
	}
	n := args[0].Int
	if method == "subtract" || method == "try-subtract" {
		n = -n
	}
	fits := b.n+n >= b.floor && b.n+n <= b.ceiling
	if fits {
		b.n += n
	}
	switch {
	case method == "try-add" || method == "try-subtract":
		return []msg.Datum{adt.Bool(fits)}, kv.KindOK
	case !fits:
		return nil, kv.KindCondition
	}
	return nil, kv.KindOK
}

type bagThing struct{ numbers []float64 }

func (b *bagThing) String() string { return fmt.Sprint(b.numbers) }
func (b *bagThing) clone() thing   { return &bagThing{slices.Clone(b.numbers)} }
func (b *bagThing) empty() bool    { return len(b.numbers) == 0 }

func (b *bagThing) call(method string, args []msg.Datum) ([]msg.Datum, kv.Kind) {
	sum := 0.0
	for _, x := range b.numbers {
		sum += x
	}
	switch {
	case method == "add":
		for _, a := range args {
			b.numbers = append(b.numbers, a.Float)
		}
		return nil, kv.KindOK
	case method == "count":
		return []msg.Datum{adt.Int(int64(len(b.numbers)))}, kv.KindOK
	case method == "sum":
		return []msg.Datum{adt.Float(sum)}, kv.KindOK
	case len(b.numbers) == 0:
		return []msg.Datum{adt.Nil()}, kv.KindOK
	case method == "min":
		return []msg.Datum{adt.Float(slices.Min(b.numbers))}, kv.KindOK
	}
	return []msg.Datum{adt.Float(slices.Max(b.numbers))}, kv.KindOK
}
