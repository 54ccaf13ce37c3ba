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

// PairOptions are the half-life and the size of Pairs. Zero means the default.
type PairOptions struct {
	// HalfLife is the time after which an occurrence counts half. Default 1 s.
	HalfLife time.Duration
	// Entries bounds the number of counted pairs. Default 128.
	Entries int
}

// Pairs counts which keys occur together, in occurrences per second with exponential decay. A gateway
// records the hot keys (those of the heat map) that a transaction writes on different shards. Moving such
// keys helps only if they are moved together.
//
// It is the same sketch as Meter, with pairs instead of keys and occurrences instead of nanoseconds. An
// overestimate here would move keys for nothing, so Top returns lower bounds of the rates. Recording a pair
// that has an entry does not allocate. Times are as in Meter.
type Pairs struct {
	ranking
	// scratch is the buffer for the encoding of a pair: the length of the first key, then both keys.
	scratch []byte
}

// NewPairs returns an empty counter.
func NewPairs(opt PairOptions) *Pairs {
	if opt.HalfLife <= 0 {
		opt.HalfLife = time.Second
	}
	if opt.Entries <= 0 {
		opt.Entries = 128
	}
	return &Pairs{ranking: newRanking(opt.Entries, opt.HalfLife)}
}

// Record records that two keys occurred together, in either order. Equal keys are ignored.
func (p *Pairs) Record(now int64, a, b []byte) {
	switch bytes.Compare(a, b) {
	case 0:
		return
	case 1:
		a, b = b, a
	}
	p.advance(now)
	p.scratch = append(binary.AppendUvarint(p.scratch[:0], uint64(len(a))), a...)
	p.scratch = append(p.scratch, b...)
	hash := xxhash.Sum64(p.scratch)
	scale := p.currentScale()
	e := p.find(hash, p.scratch)
	if e == nil {
		e = p.enter(hash, p.scratch)
	}
	e.heat += scale
	p.siftDown(e)
}

// minPairWeight is the weight in occurrences below which a pair is removed: a single occurrence lasts 7
// half-lives.
const minPairWeight = 1.0 / 128

// Fade removes the pairs whose weight has decayed.
func (p *Pairs) Fade(now int64) { p.fade(now, minPairWeight) }

// Top returns the most frequent pairs, in descending order: at most n, with a rate that is certainly above
// zero. It does not change the counter.
func (p *Pairs) Top(now int64, n int) []msg.HeatPair {
	rate := p.perSecond(now)
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
		xa, xb := splitPair(x.key)
		ya, yb := splitPair(y.key)
		return cmp.Or(bytes.Compare(xa, ya), bytes.Compare(xb, yb))
	})
	out := make([]msg.HeatPair, min(max(n, 0), len(list)))
	for i := range out {
		a, b := splitPair(list[i].key)
		out[i] = msg.HeatPair{A: bytes.Clone(a), B: bytes.Clone(b), Rate: list[i].least}
	}
	return out
}

// splitPair decodes what Note has encoded.
func splitPair(name []byte) (a, b []byte) {
	size, at := binary.Uvarint(name)
	return name[at : at+int(size)], name[at+int(size):]
}
