package mvcc

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// valueForCall returns the value that a call sees, which includes the piece's own calls before it.
func (x *execution) valueForCall(c *Calls, key []byte) (entry.Value, *msg.Failure) {
	if c.Mutants.Has(mutant.OwnCallsUnseen) {
		return x.visibleValue(key)
	}
	return x.value(key)
}

// planOf returns the plan of the current operation, nil if there is none. It may rely on the piece's own calls.
func (x *execution) planOf(c *Calls) *callPlan {
	p := c.Plans.at(x.opIndex)
	if p != nil && p.after >= 0 && c.Mutants.Has(mutant.OwnCallsUnseen) {
		return nil
	}
	return p
}

// hasDeadline reports whether a value has the deadline that was found to have passed. Otherwise it was written since,
// and must stay.
func (x *execution) hasDeadline(v *entry.Value, deadline int64) bool {
	c := x.view.Calls()
	return v.Expires == deadline || c != nil && c.Mutants.Has(mutant.ExpiryUnchecked)
}
