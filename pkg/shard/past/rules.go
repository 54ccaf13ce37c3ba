package past

// The rules that tests break, each with its mutant.

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/entry"
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

// closed returns the closed CSN of a replica: all versions up to it are there.
func (r *ReplicaReader) closed() (kv.CSN, error) {
	if r.Mutants.Has(mutant.ReplicaReadsUnclosed) {
		return math.MaxUint64, nil
	}
	var row entry.Replica
	_, err := r.row(entry.TableReplica, &row)
	return row.CSN, err
}

// isRetained reports whether everything that is visible at a CSN is there, up to the closed CSN. Without the row, the
// replica has received nothing from a leader.
func (r *ReplicaReader) isRetained(at kv.CSN) (bool, error) {
	var row entry.Retention
	found, err := r.row(entry.TableRetention, &row)
	return found && row.Has(at) || r.Mutants.Has(mutant.ReplicaReadsAnyState), err
}
