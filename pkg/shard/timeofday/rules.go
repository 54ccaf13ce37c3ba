package timeofday

// The rules that tests break, each with its mutant.

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// isTrusted: the time of day at the start is used without a settle time.
func (c *Clock) isTrusted() bool {
	return c.cfg.Trusted || c.env.Mutants.Has(mutant.StartClockTrusted)
}

// Reliable reports whether a clock of an earlier incarnation was proven.
func (c *Clock) Reliable(id uint64) bool {
	return !slices.Contains(c.unproven, id) || c.env.Mutants.Has(mutant.StartClockTrusted)
}
