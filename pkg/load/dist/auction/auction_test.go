package auction

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/dist/lawtest"
	"github.com/linchpindb/linchpin/pkg/load/dist/zipf"
)

const steps = 40

// testTimes holds times before the end, up to most, against the law of a rush.
func testTimes(rush, most float64, draw func(r *rand.Rand) float64) (statistic, limit float64) {
	counts, law := make([]uint64, steps), make([]float64, steps)
	integral := func(x float64) float64 { return math.Expm1(-x*most/rush) / math.Expm1(-most/rush) }
	for i := range law {
		law[i] = integral(float64(i+1)/steps) - integral(float64(i)/steps)
	}
	r := rand.New(rand.NewPCG(2, 7))
	for range 200_000 {
		counts[min(int(draw(r)/most*steps), steps-1)]++
	}
	return lawtest.ChiSquare(counts, law)
}

func TestTimesBeforeTheEndFollowTheLaw(t *testing.T) {
	for _, rush := range []float64{0.02, 0.1, 0.5, 100} {
		for _, most := range []float64{1, 0.1} {
			statistic, limit := testTimes(rush, most, func(r *rand.Rand) float64 { return before(r, rush, most) })
			require.Less(t, statistic, limit, "rush %v, at most %v", rush, most)
		}
	}
}

var rubis = Options{Items: 3000, Bids: 10, Skew: 1, Rush: 0.1, Length: 0.5, Seed: 4}

func TestBidsComeInOrderWhileTheAuctionIsOpen(t *testing.T) {
	s, err := New(rubis)
	require.NoError(t, err)
	require.Len(t, s.Bids, 30_000)
	require.True(t, slices.IsSortedFunc(s.Bids, func(a, b Bid) int {
		if a.At < b.At {
			return -1
		}
		return 1
	}))
	for _, b := range s.Bids {
		end := s.Ends[b.Item]
		require.True(t, b.At >= 0 && b.At <= end && b.At >= end-rubis.Length)
	}
	require.Len(t, s.Closing, rubis.Items)
	require.True(t, slices.IsSortedFunc(s.Closing, func(a, b uint32) int {
		if s.Ends[a] <= s.Ends[b] {
			return -1
		}
		return 1
	}))
}

func TestBidsPerItemFollowZipf(t *testing.T) {
	s, err := New(rubis)
	require.NoError(t, err)
	p, err := zipf.NewPicker(zipf.Options{Keys: uint64(rubis.Items), Skew: rubis.Skew, Shuffle: true, Seed: rubis.Seed})
	require.NoError(t, err)
	counts, law := make([]uint64, rubis.Items), make([]float64, rubis.Items)
	sum := 0.0
	for i := range law {
		law[i] = 1 / float64(i+1)
		sum += law[i]
	}
	for i := range law {
		law[i] /= sum
	}
	for _, b := range s.Bids {
		counts[p.Rank(uint64(b.Item), 0)]++
	}
	statistic, limit := lawtest.ChiSquare(counts, law)
	require.Less(t, statistic, limit)
}

// Half of the bids of an auction come in the last Rush*ln 2 of it.
func TestTheEndIsARush(t *testing.T) {
	s, err := New(rubis)
	require.NoError(t, err)
	late, all := 0, 0
	for _, b := range s.Bids {
		if s.Ends[b.Item] < rubis.Length {
			continue // it began before the season
		}
		all++
		if s.Ends[b.Item]-b.At < rubis.Length*rubis.Rush*math.Ln2 {
			late++
		}
	}
	require.InDelta(t, 0.5, float64(late)/float64(all), 0.02)
}

func TestASeedGivesOneSeason(t *testing.T) {
	a, err := New(rubis)
	require.NoError(t, err)
	b, err := New(rubis)
	require.NoError(t, err)
	require.Equal(t, a, b)
	o := rubis
	o.Seed++
	c, err := New(o)
	require.NoError(t, err)
	require.NotEqual(t, a.Bids, c.Bids)
}

func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	for name, change := range map[string]func(o *Options){
		"no items":          func(o *Options) { o.Items = 0 },
		"no bids":           func(o *Options) { o.Bids = 0 },
		"bids not a number": func(o *Options) { o.Bids = math.NaN() },
		"too many bids":     func(o *Options) { o.Bids = 1e9 },
		"no rush":           func(o *Options) { o.Rush = 0 },
		"endless rush":      func(o *Options) { o.Rush = math.Inf(1) },
		"endless auctions":  func(o *Options) { o.Length = 1 },
		"a negative skew":   func(o *Options) { o.Skew = -1 },
	} {
		o := rubis
		change(&o)
		_, err := New(o)
		require.Error(t, err, name)
	}
}
