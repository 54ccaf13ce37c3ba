package shard

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
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

// said is what a participant speaks of: a commit, by what it names.
type said struct {
	txn     kv.TxnRef
	gateway kv.NodeID
	user    kv.Account
	named   kv.Known
	by      kv.ShardID
}

func saidBy(v *msg.Vote) said {
	return said{txn: v.Txn, gateway: v.Gateway, user: v.User, named: v.Known(), by: v.Shard}
}

// standingOf judges what a participant says.
func (m *Machine) standingOf(x said) (*record.Record, standing) {
	rec := m.recs.Get(x.txn)
	switch {
	case rec != nil && !rec.Known.Names(x.named):
		m.tellOne(x, false) // of another commit of the attempt, which there will be none of
		return rec, answered
	case rec != nil && rec.State == record.Committed:
		m.tellOne(x, true)
		return rec, answered
	case x.named.Incarnation != m.inc && !m.cfg.Mutants.Has(mutant.IncarnationIgnored):
		m.tellOne(x, false)
		return rec, answered
	case rec != nil:
		return rec, recorded
	case m.decidedElsewhere(x.txn):
		m.refuseToDecide(x.user, x.txn, x.named)
		m.tellOne(x, false)
		return nil, answered
	case m.closedCommit(x.txn, x.user, x.named) != nil || m.memory.Finished(x.txn.TxnID).Committed != 0:
		m.tellOne(x, false)
		return nil, answered
	case m.memory.Complete(x.txn.TxnID):
		return nil, unheard
	}
	return nil, unsure
}

// tellAborts tells all gateways how many attempts have been aborted, so that what they
// send is not taken for a message that was sent long ago. They hear it in answers too,
// but some of them may have had none.
func (m *Machine) tellAborts() {
	made := m.memory.Aborts()
	if made-m.toldAborts < uint64(max(m.cfg.Memory/8, 1)) || m.cfg.Nodes == 0 {
		return
	}
	m.toldAborts = made
	for n := range m.cfg.Nodes {
		env := msg.ToGateway(kv.NodeID(n + 1))
		env.Announce = &msg.Announce{Shard: m.cfg.ID, Incarnation: m.inc, Aborts: made}
		m.send(env)
	}
}

// tellOne answers a participant.
func (m *Machine) tellOne(x said, commit bool) {
	m.tellAll(x.txn, x.named, []kv.ShardID{x.by}, commit)
}

// standingInLog asks the log. If there is a commit the message is a late
// duplicate, and answered; again is called if something was heard meanwhile,
// and first if nothing ever was.
func (m *Machine) standingInLog(x said, again, first func()) {
	m.lookUp(x.txn.TxnID, func(o *entry.Outcome, err error) {
		switch {
		case err != nil: // who needs the answer asks again
		case m.recs.Get(x.txn) != nil:
			again()
		case o.Committed != 0 || m.closedCommit(x.txn, x.user, x.named) != nil:
			m.tellOne(x, false) // who was to hear of a commit has acknowledged it
		case m.decidedElsewhere(x.txn):
			m.refuseToDecide(x.user, x.txn, x.named)
			m.tellOne(x, false)
		default:
			first()
		}
	})
}
