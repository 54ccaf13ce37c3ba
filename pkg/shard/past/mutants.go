package past

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/snapshot"
)

// verdict returns whether a snapshot can be read here.
func (x *Snapshots) verdict(number uint64, csn kv.CSN) snapshot.Verdict {
	if x.Mutants.Has(mutant.SnapshotUnchecked) {
		return snapshot.Readable
	}
	return x.known().Verdict(number, csn)
}

// isFixed reports whether the CSN of a read was fixed by its round in this incarnation and is retained, or may have
// been retained by an earlier leader.
func (r *Reads) isFixed(q *msg.Read) bool {
	return r.retains(q.Round, q.CSN, q.Incarnation) || r.Mutants.Has(mutant.StateOfAnyIncarnation)
}

// send sends a response when the log is durable. Otherwise: the shard crashes after the response, and the values in
// it have never existed.
func (p *read) send(m *msg.Envelope) {
	if !p.q.Round.IsZero() && p.r.Mutants.Has(mutant.StateReadBeforeDurable) {
		p.r.Urgent(m)
		return
	}
	p.r.Send(m)
}
