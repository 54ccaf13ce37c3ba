package locktable

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// isCompatible reports whether two modes of different transactions can be held on one span. It equals
// adt.Compatible, except under a mutant.
func (t *rules) isCompatible(a, b adt.Mode) bool {
	return adt.Compatible(a, b) ||
		t.opt.Mutants.Has(mutant.SizeWithAdd) && areKinds(a, b, "set.all", "set.add") ||
		t.opt.Mutants.Has(mutant.ContainsWithRemove) && areKinds(a, b, "set.present", "set.remove") ||
		t.opt.Mutants.Has(mutant.PartsIgnored) && differsOnlyByPart(a, b)
}

// areKinds reports whether two modes are of the kinds x and y, in either order.
func areKinds(a, b adt.Mode, x, y string) bool {
	return a.KindName() == x && b.KindName() == y || a.KindName() == y && b.KindName() == x
}

// differsOnlyByPart reports whether two modes are compatible if they concern different parts of a value.
func differsOnlyByPart(a, b adt.Mode) bool {
	x, typed := a.Type()
	y, too := b.Type()
	return typed && too && x == y && a.Valid() && b.Valid() && adt.Lookup(x).Relation(a.Kind(), b.Kind()) == adt.OtherPart
}

// evadesRange reports whether a mutant exempts a need from range locks: a need of an absent key, or of a call
// of a data type.
func (t *rules) evadesRange(r *Request, n *Need) bool {
	_, typed := n.Mode.Type()
	return t.opt.Mutants.Has(mutant.RangeLocksPresentOnly) && r.Absent != nil && r.Absent(n.Span.Start) ||
		t.opt.Mutants.Has(mutant.TypedPastRange) && typed
}
