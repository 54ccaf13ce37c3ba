package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

type boundedObject struct {
	made              bool
	n, floor, ceiling int64
}

func (b *boundedObject) String() string { return fmt.Sprintf("%+v", *b) }
func (b *boundedObject) clone() object  { c := *b; return &c }
func (b *boundedObject) empty() bool    { return !b.made }

func (b *boundedObject) call(method string, args []msg.Datum) ([]msg.Datum, kv.Kind) {
	switch method {
	case "get", "bounds":
		return b.query(method), kv.KindOK
	case "create":
		return nil, b.create(args)
	}
	if !b.made {
		return nil, kv.KindNotFound
	}
	n := args[0].Int
	switch method {
	case "add", "try-add":
	case "subtract", "try-subtract":
		n = -n
	default:
		panic(unknownMethod("bounded counter", method))
	}
	fits := b.n+n >= b.floor && b.n+n <= b.ceiling
	if fits {
		b.n += n
	}
	switch {
	case method == "try-add" || method == "try-subtract":
		return []msg.Datum{adt.Bool(fits)}, kv.KindOK
	case !fits:
		return nil, kv.KindOutOfRange
	}
	return nil, kv.KindOK
}

func (b *boundedObject) query(method string) []msg.Datum {
	switch {
	case method == "get" && b.made:
		return numbers(b.n)
	case method == "get":
		return []msg.Datum{adt.Nil()}
	case b.made:
		return numbers(b.floor, b.ceiling)
	}
	return []msg.Datum{adt.Nil(), adt.Nil()}
}

func (b *boundedObject) create(args []msg.Datum) kv.Kind {
	if b.made && (b.floor != args[0].Int || b.ceiling != args[1].Int) {
		return kv.KindConditionFailed
	}
	if !b.made {
		*b = boundedObject{made: true, floor: args[0].Int, ceiling: args[1].Int, n: args[0].Int}
		if len(args) > 2 {
			b.n = args[2].Int
		}
	}
	return kv.KindOK
}

type summaryObject struct{ numbers []float64 }

func (b *summaryObject) String() string { return fmt.Sprint(b.numbers) }
func (b *summaryObject) clone() object  { return &summaryObject{slices.Clone(b.numbers)} }
func (b *summaryObject) empty() bool    { return len(b.numbers) == 0 }

func (b *summaryObject) call(method string, args []msg.Datum) ([]msg.Datum, kv.Kind) {
	if method == "add" {
		for _, a := range args {
			b.numbers = append(b.numbers, a.Float)
		}
		return nil, kv.KindOK
	}
	all := b.summary()
	if method == "stats" {
		return all, kv.KindOK
	}
	i := slices.Index([]string{"count", "sum", "mean", "min", "max", "variance"}, method)
	if i < 0 {
		panic(unknownMethod("summary", method))
	}
	return all[i : i+1], kv.KindOK
}

// summary is exact: the numbers are whole and few.
func (b *summaryObject) summary() []msg.Datum {
	n, sum, squares := float64(len(b.numbers)), 0.0, 0.0
	for _, x := range b.numbers {
		sum, squares = sum+x, squares+x*x
	}
	out := []msg.Datum{adt.Int(int64(n)), adt.Float(sum), adt.Nil(), adt.Nil(), adt.Nil(), adt.Nil()}
	if n > 0 {
		out[2], out[3], out[4] = adt.Float(sum/n), adt.Float(slices.Min(b.numbers)), adt.Float(slices.Max(b.numbers))
		out[5] = adt.Float((n*squares - sum*sum) / (n * n))
	}
	return out
}

// topObject has each member's greatest score. It never has so many members that some are dropped.
type topObject map[string]float64

func (t topObject) clone() object { return maps.Clone(t) }
func (t topObject) empty() bool   { return len(t) == 0 }

func (t topObject) call(method string, args []msg.Datum) (out []msg.Datum, _ kv.Kind) {
	most := 1
	switch method {
	case "add":
		if old, ok := t[text(args[1])]; !ok || args[0].Float > old {
			t[text(args[1])] = args[0].Float
		}
		return nil, kv.KindOK
	case "top":
		most = int(args[0].Int)
	case "max":
	default:
		panic(unknownMethod("top-k", method))
	}
	order := slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		if t[a] > t[b] || t[a] == t[b] && a < b {
			return -1
		}
		return 1
	})
	for _, m := range order[:min(most, len(order))] {
		out = append(out, datum(m), adt.Float(t[m]))
	}
	return out, kv.KindOK
}

// idsObject has no state.
type idsObject struct{}

func (idsObject) clone() object { return idsObject{} }
func (idsObject) empty() bool   { return true }

func (idsObject) call(string, []msg.Datum) ([]msg.Datum, kv.Kind) { return nil, kv.KindOK }
