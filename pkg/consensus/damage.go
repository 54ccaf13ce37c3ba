package consensus

import (
	"encoding/binary"
	"slices"
)

// A replica is unfit if its log or its rows cannot be relied on: an entry or a block is damaged (R6.13, R6.15), or its
// rows differ from those of a majority (R6.14). It applies nothing any more and does not campaign, and it transfers
// leadership if it leads. It still acknowledges entries and votes: what it writes is verified. It is replaced as if its
// disk had failed.
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
		r.Causes.Lost = IsUnfit
	}
}

// leaveDisk has leadership transferred if the leader's writes are late (R10.9), or its disk is nearly full. It goes to
// the voter that has the most of the log, and all that is late here.
func (d Damage) leaveDisk() {
	r := d.r
	isPaused := r.now < r.rules.pause(r.Disk.pausedUntil) && !r.Disk.low
	if !r.rules.leaves(&r.Disk) || isPaused || r.LeaseEnd(r.now) == 0 {
		return
	}
	late := r.Disk.lateUpTo(r.now)
	if late == 0 && !r.Disk.low {
		return
	}
	if to := r.Changes().successor(late, r.now-int64(r.cfg.Hold)/2); to != 0 {
		r.ready.Transfer = to
		r.Disk.pause(r.now)
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

// A leader appends a check from time to time. Each replica computes a checksum of its rows as of exactly that position,
// in the background, and repeats it in its responses to the leader that it follows: nothing is lost with a message or
// a leader (R6.14).
//
//	leader                    A                       B
//	  |--append(check at 7)-->|--------------------->|
//	  | Apply up to 7, Check  | Apply up to 7, Check | Apply up to 7, Check
//	  | sum 5e                |                      |
//	  |<----response, 7: 5e---|                      |   a majority agrees on 5e
//	  |<----response, 7: 91--------------------------|   B is unfit
//
// The leader compares sums of the same position only. If the voters that can report one have done so, they differ, and
// no majority agrees, it is unknown which rows are right: the shard stops, durably.

// audit is the last check of a replica, and what it knows of others as the leader of a term.
type audit struct {
	own rowSum
	// next is when the leader begins the next check. sums are the last ones of the replicas, declared are those that
	// it has declared unfit. stopped: it has stopped the shard.
	next     int64
	sums     map[ReplicaID]rowSum
	declared map[ReplicaID]bool
	stopped  bool
	// reported: Ready has returned Stopped.
	reported bool
}

// rowSum is the checksum of the rows of a replica at the position of a check, zero without one.
type rowSum struct {
	at  Position
	sum uint64
}

// beginTerm is called when the replica becomes a leader, or is none any more. The first check comes at a random time
// within the interval, so that those of many groups do not coincide.
func (d Damage) beginTerm() {
	r := d.r
	a := audit{own: r.audit.own, reported: r.audit.reported, declared: map[ReplicaID]bool{}, sums: map[ReplicaID]rowSum{}}
	if a.own.at != 0 {
		a.sums[r.cfg.ID] = a.own
	}
	if r.cfg.CheckEvery > 0 {
		a.next = r.now + r.cfg.Rand(int64(r.cfg.CheckEvery))
	}
	r.audit = a
}

// beginCheck appends a check if it is time. While the configuration is joint, it waits: there is no majority to
// compare with.
func (d Damage) beginCheck() {
	r := d.r
	if r.cfg.CheckEvery == 0 || r.now < r.audit.next || r.Leads() == 0 || r.hasGivenUp() || r.handed.IsJoint() {
		return
	}
	if _, err := r.propose(checked, nil); err == nil {
		r.audit.next = r.now + int64(r.cfg.CheckEvery)
	}
}

// Checked reports the checksum of the rows as of the position of an Apply with Check.
func (d Damage) Checked(now int64, at Position, checksum uint64) {
	d.r.now = now
	d.r.audit.own = rowSum{at: at, sum: checksum}
	if d.r.isLeader() {
		d.addSum(d.r.cfg.ID, d.r.audit.own)
	}
}

// addSum takes over the last checksum of a replica.
func (d Damage) addSum(id ReplicaID, s rowSum) {
	r := d.r
	if s.at == 0 || r.audit.sums[id] == s || r.Leads() == 0 || r.hasGivenUp() || r.handed.IsJoint() {
		return
	}
	r.audit.sums[id] = s
	agreed, majority, undecided := d.compare(s.at)
	switch {
	case majority:
		d.declareDiffering(s.at, agreed)
	case undecided && r.rules.stopsUndecided():
		d.stop()
	}
}

// compare returns the checksum on which most voters agree at a position, whether these are a majority, and whether
// voters differ of which none can become one, by voters that have not reported theirs. Those that are unfit never do.
func (d Damage) compare(at Position) (agreed uint64, majority, undecided bool) {
	r := d.r
	counts, most, open := map[uint64]int{}, 0, 0
	voters := r.handed.Conf.Voters
	for _, v := range voters {
		id := ReplicaID(v)
		s := r.audit.sums[id]
		if !r.rules.isComparable(s, at) {
			if d.isFit(id) {
				open++
			}
			continue
		}
		counts[s.sum]++
		if counts[s.sum] > most {
			agreed, most = s.sum, counts[s.sum]
		}
	}
	return agreed, 2*most > len(voters), len(counts) > 1 && 2*(most+open) <= len(voters)
}

// declareDiffering declares the replicas unfit whose checksum at a position is not the one that a majority has. The
// leader may be one of them.
func (d Damage) declareDiffering(at Position, agreed uint64) {
	r := d.r
	if !r.rules.declaresDiffering() {
		return
	}
	for id := range r.handed.next() {
		s := r.audit.sums[id]
		if r.rules.isComparable(s, at) && s.sum != agreed {
			d.declareUnfit(id)
		}
	}
	if s := r.audit.sums[r.cfg.ID]; r.rules.isComparable(s, at) && s.sum != agreed {
		d.onDamage()
		d.resign()
	}
}

// stop appends the entry that stops the shard. The leader takes no step any more.
func (d Damage) stop() {
	if _, err := d.r.propose(stopped, nil); err == nil {
		d.r.audit.stopped = true
	}
}
