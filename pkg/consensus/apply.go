package consensus

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// applier knows the state of the group after the entries that Ready has returned.
type applier struct {
	rules  rules
	raw    *raft.RawNode
	group  kv.ShardID
	handed State
	// applied is the last position that Applied has reported, applying how many Apply are not reported.
	applied  Position
	applying int
	// rest are committed entries behind a check, which are handed when it is.
	rest *raftpb.Message
	// unfit: this replica is to be replaced.
	unfit bool
}

// handApply turns committed entries into what the node applies, and the state after them. A check ends it.
func (r *Replica) handApply(m *raftpb.Message) {
	if r.rules.verifiesApplied() && !areWhole(m.Entries) {
		r.Damage().onDamage()
	}
	if r.unfit {
		return
	}
	a := &Apply{done: m.Responses}
	for i := 0; i < len(m.Entries) && !a.Check; i++ {
		e := &m.Entries[i]
		r.handed.Position, r.handed.Term = Position(e.Index), Term(e.Term)
		switch {
		case e.Type != raftpb.EntryNormal:
			r.applyConf(e)
		case len(e.Data) == 0:
			a.began = r.applyTermEntry(Term(e.Term)) || a.began
		default:
			r.applyEntry(a, e)
		}
	}
	if n := int(Position(m.Entries[len(m.Entries)-1].Index) - r.handed.Position); n > 0 {
		a.done, r.rest = nil, &raftpb.Message{Entries: m.Entries[len(m.Entries)-n:], Responses: m.Responses}
	}
	a.State = r.handed
	r.ready.Apply = a
	r.Damage().onState()
}

// applyEntry applies an entry that this package proposed.
//
// The window of a transfer entry ends with the first entry that was proposed after it. It does not end with the
// next term entry, as a leader that is deposed at once has no promises, so its term entry proves nothing:
//
//	A leads in term 3, registers readers, and transfers to B. B is elected in term 4 by C, whose promises to A
//	have ended, and writes its term entry. C campaigns in term 5, and deposes B before it has sent anything. B
//	is elected in term 6. If term 4 had taken the window, B would decide over A's readers.
func (r *applier) applyEntry(a *Apply, e *raftpb.Entry) {
	switch kind, data := e.Data[0], e.Data[1:max(1, len(e.Data)-sumSize)]; kind {
	case transferred:
		r.handed.Window = int64(binary.BigEndian.Uint64(data))
	case released:
		r.handed.release()
	case checked:
		a.Check = true
	case declared:
		r.applyDeclared(data)
	case stopped:
		r.handed.Stopped = true
	case command:
		r.handed.Window = 0
		fallthrough
	default:
		a.Entries = append(a.Entries, Entry{Position: Position(e.Index), Term: Term(e.Term), Data: data})
	}
}

// applyTermEntry reports whether this replica now leads. It then waits for the window of the leader before.
func (r *Replica) applyTermEntry(term Term) bool {
	window := r.handed.Window
	if r.rules.termEntryEndsWindow() {
		r.handed.Window = 0
	}
	if !r.isLeader() || term != r.term || r.begun != 0 {
		return false
	}
	r.wait = r.now + window*10/9 // that clock may be slower
	return true
}

// Applied reports that entries are in the store, with the state after them. They are reported in order.
func (r *Replica) Applied(now int64, a *Apply) {
	r.now = now
	r.applying--
	r.applied = a.State.Position
	for i := range a.done {
		_ = r.raw.Step(a.done[i]) // to this replica, about entries that stay applied
	}
	if a.began && r.isLeader() && a.State.Term == r.term {
		r.begin()
	}
	r.observe()
	if r.isLeader() && !r.handed.IsVoter(r.cfg.ID) && !r.handed.IsJoint() {
		r.StepDown(now, r.term+1)
	}
}

func (r *Replica) begin() {
	if r.handed.Stopped {
		return
	}
	r.begun = r.term
	r.ready.Begin = &Begin{Term: r.term, Wait: r.wait}
}

// committed returns the last entry that the replica knows to be committed, with its term: the last one that it has
// handed to be applied.
//
// Raft's commit index may be further, but then the log may have another entry at that position still, which a write
// is about to replace. With its term, a receiver that has that other entry applies it:
//
//	1 and 5 have entry 7 of term 2, and are cut off. 2, 3 and 4 commit an entry 7 of term 3. 1 receives it, and has not
//	written it yet. It asks 5 for a vote, and reports that 7 is committed, with the term that it finds in its log: 2.
func (r *Replica) committed() (Position, Term) {
	if !r.rules.reportsCommitted() {
		return 0, 0
	}
	return r.rules.knownCommitted(&r.handed, r.commit, r.cfg.Storage)
}

// adopted is the sender of the message by which a replica adopts a commit position. No replica has this id.
const adopted = ReplicaID(1) << 62

// adopt takes over what another replica knows to be committed, if this one has that entry (R3.10). Otherwise
// only a removed replica may know the end of a joint configuration: it cannot campaign, and it grants no votes
// because its log is longer.
//
// Raft has no call for it. An append without entries by a leader that it forgets at once does the same, and
// checks the entry's term.
func (r *Replica) adopt(m *Message) {
	if m.Committed <= r.commit || r.isLeader() || r.term == 0 {
		return
	}
	role, commit := r.role, r.commit
	if t, err := r.cfg.Storage.Term(uint64(m.Committed)); err != nil || Term(t) != m.CommittedTerm {
		return
	}
	_ = r.raw.Step(raftpb.Message{Type: raftpb.MsgApp, From: uint64(adopted), Term: uint64(r.term),
		Index: uint64(m.Committed), LogTerm: uint64(m.CommittedTerm), Commit: uint64(m.Committed)})
	_ = r.raw.ForgetLeader()
	r.observe()
	if r.commit > commit && role != raft.StateFollower && r.now >= r.promise.ends() {
		_ = r.raw.Campaign() // the append ended the campaign
	}
}

// applyConf applies a change of the configuration.
func (r *applier) applyConf(e *raftpb.Entry) {
	cc, err := decodeConf(e)
	if err != nil {
		panic(fmt.Sprintf("shard %d, position %d: %v", r.group, e.Index, err)) // its checksum was right
	}
	for _, c := range cc.Changes {
		if c.Type == raftpb.ConfChangeAddLearnerNode {
			r.handed.addLearner(ReplicaID(c.NodeID), string(cc.Context))
		}
	}
	cc.Context = nil
	r.handed.Unreleased = r.handed.Unreleased || cc.LeaveJoint()
	r.handed.Conf = *r.rules.applyConf(r.raw, cc, &r.handed.Conf)
	if r.rules.confEndsWindow() {
		r.handed.Window = 0
	}
}

// restored takes over the state of a Raft snapshot whose rows are in the store.
func (r *applier) restored(s *State) {
	if s.Position > r.handed.Position {
		r.handed = *s
		r.applied = s.Position
	}
}

// isRemoved reports whether the sender of a message was removed, so that it may be destroyed: its number was given,
// and is not a member's. A replica that has not applied the release reports nothing: if the one that has applied it is
// lost, the others need the removed replica. A replica that is behind does not know newer numbers (R7.13).
func (r *applier) isRemoved(id ReplicaID) bool {
	return !r.handed.isEmpty() && !r.handed.IsMember(id) && r.rules.isGiven(id, &r.handed) &&
		(!r.handed.IsJoint() && !r.handed.Unreleased || r.rules.destroysUnreleased())
}
