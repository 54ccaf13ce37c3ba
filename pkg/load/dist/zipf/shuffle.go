package zipf

import "math/bits"

// Shuffle is a bijection of [0, n) that looks random, kept in a few words.
//
// It is a Feistel network: the number is cut into two halves of equal width,
// and in each round one half is combined with a hash of the other, which can
// be undone whatever the hash is. That permutes [0, 4^w) for a half width of
// w bits, the least power of four not below n. Numbers that come out at or
// above n are sent through again until they fall below ("cycle walking"). A
// cycle that starts below n must come back below n, so this ends, and following
// the cycle to its next member below n is again a bijection. As 4^w is less
// than 4n, a draw takes fewer than four passes on average.
//
// It scatters keys; it is no cipher.
type Shuffle struct {
	n    uint64
	half uint
	keys [feistelRounds]uint64
}

// feistelRounds: four rounds make a permutation that is hard to distinguish from a
// random one when the halves are wide; ours are narrow for few keys, so two
// more, at a nanosecond each.
const feistelRounds = 6

// NewShuffle makes the bijection of [0, n) that seed names, for n from 1 to
// MaxKeys.
func NewShuffle(n, seed uint64) *Shuffle {
	s := &Shuffle{n: n, half: uint(bits.Len64(n-1)+1) / 2}
	for i := range s.keys {
		// Weyl steps through mix64: the SplitMix64 generator.
		seed += 0x9e3779b97f4a7c15
		s.keys[i] = mix64(seed)
	}
	return s
}

// Of gives the place of i, which must be below n.
func (s *Shuffle) Of(i uint64) uint64 {
	for {
		i = s.pass(i)
		if i < s.n {
			return i
		}
	}
}

// Inverse gives the i whose place is p, which must be below n.
func (s *Shuffle) Inverse(p uint64) uint64 {
	for {
		p = s.passBack(p)
		if p < s.n {
			return p
		}
	}
}

func (s *Shuffle) pass(i uint64) uint64 {
	mask := uint64(1)<<s.half - 1
	l, r := i>>s.half, i&mask
	for _, k := range s.keys {
		l, r = r, l^(mix64(r^k)&mask)
	}
	return l<<s.half | r
}

func (s *Shuffle) passBack(i uint64) uint64 {
	mask := uint64(1)<<s.half - 1
	l, r := i>>s.half, i&mask
	for j := len(s.keys) - 1; j >= 0; j-- {
		l, r = r^(mix64(l^s.keys[j])&mask), l
	}
	return l<<s.half | r
}

// mix64 is the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
func mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
