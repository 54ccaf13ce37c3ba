package zipf

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// MaxKeys bounds the number of keys. The sampler is tested up to it; beyond
// 2^53 ranks would no longer be exact in a float64.
const MaxKeys = 1_000_000_000

// Sampler draws ranks from 0 (the most frequent) to n-1. It is a few numbers
// that never change, so many goroutines may share one, each with a source of
// its own.
type Sampler struct {
	n    uint64
	skew float64
	// hFirst and hLast bound the range of H that u is drawn from. hFirst is
	// H(3/2) - h(1): the piece of rank 1 is cut to the size it needs.
	hFirst, hLast float64
	// squeeze: a k with k-x at most this is accepted without looking further.
	squeeze float64
}

// NewSampler makes a sampler for n keys, 1 to MaxKeys, and any finite
// skew >= 0. It takes constant time.
func NewSampler(n uint64, skew float64) (*Sampler, error) {
	if n < 1 || n > MaxKeys {
		return nil, fmt.Errorf("zipf: %d keys, want 1 to %d", n, MaxKeys)
	}
	if math.IsNaN(skew) || math.IsInf(skew, 0) || skew < 0 {
		return nil, fmt.Errorf("zipf: skew %v, want a finite number, 0 or more", skew)
	}
	z := &Sampler{n: n, skew: skew}
	z.hFirst = z.integral(1.5) - 1
	z.hLast = z.integral(float64(n) + 0.5)
	z.squeeze = 2 - z.inverse(z.integral(2.5)-z.density(2))
	return z, nil
}

// N is the number of keys.
func (z *Sampler) N() uint64 { return z.n }

// Skew is the exponent s.
func (z *Sampler) Skew() float64 { return z.skew }

// Rank draws a rank, from 0 to N()-1.
func (z *Sampler) Rank(r *rand.Rand) uint64 {
	if z.skew == 0 {
		return r.Uint64N(z.n)
	}
	for {
		if k, ok := z.try(r.Float64()); ok {
			return k - 1
		}
	}
}

// try makes one attempt from a number in [0, 1). The rank it gives counts
// from 1, as in the paper.
func (z *Sampler) try(uniform float64) (k uint64, ok bool) {
	u := z.hLast + uniform*(z.hFirst-z.hLast)
	x := z.inverse(u)
	// Rounding may leave [1, n] by a hair, and by far at a skew in the
	// thousands, where x overflows; so bound x before it becomes an integer.
	switch {
	case !(x >= 1):
		k = 1
	case x >= float64(z.n):
		k = z.n
	default:
		k = uint64(x + 0.5)
	}
	f := float64(k)
	return k, f-x <= z.squeeze || u >= z.integral(f+0.5)-z.density(f)
}

// density is h(x) = x^-s.
func (z *Sampler) density(x float64) float64 {
	return math.Exp(-z.skew * math.Log(x))
}

// integral is H(x) = (x^(1-s) - 1) / (1-s), which is log x at s = 1.
func (z *Sampler) integral(x float64) float64 {
	l := math.Log(x)
	return expm1Over((1-z.skew)*l) * l
}

// inverse is H^-1(u) = (1 + u(1-s))^(1/(1-s)), which is exp u at s = 1.
func (z *Sampler) inverse(u float64) float64 {
	// Below -1 only by rounding.
	t := max(u*(1-z.skew), -1)
	return math.Exp(log1pOver(t) * u)
}

// smallArgument is where the series below take over: the first term left out
// is then far below the last bit.
const smallArgument = 1e-5

// log1pOver is log(1+x)/x, and 1 at 0.
func log1pOver(x float64) float64 {
	if math.Abs(x) > smallArgument {
		return math.Log1p(x) / x
	}
	return 1 - x*(1./2-x*(1./3-x*(1./4)))
}

// expm1Over is (exp(x)-1)/x, and 1 at 0.
func expm1Over(x float64) float64 {
	if math.Abs(x) > smallArgument {
		return math.Expm1(x) / x
	}
	return 1 + x*(1./2)*(1+x*(1./3)*(1+x*(1./4)))
}
