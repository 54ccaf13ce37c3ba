// Package geometric draws from a list whose first places are the likeliest:
// place k comes with probability p(1-p)^k. It is how people repost in Claret's
// Retwis (Holt 2016, section 4.5.3): mostly what is reposted most.
package geometric

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Law is a geometric distribution. It never changes and may be shared.
type Law struct{ logRest float64 }

// New makes the law whose first place has probability p, above 0 and up to 1.
func New(p float64) (Law, error) {
	if !(p > 0 && p <= 1) { // nor NaN
		return Law{}, fmt.Errorf("geometric: a first place with probability %v, want more than 0 and at most 1", p)
	}
	return Law{math.Log1p(-p)}, nil
}

// Draw gives a place, from 0.
func (l Law) Draw(r *rand.Rand) int {
	if math.IsInf(l.logRest, -1) {
		return 0
	}
	// 1-u is above 0. The place is the number of whole times that its
	// logarithm holds that of 1-p: P(place >= k) = P(1-u <= (1-p)^k) = (1-p)^k.
	place := math.Log(1-r.Float64()) / l.logRest
	return int(min(place, math.MaxInt32))
}

// Within draws a place below n, at least 1, by the same law cut off at n. The
// law goes on from every place as it began, so a remainder by n follows it.
func (l Law) Within(r *rand.Rand, n int) int { return l.Draw(r) % n }
