package hotshard

import (
	"bytes"
	"math"
	"math/bits"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// entry is a ranked key. Its weights are scaled by the decay.
type entry struct {
	key  []byte
	hash uint64
	// next is the next entry of the hash chain, place the position in the heap.
	next  *entry
	place int

	heat, inherited, conflicts, holds float64
	// causes splits heat without inherited, and has the avoided waiting.
	causes [NumCauses]float64

	nanos       int64
	count       uint64
	holder      kv.TxnRef
	since, last int64
}

func (e *entry) weight() float64 { return e.heat + e.causes[EstimatedWait] }

// keyHeat copies the statistics of a key.
func (e *entry) keyHeat(rate float64) KeyHeat {
	k := KeyHeat{Key: bytes.Clone(e.key), Heat: e.heat * rate, EstimatedWait: e.causes[EstimatedWait] * rate,
		Error: e.inherited * rate, Conflicts: e.conflicts * rate,
		Holds: e.holds * rate, Nanos: e.nanos, Count: e.count, Holder: e.holder, Since: e.since, Last: e.last}
	for i := range k.Causes {
		k.Causes[i] = e.causes[i] * rate
	}
	return k
}

// ranking is a bounded set of entries with decaying weights: a min-heap by weight, and hash chains for
// lookup. (A map would compute a second hash of each key.)
type ranking struct {
	decay
	byWeight []*entry
	chains   []*entry
}

// chainsPerEntry makes most chains empty, so that the lookup of a key that is not ranked is cheap.
const chainsPerEntry = 4

func newRanking(entries int, half time.Duration) ranking {
	return ranking{decay: decay{half: uint64(half)}, byWeight: make([]*entry, 0, entries),
		chains: make([]*entry, powerOfTwo(chainsPerEntry*entries))}
}

// powerOfTwo returns the smallest power of two that is at least n.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

// Len is the number of ranked keys.
func (r *ranking) Len() int { return len(r.byWeight) }

func (r *ranking) chain(hash uint64) **entry { return &r.chains[hash>>32&uint64(len(r.chains)-1)] }

func (r *ranking) find(hash uint64, key []byte) *entry {
	e := *r.chain(hash)
	for e != nil && (e.hash != hash || !bytes.Equal(e.key, key)) {
		e = e.next
	}
	return e
}

// least returns the entry with the least weight.
func (r *ranking) least() *entry { return r.byWeight[0] }

// enter creates the entry of a key that has none. If all are in use, it takes over the one with the least
// weight and inherits that. The caller increases the weight and then calls siftDown.
func (r *ranking) enter(hash uint64, key []byte) *entry {
	var e *entry
	if len(r.byWeight) < cap(r.byWeight) {
		e = &entry{key: bytes.Clone(key), place: len(r.byWeight)}
		r.byWeight = append(r.byWeight, e)
		r.siftUp(e)
	} else {
		e = r.least()
		r.unchain(e)
		buf := e.key[:0]
		if cap(buf) < len(key) {
			buf = make([]byte, 0, len(key))
		}
		w := e.weight()
		*e = entry{key: append(buf, key...), heat: w, inherited: w}
	}
	e.hash = hash
	c := r.chain(hash)
	e.next, *c = *c, e
	return e
}

// removeLeast removes the entry with the least weight.
func (r *ranking) removeLeast() {
	e, n := r.least(), len(r.byWeight)-1
	r.unchain(e)
	last := r.byWeight[n]
	r.byWeight[n] = nil
	r.byWeight = r.byWeight[:n]
	if n > 0 {
		r.setPlace(last, 0)
		r.siftDown(last)
	}
}

func (r *ranking) unchain(e *entry) {
	p := r.chain(e.hash)
	for *p != e {
		p = &(*p).next
	}
	*p, e.next = e.next, nil
}

func (r *ranking) setPlace(e *entry, place int) {
	e.place = place
	r.byWeight[place] = e
}

// siftUp restores the heap order after the weight of an entry has decreased.
func (r *ranking) siftUp(e *entry) {
	i, w := e.place, e.weight()
	for i > 0 {
		above := r.byWeight[(i-1)/2]
		if above.weight() <= w {
			break
		}
		r.setPlace(above, i)
		i = (i - 1) / 2
	}
	r.setPlace(e, i)
}

// siftDown restores the heap order after the weight of an entry has increased.
func (r *ranking) siftDown(e *entry) {
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
		r.setPlace(r.byWeight[child], i)
		i = child
	}
	r.setPlace(e, i)
}

// currentScale returns the scale of the current time. It moves the origin if that is overdue.
func (r *ranking) currentScale() float64 {
	if r.scaledAt == r.now {
		return r.scale
	}
	if n := r.overdueHalfLives(); n > 0 {
		r.rescale(-int(min(n, 1<<12)))
		r.moveOrigin(n)
	}
	r.scaledAt, r.scale = r.now, math.Exp2(r.age(r.now))
	return r.scale
}

// fade removes the entries whose weight is below minWeight now.
func (r *ranking) fade(now int64, minWeight float64) {
	r.advance(now)
	least := minWeight * r.currentScale()
	for r.Len() > 0 && r.least().weight() < least {
		r.removeLeast()
	}
}

// rescale multiplies all weights by 2^exponent. Their order stays the same, except among weights that
// underflow.
func (r *ranking) rescale(exponent int) {
	for _, e := range r.byWeight {
		for _, x := range []*float64{&e.heat, &e.inherited, &e.conflicts, &e.holds} {
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
