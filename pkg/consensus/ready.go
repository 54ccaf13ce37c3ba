package consensus

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// Kinds of entries: the first byte of their data. The term entry of a new leader is empty: Raft appends it
// (R4.1). Configurations are Raft's own entries.
const (
	// command is an entry that was proposed when no registration by the leader before could be valid any more.
	command byte = iota + 1
	// early is an entry that was proposed before that.
	early
	// transferred is a transfer entry, with its window.
	transferred
	// released completes a change of the configuration (R7.12).
	released
	// checked has all replicas compute a checksum of their rows as of its position (R6.14).
	checked
	// declared names a replica that is unfit, stopped ends the shard's service.
	declared
	stopped
)

func encodeWindow(w int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(w)) }

// Ready returns what is to be done since the last call.
func (r *Replica) Ready() Ready {
	if m := r.rest; m != nil {
		r.rest = nil
		r.handApply(m)
	}
	for r.ready.Apply == nil && r.ready.Write == nil && r.raw.HasReady() {
		rd := r.raw.Ready()
		for i := range rd.Messages {
			r.hand(&rd.Messages[i])
		}
		if w := r.ready.Write; w != nil && r.rules.acknowledgesEarly(w) {
			r.finish(w)
		}
	}
	out := r.ready
	r.ready = Ready{}
	if out.Apply != nil {
		r.applying++
	}
	if w := out.Write; w != nil && w.Snapshot != nil && r.applying > 0 {
		out.Write, r.ready.Write = nil, w // entries that are applied after the swap set rows back
	}
	return out
}

// hand sorts one of Raft's messages.
func (r *Replica) hand(m *raftpb.Message) {
	switch m.To {
	case raft.LocalAppendThread:
		r.handWrite(m)
	case raft.LocalApplyThread:
		r.handApply(m)
	default:
		r.send(m)
	}
}

// handWrite takes a write over. A commit index alone is not written: the next write has it, and a replica that is
// stopped before that learns it again. So a commit costs one fsync on each node. A write that stores nothing has
// responses, which say that those before it are on the disk.
func (r *Replica) handWrite(m *raftpb.Message) {
	w := &Write{Entries: m.Entries, Snapshot: m.Snapshot, after: m.Responses}
	votes := m.Term != 0 && (m.Term != r.hard.Term || m.Vote != r.hard.Vote)
	if m.Term != 0 {
		r.hard = raftpb.HardState{Term: m.Term, Vote: m.Vote, Commit: r.rules.recordedCommit(m.Commit)}
	}
	switch {
	case len(m.Entries) > 0 || m.Snapshot != nil || votes:
		w.HardState = r.hard
	case len(m.Responses) == 0:
		return
	}
	last := Position(0)
	if n := len(m.Entries); n > 0 {
		last = Position(m.Entries[n-1].Index)
		r.last = last
	}
	if m.Snapshot != nil {
		r.last = max(r.last, Position(m.Snapshot.Metadata.Index))
		w.State, _ = decodeSnapshot(m.Snapshot) // it was decoded when it arrived
		w.State = r.rules.installed(w.State, &r.handed)
	}
	r.ready.Write = w
	r.Disk.begin(r.now, last)
}

// Written reports that a write is on the disk. Writes are reported in their order.
func (r *Replica) Written(now int64, w *Write) {
	r.now = now
	r.Disk.end(now)
	if !r.rules.acknowledgesEarly(w) {
		r.finish(w)
	}
	if w.Snapshot != nil {
		r.restored(&w.State)
		r.Damage().onState()
	}
	r.observe()
	r.askToCampaign()
}

// finish delivers what a write was needed for.
func (r *Replica) finish(w *Write) {
	for i := range w.after {
		r.deliver(&w.after[i])
	}
}

// deliver sends a message that has waited for a write, to another replica or to this one.
func (r *Replica) deliver(m *raftpb.Message) {
	if ReplicaID(m.To) == r.cfg.ID {
		_ = r.raw.Step(*m) // a response of this replica, which may be of an earlier term
		return
	}
	r.send(m)
}

// send tags a message for another replica (R3.1, R3.5, R3.10).
func (r *Replica) send(rm *raftpb.Message) {
	m := Message{Group: r.cfg.Group, From: r.cfg.ID, To: ReplicaID(rm.To), Raft: *rm}
	switch {
	case m.To == 0 || m.To == r.cfg.ID || m.To == adopted || r.rules.isSilent(&r.Disk, r.now, r.cfg.Hold):
		return
	case isLeaders(rm.Type):
		if rm.Type == raftpb.MsgSnap {
			r.ready.Snapshots = append(r.ready.Snapshots, m.To)
			return
		}
		// In a transfer the next leader is to know at once what is committed, and in a change of voters those that are
		// removed: they are sent nothing afterwards.
		if r.reported.onlyCommits(rm, r.raw) && r.transfer.entry == 0 && len(r.handed.Conf.VotersOutgoing) == 0 {
			return
		}
		r.tagLeaders(&m)
	case isFollowers(rm.Type):
		if Term(rm.Term) == r.accepted.term && m.To == r.accepted.from {
			m.Sent, m.Echo = r.now, r.accepted.sent
		}
		m.Unfit, m.Checked, m.Sum = r.unfit, r.audit.own.at, r.audit.own.sum
		m.Starting = r.now < r.promise.start
		m.Declines = r.Declines || r.Disk.declines() || r.rules.hasNoLease(r.clockOff)
	case isVoteRequest(rm.Type):
		if r.isBound(r.cfg.ID) {
			return
		}
		if isTransfer(rm, r.campaign.of) {
			m.Transfer = r.campaign.of
		}
		m.Committed, m.CommittedTerm = r.committed()
	case isVoteResponse(rm.Type):
		m.Committed, m.CommittedTerm = r.committed()
	}
	r.ready.Send = append(r.ready.Send, m)
}

// tagLeaders tags a message of a leader.
func (r *Replica) tagLeaders(m *Message) {
	m.Sent, m.Hold, m.Echo = r.lease.sendingTime(r.now), int64(r.cfg.Hold), r.lease.reports[m.To].sent
	m.Place, m.Needed = r.handed.place(m.To), r.needed
	m.Raft.Commit = r.rules.reportedCommit(m.Raft.Type, m.Raft.Commit, r.commit)
}

// silent discards what Raft logs, but not its panics: they report a broken log, and the process must end.
type silent struct{}

func (silent) Debug(...any)            {}
func (silent) Debugf(string, ...any)   {}
func (silent) Error(...any)            {}
func (silent) Errorf(string, ...any)   {}
func (silent) Info(...any)             {}
func (silent) Infof(string, ...any)    {}
func (silent) Warning(...any)          {}
func (silent) Warningf(string, ...any) {}
func (silent) Fatal(v ...any)          { panic(fmt.Sprint(v...)) }
func (silent) Panic(v ...any)          { panic(fmt.Sprint(v...)) }

func (silent) Fatalf(format string, v ...any) { panic(fmt.Sprintf(format, v...)) }
func (silent) Panicf(format string, v ...any) { panic(fmt.Sprintf(format, v...)) }
