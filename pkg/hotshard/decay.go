package hotshard

import (
	"math"
	"time"
)

// decay gives older events less weight: exponential decay with half-life half. It is forward decay
// (Cormode, Shkapenyuk, Srivastava, Xu: Forward decay, 2009): a weight is scaled by 2^(time since an
// origin/half) when it is added, and does not change afterwards. The order of the entries therefore does
// not depend on the current time, and adding a weight is O(log entries).
//
// The origin moves by whole half-lives, once every 64 of them. That multiplies all weights by a power of
// two, which rounds nothing.
type decay struct {
	half uint64

	now    int64
	begun  bool
	origin int64
	// scale is 2^((scaledAt-origin)/half).
	scale    float64
	scaledAt int64
}

// advance raises the current time to now, and returns it. Times never go back.
func (d *decay) advance(now int64) int64 {
	if !d.begun {
		d.begun, d.now, d.origin, d.scaledAt, d.scale = true, now, now, now, 1
	}
	d.now = max(d.now, now)
	return d.now
}

// maxHalfLives bounds the distance between the origin and the current time. With a scale of 2^64, weights
// of 2^63 and any number of them, the sums stay far below the maximum of float64.
const maxHalfLives = 64

// overdueHalfLives returns by how many half-lives the origin must move. It is 0 in most calls.
func (d *decay) overdueHalfLives() uint64 {
	if n := (uint64(d.now) - uint64(d.origin)) / d.half; n >= maxHalfLives {
		return n
	}
	return 0
}

// moveOrigin moves the origin. The caller scales all weights down by 2^halfLives.
func (d *decay) moveOrigin(halfLives uint64) { d.origin = int64(uint64(d.origin) + halfLives*d.half) }

// age converts a time to half-lives since the origin.
func (d *decay) age(now int64) float64 {
	return float64(uint64(now)-uint64(d.origin)) / float64(d.half)
}

// perSecond is the factor from a weight to a rate per second: under the decay, a steady rate adds up to a
// weight of rate*half/ln 2.
func (d *decay) perSecond(now int64) float64 {
	return math.Exp2(-d.age(max(now, d.now))) * math.Ln2 * float64(time.Second) / float64(d.half)
}
