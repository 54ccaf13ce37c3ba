package expiry

// The rules that tests break, each with its mutant.

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// isDue reports whether a key is to be deleted now.
func (d *Deadlines) isDue(due int64) bool {
	if d.env.Mutants.Has(mutant.ExpiresEarly) {
		due -= int64(50 * time.Millisecond)
	}
	return d.env.Now >= due
}

// hasNoRow reports whether an effect with this deadline needs no row in the deadline table.
func (d *Deadlines) hasNoRow(expires int64, e *entry.Effect) bool {
	return expires == 0 || e.Kind == entry.EffectMoveIn && d.env.Mutants.Has(mutant.DeadlineLostAtMove)
}
