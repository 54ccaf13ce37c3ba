package shard

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/record"
)

// standing is what this shard, as the last agent, can say to a participant that
// speaks of a transaction.
type standing uint8

const (
	// answered: it is decided, or can never be, and the participant was told.
	answered standing = iota
	// recorded: there is a record of it.
	recorded
	// unheard: nothing was heard of it so far.
	unheard
	// unsure: memory may have forgotten a commit that all participants have
	// acknowledged; the log has to be asked.
	unsure
)

// standingOf judges what a participant says of a transaction, for the life of
// this shard that it names.
func (m *Machine) standingOf(txn kv.TxnRef, life kv.Incarnation, participant kv.ShardID) (*record.Record, standing) {
	rec := m.recs.Get(txn)
	switch {
	case rec != nil && rec.State == record.Committed:
		m.tellAll(txn, []kv.ShardID{participant}, true)
		return rec, answered
	case life != m.inc && !m.cfg.Mutants.Has(mutant.IncarnationIgnored):
		m.tellAll(txn, []kv.ShardID{participant}, false)
		return rec, answered
	case rec != nil:
		return rec, recorded
	case m.closedRecord(txn) != nil || m.memory.Finished(txn.TxnID).Committed != 0:
		m.tellAll(txn, []kv.ShardID{participant}, false)
		return nil, answered
	case m.memory.Complete(txn.TxnID):
		return nil, unheard
	}
	return nil, unsure
}

// standingInLog asks the log. If there is a commit the message is a late
// duplicate, and answered; again is called if something was heard meanwhile,
// and first if nothing ever was.
func (m *Machine) standingInLog(txn kv.TxnRef, participant kv.ShardID, again, first func()) {
	m.lookUp(txn.TxnID, func(o *entry.Outcome, err error) {
		switch {
		case err != nil: // who needs the answer asks again
		case m.recs.Get(txn) != nil:
			again()
		case o.Committed != 0 || m.closedRecord(txn) != nil:
			m.tellAll(txn, []kv.ShardID{participant}, o.Committed == txn.Attempt)
		default:
			first()
		}
	})
}
