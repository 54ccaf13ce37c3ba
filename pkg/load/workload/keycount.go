package workload

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// MaxReadKeys bounds the keys of a read-only transaction whose number is
// given by a KeyCount.
const MaxReadKeys = 256

// KeyCount is how many keys a transaction has: any number from Min to Max,
// each as likely as the others. The zero value is no number at all.
type KeyCount struct{ Min, Max int }

// ParseKeyCount reads a KeyCount: N, or MIN-MAX.
func ParseKeyCount(s string) (KeyCount, error) {
	low, high, ranged := strings.Cut(s, "-")
	if !ranged {
		high = low
	}
	from, err := strconv.Atoi(low)
	to, err2 := strconv.Atoi(high)
	c := KeyCount{from, to}
	if err != nil || err2 != nil || !c.valid() {
		return KeyCount{}, fmt.Errorf("%q is not a number of keys, want a number or a range, such as 10 or 2-16, from 1 "+
			"to %d", s, MaxReadKeys)
	}
	return c, nil
}

func (c KeyCount) valid() bool { return 1 <= c.Min && c.Min <= c.Max && c.Max <= MaxReadKeys }

// String is what ParseKeyCount reads; empty for the zero value.
func (c KeyCount) String() string {
	switch {
	case c == KeyCount{}:
		return ""
	case c.Min == c.Max:
		return strconv.Itoa(c.Min)
	}
	return fmt.Sprintf("%d-%d", c.Min, c.Max)
}

// draw chooses a number. One that is fixed takes nothing from r.
func (c KeyCount) draw(r *rand.Rand) int {
	if c.Min == c.Max {
		return c.Min
	}
	return c.Min + r.IntN(c.Max-c.Min+1)
}
