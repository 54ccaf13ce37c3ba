package admission

// The rules that tests break, each with its mutant.

import "github.com/linchpindb/linchpin/pkg/mutant"

// countOf is the number of transactions that use a key: not of those that use its bucket, which other keys share.
func (p *Slots) countOf(k *watchedKey) int {
	switch {
	case p.opt.Mutants.Has(mutant.CollisionRejects):
		return int(p.buckets[k.bucket].n)
	case p.opt.Mutants.Has(mutant.KeysUnlimited):
		return 0
	}
	return k.n
}

// occupies reports whether a ticket has slots, which are free again when its transaction ends.
func (p *Slots) occupies(t *Ticket) bool { return t.held && !p.opt.Mutants.Has(mutant.SlotNotReleased) }
