package locktable

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// compatible is adt.Compatible, unless a mutant breaks it.
func (t *Table) compatible(a, b adt.Mode) bool {
	return adt.Compatible(a, b) ||
		t.opt.Mutants.Has(mutant.SizeWithAdd) && are(a, b, "set.all", "set.add") ||
		t.opt.Mutants.Has(mutant.ContainsWithRemove) && are(a, b, "set.present", "set.remove") ||
		t.opt.Mutants.Has(mutant.PartsIgnored) && otherwiseApart(a, b)
}

// are reports whether two modes are of two kinds, either way round.
func are(a, b adt.Mode, x, y string) bool {
	return a.KindName() == x && b.KindName() == y || a.KindName() == y && b.KindName() == x
}

// otherwiseApart reports whether two modes would go together if they were about
// different parts.
func otherwiseApart(a, b adt.Mode) bool {
	x, typed := a.Type()
	y, too := b.Type()
	return typed && too && x == y && a.Valid() && b.Valid() && adt.Lookup(x).Relation(a.Kind(), b.Kind()) == adt.OtherPart
}

// slipsPast is for mutants: a range lock protects only keys that exist, or does
// not stop calls of data types.
func (t *Table) slipsPast(r *Request, n *Need) bool {
	_, typed := n.Mode.Type()
	return t.opt.Mutants.Has(mutant.RangeLocksPresentOnly) && r.Absent != nil && r.Absent(n.Span.Start) ||
		t.opt.Mutants.Has(mutant.TypedPastRange) && typed
}
