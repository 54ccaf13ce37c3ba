package adt

import "github.com/linchpindb/linchpin/pkg/kv"

// Need is a mode on a span: a lock that an operation needs, or an access that the snapshot-queues compare
// with others.
//
// Example: put a, scan [c, f) and add to n need {a, write}, {[c, f), read} and {n, add}.
type Need struct {
	Span kv.Span
	Mode Mode
	// Methods and Short are only reported in receipts; no decision depends on them. Short is the shortage of a
	// bounded counter (Plan) that makes this mode necessary, nil if there is none.
	Methods Methods
	Short   *Shortage
}

// Commutes reports whether two accesses are independent.
func (n *Need) Commutes(o *Need) bool {
	return Compatible(n.Mode, o.Mode) || !n.Span.Overlaps(o.Span)
}

// Join merges another need of the same span into n, if one mode can represent both. It reports whether it
// has.
func (n *Need) Join(o *Need) bool {
	mode, ok := Join(n.Mode, o.Mode)
	if ok {
		n.Mode, n.Methods = mode, n.Methods.With(o.Methods)
		if n.Short == nil {
			n.Short = o.Short
		}
	}
	return ok
}
