package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// drawer draws arguments. There are few different ones of each kind, so that calls conflict.
type drawer struct {
	*rand.Rand
	names   int
	padding string
}

// drawing draws the arguments of one method.
type drawing = func(*drawer) []msg.Datum

// drawings hold a drawing for each method, by the method's full name. TestAllMethodsAreDrawn compares them with the
// existing types: a method without a drawing would never be called.
var drawings = map[string]drawing{
	"set.add": someNames, "set.remove": someNames, "set.add-count": someNames, "set.remove-count": someNames,
	"set.contains": oneName,
	"set.len":      noArgs, "set.members": noArgs,

	"map.set": drawFields, "map.set-if-absent": oneField, "map.increment": fieldNumber, "map.increment-get": fieldNumber,
	"map.delete": someNames,
	"map.get":    oneName, "map.get-many": someNames, "map.has": oneName, "map.len": noArgs, "map.all": noArgs,
	"map.range": func(d *drawer) []msg.Datum { return append(oneName(d), adt.Int(1+int64(d.IntN(3)))) },

	"sorted-set.add":       drawMembers,
	"sorted-set.increment": nameScore, "sorted-set.increment-get": nameScore, "sorted-set.remove": someNames,
	"sorted-set.score": oneName, "sorted-set.rank": oneName, "sorted-set.rev-rank": oneName, "sorted-set.len": noArgs,
	"sorted-set.range-by-rank": span, "sorted-set.range-by-rev-rank": span, "sorted-set.range-by-score": scoreSpan,

	"list.append": someNames, "list.append-len": someNames, "list.range": span, "list.trim": span, "list.len": noArgs,
	"list.get": func(d *drawer) []msg.Datum { return []msg.Datum{d.position(4)} },

	"bounded-counter.create": drawBounds, "bounded-counter.get": noArgs, "bounded-counter.bounds": noArgs,
	"bounded-counter.add": move, "bounded-counter.subtract": move, "bounded-counter.try-add": move,
	"bounded-counter.try-subtract": move,

	"summary.add": scores, "summary.count": noArgs, "summary.sum": noArgs, "summary.mean": noArgs, "summary.min": noArgs,
	"summary.max":      noArgs,
	"summary.variance": noArgs, "summary.stats": noArgs,

	"top-k.add": func(d *drawer) []msg.Datum { return []msg.Datum{d.score(), d.name()} },
	"top-k.top": move, "top-k.max": noArgs,

	"ids.next": func(d *drawer) []msg.Datum {
		if d.IntN(2) == 0 {
			return nil
		}
		return []msg.Datum{adt.Int(1 + int64(d.IntN(3)))}
	},
}

// drawCall draws a call of a method; ok is false if the method has no drawing.
func (d *drawer) drawCall(m *adt.TypeMethod, key []byte) (op msg.Op, ok bool) {
	draw := drawings[m.FullName()]
	if draw == nil {
		return op, false
	}
	return m.Op(key, draw(d)...), true
}

func (d *drawer) name() msg.Datum  { return datum(string(rune('a'+d.IntN(d.names))) + d.padding) }
func (d *drawer) score() msg.Datum { return adt.Float(float64(d.IntN(9) - 3)) }

// count draws the number of names of one call: one or two if there are few names, otherwise more.
func (d *drawer) count() int { return 1 + d.IntN(max(2, d.names/6)) }

// position draws a position, mostly from the beginning; a negative one counts from the end.
func (d *drawer) position(n int) msg.Datum {
	if d.IntN(4) == 0 {
		return adt.Int(-1 - int64(d.IntN(n)))
	}
	return adt.Int(int64(d.IntN(n)))
}

func noArgs(*drawer) []msg.Datum    { return nil }
func oneName(d *drawer) []msg.Datum { return []msg.Datum{d.name()} }

func someNames(d *drawer) (out []msg.Datum) {
	for range d.count() {
		out = append(out, d.name())
	}
	return out
}

