package consensus

import (
	"encoding/binary"
	"slices"
)

// A replica is unfit if its log or its rows cannot be relied on: an entry or a block is damaged (R6.13, R6.15), or its
// rows differ from those of a majority (check.go). It applies nothing any more and does not campaign, and it transfers leadership if it leads. It still acknowledges
// entries and votes: what it writes is verified. It is replaced as if its disk had failed.
//
//	unfit replica                leader                      others
//	  |---response, Unfit--------->|                            |
//	  |                            |---append(unfit: replica)-->|
//	  |                            |---AddLearner, Swap ... --->| State.Unfit
//
// The entry is for later leaders, and for the replica itself after a restart: rows that differ look as good as others.

// isUnfit reports whether a replica is to be replaced.
func (s *State) isUnfit(id ReplicaID) bool { return slices.Contains(s.Unfit, id) }

// addUnfit records that a replica is to be replaced.
func (s *State) addUnfit(id ReplicaID) {
	if s.IsMember(id) && !s.isUnfit(id) {
		s.Unfit = append(slices.Clone(s.Unfit), id)
	}
}

// Damage is what makes replicas unfit.
type Damage struct{ r *Replica }

// Damage returns what concerns damage.
func (r *Replica) Damage() Damage { return Damage{r} }

// SetUnfit declares this replica unfit, as a block of its rows cannot be read (R6.15). A leader transfers leadership,
// and the caller drops its machine, with the request that needed the block: its client queries the next leader. It
// reports false, and does nothing, if no other voter is known to be fit: then the request fails, as with one replica.
func (d Damage) SetUnfit(now int64) bool {
	r := d.r
	r.now = now
	if !r.unfit && !d.hasFitVoter() {
		return false
	}
	if !r.unfit {
		r.unfit, r.ready.Unfit = true, true
		d.resign()
	}
	return true
}

// hasFitVoter reports whether a voter other than this replica is fit, as far as this one knows.
func (d Damage) hasFitVoter() bool {
	return slices.ContainsFunc(d.r.handed.Conf.Voters, func(id uint64) bool {
		return ReplicaID(id) != d.r.cfg.ID && d.isFit(ReplicaID(id))
	})
}

func (d Damage) isFit(id ReplicaID) bool { return !d.r.handed.isUnfit(id) && !d.r.audit.declared[id] }

// resign ends the leadership of an unfit replica, if it leads: by a transfer, or otherwise by stepping down.
func (d Damage) resign() {
	r := d.r
	if !r.isLeader() || r.transfer.entry != 0 || !d.isBarred() {
		return
	}
	d.declareUnfit(r.cfg.ID)
	if r.Transfer(r.now, r.Changes().Successor(), RegisteredUnknown) != nil {
		r.StepDown(r.now, r.term+1)
	}
}

// declareUnfit appends the entry that declares a replica unfit, once in a term.
func (d Damage) declareUnfit(id ReplicaID) {
	r := d.r
	if r.Leads() == 0 || r.transfer.entry != 0 || !d.isFit(id) || !r.handed.IsMember(id) {
		return
	}
	if _, err := r.propose(declared, binary.AppendUvarint(nil, uint64(id))); err == nil {
		r.audit.declared[id] = true
	}
}

// applyDeclared applies an entry that declares a replica unfit.
func (r *applier) applyDeclared(data []byte) {
	id, _ := binary.Uvarint(data)
	r.handed.addUnfit(ReplicaID(id))
}

// onState is called when the state has changed, and at the start.
func (d Damage) onState() {
	r := d.r
	if r.handed.isUnfit(r.cfg.ID) {
		d.onDamage()
	}
	if r.handed.Stopped && !r.audit.reported {
		r.audit.reported, r.ready.Stopped, r.begun = true, true, 0
	}
}

// onDamage is called when a committed entry is damaged, or says that this replica is unfit. A leader resigns with the
// next Tick.
func (d Damage) onDamage() {
	d.r.ready.Unfit = d.r.ready.Unfit || !d.r.unfit
	d.r.unfit = true
}

// onReport takes over what a response says of its sender.
func (d Damage) onReport(m *Message) {
	if m.Unfit && d.r.rules.declaresUnfit() {
		d.declareUnfit(m.From)
	}
	d.addSum(m.From, rowSum{at: m.Checked, sum: m.Sum})
}
