package hotshard

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// PairOptions are the time and bounds of Pairs; zero means the default.
type PairOptions struct {
	// HalfLife is after which time an occurrence counts half. Default 1 s.
	HalfLife time.Duration
	// Entries bounds the pairs that are counted. Default 128.
	Entries int
}

// Pairs counts which keys occur together, in occurrences a second, of which
// what is older counts less. A gateway notes the hot keys (those of the heat
// map) that a transaction writes on different shards: to gain by being moved,
// they must be moved together.
//
// It is the sketch that Meter is, with pairs for keys and occurrences for
// nanoseconds. But here a pair that is taken for more frequent than it is would
// have keys moved for nothing, so what Top tells is the least that the rate can
// be. Noting a pair that is counted allocates nothing. Times are as with Meter.
type Pairs struct {
	ranking
	// name is room for the name of a pair.
	name []byte
}

// NewPairs makes a counter that has seen nothing.
func NewPairs(opt PairOptions) *Pairs {
	if opt.HalfLife <= 0 {
		opt.HalfLife = time.Second
	}
	if opt.Entries <= 0 {
		opt.Entries = 128
	}
	return &Pairs{ranking: newRanking(opt.Entries, opt.HalfLife)}
}

// Note counts that two keys have occurred together. Their order does not
// matter; a key does not occur together with itself.
func (p *Pairs) Note(now int64, a, b []byte) {
	switch bytes.Compare(a, b) {
	case 0:
		return
	case 1:
		a, b = b, a
	}
	p.advance(now)
	p.name = append(binary.AppendUvarint(p.name[:0], uint64(len(a))), a...)
	p.name = append(p.name, b...)
	hash := xxhash.Sum64(p.name)
	scale := p.scaled()
	e := p.find(hash, p.name)
	if e == nil {
		e = p.enter(hash, p.name)
	}
	e.heat += scale
	p.sink(e)
}

// faintPair is the weight, in occurrences, below which a pair is forgotten: one
// alone is for 7 half-lives.
const faintPair = 1.0 / 128

// Fade forgets the pairs that have not occurred for long.
func (p *Pairs) Fade(now int64) { p.fade(now, faintPair) }

// Top lists the pairs that occur most, most first: at most n, those of which
// anything is certain. It changes nothing.
func (p *Pairs) Top(now int64, n int) []msg.HeatPair {
	rate := p.rate(now)
	type ranked struct {
		*entry
		least float64
	}
	list := make([]ranked, 0, p.Len())
	for _, e := range p.byWeight {
		if least := (e.heat - e.inherited) * rate; least > 0 {
			list = append(list, ranked{e, least})
		}
	}
	slices.SortFunc(list, func(x, y ranked) int {
		if c := cmp.Compare(y.least, x.least); c != 0 {
			return c
		}
		xa, xb := pairOf(x.key)
		ya, yb := pairOf(y.key)
		return cmp.Or(bytes.Compare(xa, ya), bytes.Compare(xb, yb))
	})
	out := make([]msg.HeatPair, min(max(n, 0), len(list)))
	for i := range out {
		a, b := pairOf(list[i].key)
		out[i] = msg.HeatPair{A: bytes.Clone(a), B: bytes.Clone(b), Rate: list[i].least}
	}
	return out
}

// pairOf takes a name that Note has made apart.
func pairOf(name []byte) (a, b []byte) {
	size, at := binary.Uvarint(name)
	return name[at : at+int(size)], name[at+int(size):]
}
