// Package auction draws when bids are made, and on what, for auctions whose
// bidders wait for the end.
//
// The bids of an item follow Zipf's law, and those of one auction come the
// more often the nearer its end is: x before the end, as a part of its length,
// with density proportional to exp(-x/Rush). Both are what studies of real
// auctions found, and what Claret's Rubis runs (Holt 2016, section 4.5.2; the
// paper gives no number for the rush).
//
// A season is all of it in the order of time: auctions that overlap and end
// one after the other, and their bids. Its time is from 0 to 1 and has no
// unit: a client goes from bid to bid as fast as the store allows. An
// auction that ends early in the season began before it, and gets its bids in
// what there is of it.
package auction

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/linchpindb/linchpin/pkg/load/dist/zipf"
)

// Options describe a season.
type Options struct {
	// Items is how many auctions there are, 1 to MaxItems.
	Items int
	// Bids is how many bids an item gets on average, above 0.
	Bids float64
	// Skew is the exponent of Zipf's law, at least 0.
	Skew float64
	// Rush is the mean time that a bid is made before the end, in lengths of
	// an auction, if auctions had no beginning; above 0. The smaller, the
	// more bids are the last.
	Rush float64
	// Length is how long each auction lasts, above 0 and below 1.
	Length float64
	// Seed determines the season.
	Seed uint64
}

// MaxItems and MaxBids bound a season, which is kept in memory.
const (
	MaxItems = 10_000_000
	MaxBids  = 100_000_000
)

// Validate reports what is wrong, or nil.
func (o Options) Validate() error {
	switch bids := o.Bids * float64(o.Items); {
	case o.Items < 1 || o.Items > MaxItems:
		return fmt.Errorf("%d items, want 1 to %d", o.Items, MaxItems)
	case !(bids >= 1 && bids <= MaxBids): // nor NaN
		return fmt.Errorf("%v bids an item, %v in all, want 1 to %d in all", o.Bids, bids, MaxBids)
	case !(o.Rush > 0) || math.IsInf(o.Rush, 0):
		return fmt.Errorf("a rush of %v, want a part of an auction's length, above 0", o.Rush)
	case !(o.Length > 0 && o.Length < 1):
		return fmt.Errorf("auctions last %v of the season, want more than 0 and less than 1", o.Length)
	}
	_, err := zipf.NewSampler(uint64(o.Items), o.Skew)
	return err
}

// Bid is one bid.
type Bid struct {
	At   float64
	Item uint32
}

// Season is what happens, in the order of time.
type Season struct {
	// Ends is when each item's auction ends.
	Ends []float64
	// Closing lists the items in the order of their ends.
	Closing []uint32
	Bids    []Bid
}

// New draws a season.
func New(o Options) (*Season, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	hot, err := zipf.NewPicker(zipf.Options{Keys: uint64(o.Items), Skew: o.Skew, Shuffle: true, Seed: o.Seed})
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(o.Seed, 62))
	s := &Season{Ends: make([]float64, o.Items), Closing: make([]uint32, o.Items),
		Bids: make([]Bid, int(o.Bids*float64(o.Items)))}
	for i := range s.Ends {
		s.Ends[i], s.Closing[i] = 1-r.Float64(), uint32(i)
	}
	slices.SortFunc(s.Closing, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(s.Ends[a], s.Ends[b]),
			cmp.Compare(a, b))
	})
	for i := range s.Bids {
		item := hot.Pick(r, 0)
		end := s.Ends[item]
		s.Bids[i] = Bid{max(end-o.Length*before(r, o.Rush, min(end/o.Length, 1)), 0), uint32(item)}
	}
	slices.SortStableFunc(s.Bids, func(a, b Bid) int { return cmp.Compare(a.At, b.At) })
	return s, nil
}

// before draws how long before the end a bid is made, from 0 up to most: by
// inverting the integral of exp(-x/rush) over what there is of it.
func before(r *rand.Rand, rush, most float64) float64 {
	all := -math.Expm1(-most / rush)
	return min(-rush*math.Log1p(-r.Float64()*all), most)
}
