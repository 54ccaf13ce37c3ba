package contention

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// initMoved restores the moved keys; their values here are unreachable without them.
func (p *Part) initMoved(rows []MovedRow) {
	p.moved.keys = make(map[string]entry.Moved, len(rows))
	for _, r := range rows {
		if p.env.Mutants.Has(mutant.MovedKeysForgotten) {
			break
		}
		p.moved.keys[string(r.Key)] = r.Moved
	}
}

// isMoveTombstone reports whether an item, which may be nil, has the move tombstone of its key.
func (p *Part) isMoveTombstone(it *mvcc.Item) bool {
	return it != nil && it.Value.Type == entry.TypeMoved && !p.env.Mutants.Has(mutant.MoveTombstoneIgnored)
}
