package hotshard

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// MeterOptions are the half-life and the size of a meter. Zero means the default.
type MeterOptions struct {
	// HalfLife is the time after which a wait counts half. Default 1 s.
	HalfLife time.Duration
	// Entries bounds the number of ranked keys. Default 128.
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

// Meter ranks the keys of one shard by the waiting that they cause, in nanoseconds of waiting per second
// with exponential decay. It counts measured waiting (RecordWait) and the waiting that the last agent avoids by
// not holding locks (RecordUse). Without the second, a key would cool down because it is placed well, and would
// be moved away again.
//
// It is a weighted Space-Saving sketch (Metwally, Agrawal, El Abbadi: Efficient computation of frequent and
// top-k elements in data streams, 2005). If all entries are in use, a new key takes over the entry with the
// least weight and inherits that weight, which becomes the Error of the key. So the weight of a key is
// never below the true one and exceeds it by at most Error, and every key with more than 1/Entries of all
// waiting is ranked. Weights decay (type decay).
//
// No Go library fits. Two (keilerkonzept/topk, segmentio/topk) are randomized, with one draw per unit of an
// increment, which is a nanosecond here; they count in 32 bits, may underestimate, and have no error bound per
// key. Implementations of Space-Saving (dgryski/go-topk) count integers without decay. None stores the other
// statistics of a key.
//
// With the defaults a Meter uses at most 540 KiB if all keys have kv.MaxKeyBytes, and 36 KiB with keys of
// 64 bytes. An entry keeps the capacity of its longest key until it fades.
//
// Times are nanoseconds from any origin; a time before the newest one counts as the newest. A Meter has no
// locks and no clock; it is used by one goroutine.
type Meter struct {
	ranking
	// recent is the entry of the last lookup, nil if it may have been removed.
	recent *entry
}

// NewMeter returns an empty meter.
func NewMeter(opt MeterOptions) *Meter {
	opt = opt.withDefaults()
	return &Meter{ranking: newRanking(opt.Entries, opt.HalfLife)}
}

// RecordWait records that a transaction waited for a key or lost time because of it. by is the blocking
// transaction, zero if unknown. Durations of zero and less are ignored.
func (m *Meter) RecordWait(now int64, key []byte, cause Cause, nanos int64, by kv.TxnRef) {
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

// RecordUse records that an operation on a key executed. waited: it had waited for the key. before is when the
// key was last used, and conflicts whether that use conflicts with this one. The caller stores both with the
// key, which it has at hand. A use without a conflict therefore costs nothing here, and only keys with
// conflicts are ranked.
//
// If the use has not waited, the reason may be that a last agent holds no locks. On a participant the key
// would have been locked for hold, and this use would have waited for the rest of that time; it is charged
// as EstimatedWait. In both cases it counts as a conflict:
//
//	previous use          this use
//	     ├───── hold ─────────┼──────┤
//	                          │◀────▶│ EstimatedWait
//
// Conflicts order the hot keys, waiting does not. The waiting for a key grows with its queue, so a key that
// is currently on a participant would seem hotter than an equal one on the last agent. The rate of
// conflicts depends on the demand only, wherever the keys are decided.
func (m *Meter) RecordUse(now int64, key []byte, hold int64, waited bool, before int64, conflicts bool) {
	avoided := int64(0)
	// Unsigned: the gap of two distant times overflows an int64.
	if gap := uint64(max(now, before)) - uint64(before); !waited && conflicts && hold > 0 && gap < uint64(hold) {
		avoided = hold - int64(gap)
	}
	if !waited && avoided == 0 {
		return
	}
	m.advance(now)
	hash, e := m.lookup(key)
	e = m.charge(e, hash, key, EstimatedWait, avoided)
	e.conflicts += m.scale
}

// lookup hashes a key and finds its entry. A write that waited for a key looks it up twice in a row, so the
// last entry is compared first.
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

// charge adds waiting to a key. e is the entry of the key, nil if it has none.
func (m *Meter) charge(e *entry, hash uint64, key []byte, cause Cause, nanos int64) *entry {
	scale := m.currentScale()
	if e == nil {
		e = m.enter(hash, key)
		e.since = m.now
	}
	e.last = m.now
	e.causes[cause] += float64(nanos) * scale
	if cause == Held {
		e.holds += scale
	}
	if cause != EstimatedWait {
		e.heat += float64(nanos) * scale
		e.nanos += nanos
		e.count++
	}
	m.siftDown(e)
	return e
}

// minWeight is the weight in nanoseconds below which an entry is removed.
const minWeight = 1

// Fade removes the keys with a weight below one nanosecond; one second of waiting decays to that in 30
// half-lives. This is the only source of underestimates: less than one nanosecond per call.
func (m *Meter) Fade(now int64) {
	m.recent = nil
	m.fade(now, minWeight)
}

// Top returns the keys that cause the most waiting, in descending order: at most n, with a Total of at
// least least. It does not change the meter.
func (m *Meter) Top(now int64, n int, least float64) []KeyHeat {
	rate := m.perSecond(now)
	type ranked struct {
		*entry
		total float64
	}
	list := make([]ranked, 0, m.Len())
	for _, e := range m.byWeight {
		if total := e.heat*rate + e.causes[EstimatedWait]*rate; total >= least {
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
		out[i] = list[i].keyHeat(rate)
	}
	return out
}

// Bytes is the memory of the meter.
func (m *Meter) Bytes() int { return meterBytes + m.ranking.bytes() }