func oneField(d *drawer) []msg.Datum {
	return []msg.Datum{d.name(), datum(fmt.Sprint(d.IntN(5)))}
}

func drawFields(d *drawer) (out []msg.Datum) {
	for range d.count() {
		out = append(out, oneField(d)...)
	}
	if d.IntN(20) == 0 {
		out[1] = datum("no number")
	}
	return out
}

func drawMembers(d *drawer) (out []msg.Datum) {
	n := 1
	if d.names > fewNames {
		n = d.count()
	}
	for range n {
		out = append(out, d.score(), d.name())
	}
	return out
}

func fieldNumber(d *drawer) []msg.Datum { return []msg.Datum{d.name(), adt.Int(int64(d.IntN(9)))} }
func nameScore(d *drawer) []msg.Datum   { return []msg.Datum{d.name(), d.score()} }
func move(d *drawer) []msg.Datum        { return []msg.Datum{adt.Int(1 + int64(d.IntN(4)))} }

func scores(d *drawer) (out []msg.Datum) {
	for range 1 + d.IntN(2) {
		out = append(out, d.score())
	}
	return out
}

// span draws a first and a last position; if there are many names, often close to each other.
func span(d *drawer) []msg.Datum {
	first := d.position(d.names - 1)
	if d.names > fewNames && d.IntN(2) == 0 {
		return []msg.Datum{first, adt.Int(first.Int + int64(d.IntN(4)))}
	}
	return []msg.Datum{first, d.position(d.names + 2)}
}

// scoreSpan draws a range of scores, with a limit in one case of three. It may be empty.
func scoreSpan(d *drawer) []msg.Datum {
	out := []msg.Datum{d.score(), adt.Float(float64(d.IntN(9)))}
	if d.IntN(3) == 0 {
		out = append(out, adt.Int(1+int64(d.IntN(2))))
	}
	return out
}

// drawBounds mostly draws 0 and 8, so that counters are often created again with the same bounds.
func drawBounds(d *drawer) []msg.Datum {
	floor, ceiling := int64(0), int64(8)
	if d.IntN(4) == 0 {
		floor, ceiling = int64(d.IntN(4)-3), int64(5+d.IntN(4))
	}
	out := []msg.Datum{adt.Int(floor), adt.Int(ceiling)}
	if d.IntN(4) > 0 {
		out = append(out, adt.Int(floor+int64(d.IntN(int(ceiling-floor)+1))))
	}
	return out
}

// fewNames is the default of Options.Names.
const fewNames = 4

func (o *Options) names() int { return cmp.Or(o.Names, fewNames) }

// drawer returns a drawer for the client's calls.
func (c *client) drawer() *drawer {
	return &drawer{c.w.Rng, c.w.opt.names(), strings.Repeat(".", c.w.opt.Padding)}
}

// someCall draws a call of a method, mostly of the key's own type.
func (c *client) someCall(readOnly bool) msg.Op {
	r := c.w.Rng
	n := r.IntN(len(objectTypes))
	for !c.w.opt.callsType(objectTypes[n].name) {
		n = r.IntN(len(objectTypes))
	}
	key := objectKey(n, r.IntN(c.w.opt.Objects))
	if r.IntN(30) == 0 {
		key = c.anyKey()
	}
	t, d := adt.ByName(objectTypes[n].name), c.drawer()
	for {
		m := t.Methods[r.IntN(len(t.Methods))]
		if ms := c.w.opt.Methods; len(ms) > 0 {
			m = t.MethodByName(pick(r, ms...))
		}
		if m.Name == "create" && c.w.opt.Stock > 0 {
			if !readOnly {
				return m.Op(key, numbers(0, c.w.opt.Stock, c.w.opt.Stock)...)
			}
			continue
		}
		if op, ok := d.drawCall(m, key); ok && (!readOnly || !m.Changes) {
			return op
		}
	}
}

// callsType reports whether methods of a data type are called.
func (o *Options) callsType(name string) bool {
	return adt.ByName(name) != nil && (len(o.Types) == 0 || slices.Contains(o.Types, name))
}
