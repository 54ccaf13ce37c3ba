package hotshard

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// MeterOptions are a meter's times and bounds; zero means the default.
type MeterOptions struct {
	// HalfLife is after which time a wait counts half. Default 1 s.
	HalfLife time.Duration
	// Entries bounds the keys that are ranked. Default 128.
	Entries int
}

func (o MeterOptions) withDefaults() MeterOptions {
	if o.HalfLife <= 0 {
		o.HalfLife = time.Second
	}
	if o.Entries <= 0 {
		o.Entries = 128
	}
	return o
}

// Meter ranks the keys of one shard by the waiting that they cause, in
// nanoseconds of waiting per second, of which what is older counts less. It
// counts the waiting that there was (Waited), and that which deciding a key
// where it lives has spared (Ran), so that a key does not cool down by being
// placed well.
//
// It is a weighted Space-Saving sketch (Metwally, Agrawal, El Abbadi:
// Efficient computation of frequent and top-k elements in data streams, 2005):
// a key that finds no free entry takes over that of the least one, and its
// weight, which from then on is the Error of the new key. So a key's weight is
// never below the true one and at most Error above it, and every key with more
// than 1/Entries of all the waiting is ranked. It decays (decay).
//
// No Go library fits. The HeavyKeepers (keilerkonzept/topk, segmentio/topk)
// draw lots, once per unit of an increment, which here is a nanosecond; they
// count in 32 bits, may underestimate, and know no error of a key. What there
// is of Space-Saving (dgryski/go-topk) counts in whole numbers without decay.
// None has room for what else is to be known of a key, and hot keys are this
// project's core.
//
// With the defaults it takes at most 540 KiB, when all keys are as long as
// kv.MaxKeyBytes allows, and 36 KiB with keys of 64 bytes: an entry keeps the
// room of the longest key that it has held until it fades.
//
// Times are nanoseconds from anywhere. One that lies before the newest so far
// counts as that. A Meter is a value without locks or clock; it is for one
// goroutine.
type Meter struct {
	ranking
	// recent is an entry that was asked for, nil if it may be gone.
	recent *entry
}

// NewMeter makes a meter that has seen nothing.
func NewMeter(opt MeterOptions) *Meter {
	opt = opt.withDefaults()
	return &Meter{ranking: newRanking(opt.Entries, opt.HalfLife)}
}

// Waited counts that somebody has waited for a key, or because of it, and on
// whom, if that is known. Times of zero and less are no waiting.
func (m *Meter) Waited(now int64, key []byte, cause Cause, nanos int64, by kv.TxnRef) {
	if nanos <= 0 || cause >= NumCauses {
		return
	}
	m.advance(now)
	hash, e := m.lookup(key)
	e = m.charge(e, hash, key, cause, nanos)
	if !by.IsZero() {
		e.holder = by
	}
}

// Ran counts a use of a key that was executed, and says whether it had waited for
// the key, when the key was last used before, and whether the two clash: whether
// there was one, with which this one does not go together. The caller keeps
// that with the key, which it has at hand; so a use that does not clash costs
// nothing here, and only a key that clashes comes to be ranked.
//
// If the use had not waited, because the last agent has locks for no time, it may
// have been spared that: on a participant the key would have been locked for hold, and
// this use would have waited for the one before until hold was over, which is
// charged as WouldWait. Either way it is a clash.
//
// Clashes are what tells hot keys apart. Waiting does not: it grows with the
// queue, so that of two keys the one whose turn is to be a participant seems
// the hotter. But of whatever clients want, they get as much as they ask for in
// the end; so the rates of two keys are in proportion to the demand, wherever
// they are decided.
func (m *Meter) Ran(now int64, key []byte, hold int64, waited bool, before int64, clashes bool) {
	spared := int64(0)
	// The gap does not fit an int64 if the times are far apart.
	if gap := uint64(max(now, before)) - uint64(before); !waited && clashes && hold > 0 && gap < uint64(hold) {
		spared = hold - int64(gap)
	}
	if !waited && spared == 0 {
		return
	}
	m.advance(now)
	hash, e := m.lookup(key)
	e = m.charge(e, hash, key, WouldWait, spared)
	e.clashes += m.scale
}

// lookup hashes a key and finds its entry. Mostly somebody waits for a key and
// then writes it, so that it is the one of the last time.
func (m *Meter) lookup(key []byte) (uint64, *entry) {
	if e := m.recent; e != nil && bytes.Equal(e.key, key) {
		return e.hash, e
	}
	hash := xxhash.Sum64(key)
	e := m.find(hash, key)
	if e != nil {
		m.recent = e
	}
	return hash, e
}

// charge adds to the waiting of a key, whose entry is e, if it has one.
func (m *Meter) charge(e *entry, hash uint64, key []byte, cause Cause, nanos int64) *entry {
	scale := m.scaled()
	if e == nil {
		e = m.enter(hash, key)
		e.since = m.now
	}
	e.last = m.now
	e.causes[cause] += float64(nanos) * scale
	if cause == Held {
		e.holds += scale
	}
	if cause != WouldWait {
		e.heat += float64(nanos) * scale
		e.nanos += nanos
		e.count++
	}
	m.sink(e)
	return e
}

// faint is the weight, in nanoseconds, below which an entry is forgotten.
const faint = 1

// Fade forgets the keys of which hardly a nanosecond is left; a second of
// waiting takes 30 half-lives. This is the only way to underestimate a key: by
// less than a nanosecond for every call.
func (m *Meter) Fade(now int64) {
	m.recent = nil
	m.fade(now, faint)
}

// Top lists the keys that cause most waiting, most first: at most n, those
// with a Heat and Would of at least least. It changes nothing.
func (m *Meter) Top(now int64, n int, least float64) []KeyHeat {
	rate := m.rate(now)
	type ranked struct {
		*entry
		total float64
	}
	list := make([]ranked, 0, m.Len())
	for _, e := range m.byWeight {
		if total := e.heat*rate + e.causes[WouldWait]*rate; total >= least {
			list = append(list, ranked{e, total})
		}
	}
	slices.SortFunc(list, func(a, b ranked) int {
		if c := cmp.Compare(b.total, a.total); c != 0 {
			return c
		}
		return bytes.Compare(a.key, b.key)
	})
	out := make([]KeyHeat, min(max(n, 0), len(list)))
	for i := range out {
		out[i] = list[i].tell(rate)
	}
	return out
}

// Bytes is the memory that the meter takes.
func (m *Meter) Bytes() int { return meterBytes + m.ranking.bytes() }
