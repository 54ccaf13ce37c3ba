package replication

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// rules are those that tests break on purpose, to show that they find it.
type rules struct{ broken mutant.Set }

// mayLeave returns up to which position messages may leave: what is committed (R2.1).
func (u rules) mayLeave(committed consensus.Position) consensus.Position {
	if u.broken.Has(mutant.SendBeforeCommit) {
		return math.MaxUint64
	}
	return committed
}

// mayRead returns up to which position reads may start: what is applied (R2.4).
func (u rules) mayRead(applied consensus.Position) consensus.Position {
	if u.broken.Has(mutant.ReadBeforeApplied) {
		return math.MaxUint64
	}
	return applied
}
