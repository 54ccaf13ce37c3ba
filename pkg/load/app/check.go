package app

import (
	"errors"
	"fmt"
	"math"
)

// check collects what is wrong with options.
type check struct{ all []error }

func (c *check) bad(wrong bool, format string, args ...any) {
	if wrong {
		c.all = append(c.all, fmt.Errorf(format, args...))
	}
}

func (c *check) within(what string, n, low, high int) {
	c.bad(n < low || n > high, "%d %s, want %d to %d", n, what, low, high)
}

func (c *check) percent(what string, f float64) {
	c.bad(!(f >= 0 && f <= 100), "%v %% %s, want 0 to 100", f, what) // nor NaN
}

func (c *check) skew(f float64) {
	c.bad(!(f >= 0) || math.IsInf(f, 0), "skew %v, want a finite number, 0 or more", f)
}

func (c *check) err() error { return errors.Join(c.all...) }

// orDefault is n, or d if n is 0.
func orDefault[T int | float64](n, d T) T {
	if n == 0 {
		return d
	}
	return n
}
