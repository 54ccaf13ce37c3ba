package check

import (
	"math"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// random is a generator of numbers that repeat with the seed (SplitMix64: Steele, Lea and Flood
// 2014). The global source of math/rand is not deterministic, so a pure package cannot use it.
type random uint64

// n returns a number from 0 up to m, exclusive.
func (l *random) n(m int) int {
	*l += 0x9e3779b97f4a7c15
	z := uint64(*l)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) >> 1 % uint64(max(m, 1)))
}

// oneIn returns true about every m-th time.
func (l *random) oneIn(m int) bool { return l.n(m) == 0 }

// draw returns a random trial: a value, and up to three transactions.
//
// The sizes follow from what errors need: most appear on a value made by a few calls, some only on a large one (pages
// of a collection, the 100 of a top-k), and pairs of methods matter more than triples.
func (c *checker) draw() *trial {
	l := &c.random
	tr := &trial{}
	c.drawnBytes = c.drawnBytes[:0]
	steps := l.n(9)
	switch {
	case l.oneIn(8):
		steps = l.n(30)
	case l.oneIn(100):
		steps = 150
	}
	for range steps {
		if s := c.drawStep(); s.method.Changes {
			tr.setup = append(tr.setup, s)
		}
	}
	// Most calls are of two methods, so that each pair of methods occurs often.
	some := []*adt.TypeMethod{c.t.Methods[l.n(len(c.t.Methods))], c.t.Methods[l.n(len(c.t.Methods))]}
	txns := 2
	if l.oneIn(3) {
		txns = 3
	}
	for i := range txns {
		a := txn{ahead: l.oneIn(4), fates: make([]fate, i), fateWhenBlocking: fate(l.n(3))}
		for j := range a.fates {
			if l.oneIn(5) {
				a.fates[j] = fate(1 + l.n(2))
			}
		}
		calls := 1
		if l.oneIn(3) {
			calls += 1 + l.n(2)
		}
		for k := range calls {
			s := c.drawCall(some[(i+k)%2])
			if l.oneIn(4) {
				s = c.drawStep()
			}
			if k > 0 && l.oneIn(2) { // for Combine
				s = c.drawCall(a.calls[k-1].method)
			}
			a.calls = append(a.calls, s)
		}
		tr.txns = append(tr.txns, a)
	}
	for range 4 {
		if s := c.drawStep(); !s.method.Changes {
			tr.reader = &s
			break
		}
	}
	return tr
}

func (c *checker) drawStep() step { return c.drawCall(c.t.Methods[c.random.n(len(c.t.Methods))]) }

func (c *checker) drawCall(m *adt.TypeMethod) step {
	if a, ok := c.t.Draw(m, c.random.n); ok {
		s := step{m, a}
		if err := m.CheckArgs(s.args); err != nil {
			c.report("Draw makes up arguments for %s that it cannot have: %v.", s, err)
		}
		return s
	}
	return step{m, c.drawArgs(m)}
}

// One more group than MaxLockedParts is drawn at times: such a call locks the whole value, and must conflict with calls
// on each member.
func (c *checker) drawArgs(m *adt.TypeMethod) (out adt.Args) {
	l := &c.random
	for i := range m.Params {
		p := &m.Params[i]
		if p.Many {
			groups := max(1, l.n(4))
			switch {
			case l.oneIn(40):
				groups = adt.MaxLockedParts + 1
			case p.Optional && l.oneIn(3):
				groups = 0
			}
			for range groups {
				for j := range m.Params[i:] {
					out = append(out, c.datum(m.Params[i+j].Kind))
				}
			}
			return out
		}
		if p.Optional && l.oneIn(2) {
			return out
		}
		out = append(out, c.datum(p.Kind))
	}
	return out
}

// Small values are drawn most often, so that calls concern the same parts; limits are drawn
// occasionally.
var (
	smallFloats = []float64{0, 1, 2, 3, -1, 0.5, 1.25, 10}
	edgeFloats  = []float64{-2.5, 0.1, 0.000001, 1e6, -1e9, 1e12, -1e12, 9e12, 1e300, -1e-300, math.MaxFloat64, 0.1234567}
	edgeInts    = []int64{math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1, 1 << 40, -1 << 40, 100}
)

// Half of the bytes repeat one of this trial: two calls on different members commute in most types, so errors show on
// equal ones.
func (c *checker) datum(k msg.DatumKind) msg.Datum {
	l := &c.random
	switch k {
	case msg.DatumBytes:
		if len(c.drawnBytes) > 0 && l.oneIn(2) {
			return adt.Bytes(slices.Clone(c.drawnBytes[l.n(len(c.drawnBytes))]))
		}
		d := l.bytes()
		c.drawnBytes = append(c.drawnBytes, d)
		return adt.Bytes(slices.Clone(d))
	case msg.DatumInt:
		if l.oneIn(10) {
			return adt.Int(edgeInts[l.n(len(edgeInts))])
		}
		return adt.Int(int64(l.n(12) - 3))
	case msg.DatumFloat:
		if l.oneIn(8) {
			return adt.Float(edgeFloats[l.n(len(edgeFloats))])
		}
		return adt.Float(smallFloats[l.n(len(smallFloats))])
	case msg.DatumBool:
		return adt.Bool(l.oneIn(2))
	}
	return adt.Nil()
}

// bytes returns one letter in most cases.
func (l *random) bytes() []byte {
	switch {
	case l.oneIn(16):
		return []byte{}
	case l.oneIn(8): // a digit, for types with numbers in text
		return []byte{byte('0' + l.n(10))}
	case l.oneIn(8):
		return []byte{'a' + byte(l.n(26)), 'a' + byte(l.n(26))}
	}
	return []byte{'a' + byte(l.n(4))}
}
