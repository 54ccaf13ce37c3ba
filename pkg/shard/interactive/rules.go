package interactive

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// holdsGrant reports whether a grant of an incarnation has been held without interruption. Locks of earlier
// incarnations are lost, except those of prepared rows.
func (r *Requests) holdsGrant(txn kv.TxnRef, inc kv.Incarnation, g *msg.Grant) bool {
	isCurrent := inc == r.Inc || r.Mutants.Has(mutant.GrantByHolding)
	return isCurrent && r.Locks.Holds(txn, grantOf(g)) || r.Mutants.Has(mutant.NoGrantCheck)
}

// withholdsLocks reports whether no lock is granted now. Otherwise: transactions acquire locks up to the transfer, and
// all of these abort, since the next leader does not know their locks.
func (r *Requests) withholdsLocks() bool {
	return r.transferring && !r.Mutants.Has(mutant.LocksGrantedBeforeTransfer)
}

// passes reports whether a locking reader has held its grants until now.
func (r *Requests) passes(c *msg.Check) bool {
	return r.HoldsGrants(c.Txn, c.Incarnation, c.Grants) || r.Mutants.Has(mutant.CheckSkipped)
}
