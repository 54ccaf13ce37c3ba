package soak

import (
	"fmt"
	"slices"
	"time"
)

// Sample is a quantity at a time, of one life of a process.
type Sample struct {
	// At is the time since the beginning of the soak.
	At time.Duration
	// Life tells the processes apart that were a node one after the other: what
	// one of them has gathered is gone with it.
	Life  int
	Value float64
}

// Limit says when a quantity is flat.
type Limit struct {
	// Growth is how much it may have grown from the first sample that counts to
	// the last, in its unit, and Share how much more, as a part of its median.
	Growth, Share float64
	// Settle is how long a life may take until its samples count: caches fill,
	// and outcomes are kept for ten minutes.
	Settle time.Duration
}

// Verdict is what became of a quantity.
type Verdict struct {
	// Lives and Samples are how many counted. Judged is false when there were
	// too few to tell, and Flat is true then.
	Lives, Samples int
	Judged, Flat   bool
	// Median is of the samples, PerHour the slope, and Span the longest time
	// from the first sample to the last one of a life. Growth is the slope times
	// Span, and Allowed what it may be.
	Median, PerHour, Growth, Allowed float64
	Span                             time.Duration
}

// leastSamples is how many samples a life needs to be looked at.
const leastSamples = 4

// Judge tells whether a quantity is flat: by Theil and Sen's estimate of the
// slope, the median of the slopes between any two samples of the same life. Up
// to 29 % of the samples may be anything without effect on it. That it falls is
// flat, too.
func Judge(samples []Sample, l Limit) Verdict {
	var slopes, values []float64
	v := Verdict{Flat: true}
	for _, life := range lives(samples, l.Settle) {
		v.Lives++
		v.Span = max(v.Span, life[len(life)-1].At-life[0].At)
		for i, a := range life {
			values = append(values, a.Value)
			for _, b := range life[i+1:] {
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
	v.Judged = true
	v.Median, v.PerHour = median(values), median(slopes)
	v.Growth = v.PerHour * v.Span.Hours()
	v.Allowed = l.Growth + l.Share*v.Median
	v.Flat = v.Growth <= v.Allowed
	return v
}

// lives gives the samples that count, by life: of those that have enough.
func lives(samples []Sample, settle time.Duration) (out [][]Sample) {
	byLife, first := map[int][]Sample{}, map[int]time.Duration{}
	var order []int
	for _, s := range samples {
		if _, known := first[s.Life]; !known {
			first[s.Life] = s.At
			order = append(order, s.Life)
		}
		if s.At-first[s.Life] >= settle {
			byLife[s.Life] = append(byLife[s.Life], s)
		}
	}
	for _, life := range order {
		if len(byLife[life]) >= leastSamples {
			out = append(out, byLife[life])
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
	if !v.Judged {
		return "too few samples to tell"
	}
	word := "flat"
	if !v.Flat {
		word = "GROWS"
	}
	return fmt.Sprintf("%-5s median %.1f, %+.1f an hour, %+.1f in %v (allowed %.1f), %d samples of %d lives", word, v.Median, v.PerHour, v.Growth,
		v.Span.Round(time.Second), v.Allowed, v.Samples, v.Lives)
}
