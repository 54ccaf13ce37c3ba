package soak

import (
	"fmt"
	"slices"
	"time"
)

// Sample is the value of a quantity of one process at a time.
type Sample struct {
	// At is the time since the beginning of the soak.
	At time.Duration
	// Run distinguishes the successive processes of a node: what one has leaked is freed with it.
	Run   int
	Value float64
}

// Limit bounds the growth of a quantity.
type Limit struct {
	// Growth bounds the growth from the first sample that counts to the last one, in the unit of the quantity.
	// Share is additional growth as a fraction of the median.
	Growth, Share float64
	// Settle is the age of a process from which on its samples count: caches fill first, and outcomes are
	// retained for ten minutes.
	Settle time.Duration
}

// Verdict is the result for a quantity.
type Verdict struct {
	// Runs and Samples are the numbers of those that count. Enough is false if there are too few; Flat is true
	// then.
	Runs, Samples int
	Enough, Flat  bool
	// Median is the median of the samples, PerHour the slope, and Span the longest time from the first sample
	// of a run to its last one. Growth is the slope times Span, Allowed its bound.
	Median, PerHour, Growth, Allowed float64
	Span                             time.Duration
}

// minSamples is the number of samples that a run needs to count.
const minSamples = 4

// CheckGrowth reports whether a quantity is flat, by the Theil-Sen estimator: the median of the slopes
// between any two samples of one run. Up to 29 % of the samples may be outliers without effect. A falling
// quantity is flat.
func CheckGrowth(samples []Sample, l Limit) Verdict {
	var slopes, values []float64
	v := Verdict{Flat: true}
	for _, run := range samplesByRun(samples, l.Settle) {
		v.Runs++
		v.Span = max(v.Span, run[len(run)-1].At-run[0].At)
		for i, a := range run {
			values = append(values, a.Value)
			for _, b := range run[i+1:] {
				if b.At > a.At {
					slopes = append(slopes, (b.Value-a.Value)/(b.At-a.At).Hours())
				}
			}
		}
	}
	v.Samples = len(values)
	if len(slopes) == 0 {
		return v
	}
	v.Enough = true
	v.Median, v.PerHour = median(values), median(slopes)
	v.Growth = v.PerHour * v.Span.Hours()
	v.Allowed = l.Growth + l.Share*v.Median
	v.Flat = v.Growth <= v.Allowed
	return v
}

// samplesByRun returns the samples that count, of each run that has enough.
func samplesByRun(samples []Sample, settle time.Duration) (out [][]Sample) {
	byRun, first := map[int][]Sample{}, map[int]time.Duration{}
	var order []int
	for _, s := range samples {
		if _, known := first[s.Run]; !known {
			first[s.Run] = s.At
			order = append(order, s.Run)
		}
		if s.At-first[s.Run] >= settle {
			byRun[s.Run] = append(byRun[s.Run], s)
		}
	}
	for _, run := range order {
		if len(byRun[run]) >= minSamples {
			out = append(out, byRun[run])
		}
	}
	return out
}

func median(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

func (v Verdict) String() string {
	if !v.Enough {
		return "too few samples"
	}
	word := "flat"
	if !v.Flat {
		word = "GROWS"
	}
	return fmt.Sprintf("%-5s median %.1f, %+.1f an hour, %+.1f in %v (allowed %.1f), %d samples of %d runs", word,
		v.Median, v.PerHour, v.Growth, v.Span.Round(time.Second), v.Allowed, v.Samples, v.Runs)
}
