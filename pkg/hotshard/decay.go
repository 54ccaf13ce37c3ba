package hotshard

import (
	"math"
	"time"
)

// decay makes what is older count less. It is forward (Cormode, Shkapenyuk,
// Srivastava, Xu: Forward decay, 2009): a weight is scaled up by
// 2^(time since an origin/half) when it comes and never touched again, so
// weights only rise between two moves of the origin. That leaves the order of
// the entries alone while time passes, and is O(log entries) for a weight. The
// origin moves by whole half-lives, every 64 of them, which scales all weights
// by a power of two and rounds nothing.
type decay struct {
	half uint64

	now    int64
	begun  bool
	origin int64
	// scale is 2^((scaledAt-origin)/half).
	scale    float64
	scaledAt int64
}

// advance takes note of the time, and returns the newest.
func (d *decay) advance(now int64) int64 {
	if !d.begun {
		d.begun, d.now, d.origin, d.scaledAt, d.scale = true, now, now, now, 1
	}
	d.now = max(d.now, now)
	return d.now
}

// maxHalfLives is how far the origin stays behind. A scale of 2^64, weights of
// 2^63, and as many of them as there will ever be, are far from the end of
// float64.
const maxHalfLives = 64

// behind is by how many half-lives the origin is to be moved, mostly by none.
func (d *decay) behind() uint64 {
	if n := (uint64(d.now) - uint64(d.origin)) / d.half; n >= maxHalfLives {
		return n
	}
	return 0
}

// shift moves the origin. All weights are to be scaled down as much.
func (d *decay) shift(halfLives uint64) { d.origin = int64(uint64(d.origin) + halfLives*d.half) }

// age is a time in half-lives since the origin.
func (d *decay) age(now int64) float64 {
	return float64(uint64(now)-uint64(d.origin)) / float64(d.half)
}

// rate is by what a weight is to be multiplied for what comes in a second: a
// steady rate adds up to rate*half/ln 2 under the decay.
func (d *decay) rate(now int64) float64 {
	return math.Exp2(-d.age(max(now, d.now))) * math.Ln2 * float64(time.Second) / float64(d.half)
}
