package paged

import (
	"github.com/linchpindb/linchpin/pkg/adt/tree"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// withBuffered returns an unchanged page with the changes that are buffered for it: while it is absent, they are
// nowhere else. A planted fault loses them.
func (s *storer[K, V]) withBuffered(p *page[K, V]) *page[K, V] {
	if s.Mutants.Has(mutant.BufferedChangesDropped) && !p.open {
		return &page[K, V]{stub: p.stub, n: p.stub.n, bytes: p.stub.bytes, buffered: tree.New(s.form.buffers)}
	}
	return p
}
