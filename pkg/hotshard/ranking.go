package hotshard

import (
	"bytes"
	"math"
	"math/bits"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// entry is a key that is ranked. Weights are scaled by the decay.
type entry struct {
	key  []byte
	hash uint64
	// next is the next entry of the same chain, place where it stands in the
	// heap.
	next  *entry
	place int

	heat, inherited, clashes, holds float64
	// causes has all of heat but what was inherited, and what would have been.
	causes [NumCauses]float64

	nanos       int64
	count       uint64
	holder      kv.TxnRef
	since, last int64
}

func (e *entry) weight() float64 { return e.heat + e.causes[WouldWait] }

// tell copies what is known of a key.
func (e *entry) tell(rate float64) KeyHeat {
	k := KeyHeat{Key: bytes.Clone(e.key), Heat: e.heat * rate, Would: e.causes[WouldWait] * rate, Error: e.inherited * rate, Clashes: e.clashes * rate,
		Holds: e.holds * rate, Nanos: e.nanos, Count: e.count, Holder: e.holder, Since: e.since, Last: e.last}
	for i := range k.Causes {
		k.Causes[i] = e.causes[i] * rate
	}
	return k
}

// ranking is a bounded set of entries: a heap with the least weight on top,
// and chains by hash to find them. (A map would hash the key once more.)
// Weights decay.
type ranking struct {
	decay
	byWeight []*entry
	chains   []*entry
}

// chainsPerEntry is how many chains there are for each entry, so that the
// chain of a cold key is mostly empty.
const chainsPerEntry = 4

func newRanking(entries int, half time.Duration) ranking {
	return ranking{decay: decay{half: uint64(half)}, byWeight: make([]*entry, 0, entries),
		chains: make([]*entry, powerOfTwo(chainsPerEntry*entries))}
}

// powerOfTwo is the least one that is not below n.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

// Len is the number of keys that are ranked.
func (r *ranking) Len() int { return len(r.byWeight) }

func (r *ranking) chain(hash uint64) **entry { return &r.chains[hash>>32&uint64(len(r.chains)-1)] }

func (r *ranking) find(hash uint64, key []byte) *entry {
	e := *r.chain(hash)
	for e != nil && (e.hash != hash || !bytes.Equal(e.key, key)) {
		e = e.next
	}
	return e
}

// least is the entry with the least weight.
func (r *ranking) least() *entry { return r.byWeight[0] }

// enter makes an entry for a key that has none. If all are taken it takes over
// the least, whose weight it inherits. Its weight is to be raised at once, and
// to be sunk then.
func (r *ranking) enter(hash uint64, key []byte) *entry {
	var e *entry
	if len(r.byWeight) < cap(r.byWeight) {
		e = &entry{key: bytes.Clone(key), place: len(r.byWeight)}
		r.byWeight = append(r.byWeight, e)
		r.rise(e)
	} else {
		e = r.least()
		r.unchain(e)
		room := e.key[:0]
		if cap(room) < len(key) {
			room = make([]byte, 0, len(key))
		}
		w := e.weight()
		*e = entry{key: append(room, key...), heat: w, inherited: w}
	}
	e.hash = hash
	c := r.chain(hash)
	e.next, *c = *c, e
	return e
}

// drop removes the least entry.
func (r *ranking) drop() {
	e, n := r.least(), len(r.byWeight)-1
	r.unchain(e)
	last := r.byWeight[n]
	r.byWeight[n] = nil
	r.byWeight = r.byWeight[:n]
	if n > 0 {
		r.put(last, 0)
		r.sink(last)
	}
}

func (r *ranking) unchain(e *entry) {
	p := r.chain(e.hash)
	for *p != e {
		p = &(*p).next
	}
	*p, e.next = e.next, nil
}

func (r *ranking) put(e *entry, place int) {
	e.place = place
	r.byWeight[place] = e
}

// rise moves an entry to where its weight belongs, if it became less.
func (r *ranking) rise(e *entry) {
	i, w := e.place, e.weight()
	for i > 0 {
		above := r.byWeight[(i-1)/2]
		if above.weight() <= w {
			break
		}
		r.put(above, i)
		i = (i - 1) / 2
	}
	r.put(e, i)
}

// sink moves an entry to where its weight belongs, if it became more.
func (r *ranking) sink(e *entry) {
	i, w := e.place, e.weight()
	for {
		child := 2*i + 1
		if child >= len(r.byWeight) {
			break
		}
		if child+1 < len(r.byWeight) && r.byWeight[child+1].weight() < r.byWeight[child].weight() {
			child++
		}
		if r.byWeight[child].weight() >= w {
			break
		}
		r.put(r.byWeight[child], i)
		i = child
	}
	r.put(e, i)
}

// scaled is the scale of the present. It moves the origin if need be.
func (r *ranking) scaled() float64 {
	if r.scaledAt == r.now {
		return r.scale
	}
	if n := r.behind(); n > 0 {
		r.rescale(-int(min(n, 1<<12)))
		r.shift(n)
	}
	r.scaledAt, r.scale = r.now, math.Exp2(r.age(r.now))
	return r.scale
}

// fade forgets the entries whose weight is below faint now.
func (r *ranking) fade(now int64, faint float64) {
	r.advance(now)
	least := faint * r.scaled()
	for r.Len() > 0 && r.least().weight() < least {
		r.drop()
	}
}

// rescale multiplies all weights by 2^exponent. That leaves their order alone,
// except among those that go under.
func (r *ranking) rescale(exponent int) {
	for _, e := range r.byWeight {
		for _, x := range []*float64{&e.heat, &e.inherited, &e.clashes, &e.holds} {
			*x = math.Ldexp(*x, exponent)
		}
		for i := range e.causes {
			e.causes[i] = math.Ldexp(e.causes[i], exponent)
		}
	}
}

// Sizes in memory, on 64 bits.
const (
	entryBytes   = 176 // 176 is a size class
	meterBytes   = 104
	pointerBytes = 8
)

func (r *ranking) bytes() int {
	n := pointerBytes * (cap(r.byWeight) + len(r.chains))
	for _, e := range r.byWeight {
		n += entryBytes + cap(e.key)
	}
	return n
}
