package metrics

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Histogram counts whole numbers (nanoseconds, entries) in buckets. It may be
// used by any number of goroutines.
//
// Unlike the client library's, it accepts the sums of many observations at once, as
// Batch has them.
type Histogram struct {
	desc *prometheus.Desc
	// bounds are the buckets' upper ends, inclusive and rising.
	bounds []int64
	// counts has one element per bucket and one for all above.
	counts []atomic.Uint64
	sum    atomic.Int64
	// unit divides what was observed into what is shown.
	unit   float64
	labels []string
}

// durationBounds are two per octave from 16 us to 67 s: fine enough to distinguish a
// fsync from a round trip, at 45 series a histogram.
var durationBounds = func() (bs []int64) {
	for d := 16 * time.Microsecond; d < 70*time.Second; d *= 2 {
		bs = append(bs, int64(d), int64(d+d/2))
	}
	return bs
}()

// countBounds are the powers of two to 16384.
var countBounds = func() (bs []int64) {
	for n := int64(1); n <= 16384; n *= 2 {
		bs = append(bs, n)
	}
	return bs
}()

func newHistogram(desc *prometheus.Desc, bounds []int64, unit float64, labels ...string) *Histogram {
	return &Histogram{desc: desc, bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1), unit: unit, labels: labels}
}

// bucket is the place of v in counts.
func (h *Histogram) bucket(v int64) int {
	i, _ := slices.BinarySearch(h.bounds, v)
	return i
}

// Observe adds a duration.
func (h *Histogram) Observe(d time.Duration) { h.ObserveN(int64(d)) }

// ObserveN adds a number, in nanoseconds for durations.
func (h *Histogram) ObserveN(n int64) {
	h.counts[h.bucket(n)].Add(1)
	h.sum.Add(n)
}

// Count is the number of observations.
func (h *Histogram) Count() (n uint64) {
	for i := range h.counts {
		n += h.counts[i].Load()
	}
	return n
}

// Describe implements prometheus.Collector.
func (h *Histogram) Describe(to chan<- *prometheus.Desc) { to <- h.desc }

// Collect implements prometheus.Collector.
func (h *Histogram) Collect(to chan<- prometheus.Metric) {
	cumulative := make(map[float64]uint64, len(h.bounds))
	n := uint64(0)
	for i, b := range h.bounds {
		n += h.counts[i].Load()
		cumulative[float64(b)/h.unit] = n
	}
	n += h.counts[len(h.bounds)].Load()
	to <- prometheus.MustNewConstHistogram(h.desc, n, float64(h.sum.Load())/h.unit, cumulative, h.labels...)
}

// Batch collects observations of one histogram for one goroutine. They show
// when Flush is called.
type Batch struct {
	to     *Histogram
	counts []uint64
	sum    int64
	used   bool
}

// NewBatch makes an empty batch.
func (h *Histogram) NewBatch() *Batch { return &Batch{to: h, counts: make([]uint64, len(h.counts))} }

// Observe adds a duration.
func (b *Batch) Observe(d time.Duration) { b.ObserveN(int64(d)) }

// ObserveN adds a number.
func (b *Batch) ObserveN(n int64) {
	b.counts[b.to.bucket(n)]++
	b.sum += n
	b.used = true
}

// Flush adds what was collected to the histogram, and empties the batch.
func (b *Batch) Flush() {
	if !b.used {
		return
	}
	for i, n := range b.counts {
		if n > 0 {
			b.to.counts[i].Add(n)
			b.counts[i] = 0
		}
	}
	b.to.sum.Add(b.sum)
	b.sum, b.used = 0, false
}
