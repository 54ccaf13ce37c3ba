package zipf

import "math/rand/v2"

// Options choose a Picker.
type Options struct {
	// Keys is the number of keys, 1 to MaxKeys.
	Keys uint64
	// Skew is the exponent s, at least 0; 0 is uniform.
	Skew float64
	// Shuffle scatters the ranks over the keys. Without it the key number is
	// the rank: key 0 is the hottest, its neighbours come next.
	Shuffle bool
	// Seed names the scattering. Pickers with the same Seed agree on which
	// keys are hot, so all clients of a run share it.
	Seed uint64
}

// Picker draws key numbers. It holds no state that changes and may be shared;
// the source and the number of moves come with each draw.
type Picker struct {
	sampler *Sampler
	shuffle *Shuffle
	stride  uint64
}

// NewPicker makes a picker. It fails for options out of range.
func NewPicker(o Options) (*Picker, error) {
	s, err := NewSampler(o.Keys, o.Skew)
	if err != nil {
		return nil, err
	}
	p := &Picker{sampler: s, stride: stride(o.Keys)}
	if o.Shuffle {
		p.shuffle = NewShuffle(o.Keys, o.Seed)
	}
	return p, nil
}

// stride is how far one move carries the hot spot: the golden section of n.
// Its multiples modulo n stay far apart from all earlier ones for as long as
// possible, so a move ends on keys that were cold.
func stride(n uint64) uint64 {
	const goldenSection = 0.6180339887498949
	return max(uint64(float64(n)*goldenSection), 1)
}

// Pick draws a key number below Keys, with the hot spot moved moves times.
func (p *Picker) Pick(r *rand.Rand, moves uint64) uint64 {
	return p.At(p.sampler.Rank(r), moves)
}

// At gives the key that has a rank, which is below Keys, when the hot spot
// has moved moves times. For every number of moves it is a bijection.
func (p *Picker) At(rank, moves uint64) uint64 {
	n := p.sampler.n
	// Both factors are below 2^30, so nothing overflows.
	k := (rank + moves%n*p.stride) % n
	if p.shuffle != nil {
		k = p.shuffle.Of(k)
	}
	return k
}

// Rank is the inverse of At: the rank that a key has.
func (p *Picker) Rank(key, moves uint64) uint64 {
	n := p.sampler.n
	if p.shuffle != nil {
		key = p.shuffle.Inverse(key)
	}
	return (key + n - moves%n*p.stride%n) % n
}

// Keys is the number of keys.
func (p *Picker) Keys() uint64 { return p.sampler.n }
