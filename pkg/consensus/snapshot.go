package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// A replica that the log cannot serve gets a Raft snapshot: the rows of the shard as of one position, and the State of
// that position (R6.8).
//
//	leader                                         replica
//	  | Ready.Snapshots: [replica]                    |
//	  | rows and State of one position                |
//	  |--SnapshotMessage, chunks of rows on a stream->| keep them aside; when all are there: Step(message)
//	  | SnapshotEnded(replica)                        | Ready.Write.Snapshot: swap the rows, then begin the log there
//	  |                                               | Written
//	  |<------------------response--------------------|
//
// If Ready has no Write.Snapshot after that Step, the replica already has what the Raft snapshot contains, and the
// rows that were kept aside are dropped (R6.9).

// Errors of New about a log that does not fit the rows.
var (
	// ErrLogBehind: the rows are further than the log, or the log has another entry there, as after a crash between
	// the swap of the rows and that of the log. The caller has the log begin at State.Position and State.Term,
	// keeps term and vote of its HardState, and calls New again (R6.11).
	ErrLogBehind = errors.New("the log does not have the last applied entry: it must begin there")
	// ErrLogGap: the log begins behind the rows. The replica must be replaced.
	ErrLogGap = errors.New("the log begins behind the rows")
)

// checkLog compares a log with the rows (R6.11).
func checkLog(log raft.Storage, s *State) error {
	term, err := log.Term(uint64(s.Position))
	switch {
	case errors.Is(err, raft.ErrCompacted):
		return ErrLogGap
	case err != nil || Term(term) != s.Term:
		return ErrLogBehind
	}
	return nil
}

// SnapshotMessage returns the message that goes before the rows of a Raft snapshot to a replica. s is the State among
// these rows. The receiver steps the message when it has all rows.
func (r *Replica) SnapshotMessage(now int64, to ReplicaID, s *State) (Message, error) {
	r.now = now
	data, err := s.EncodeMembership()
	switch {
	case !r.isLeader():
		return Message{}, ErrNotLeader
	case err != nil:
		return Message{}, fmt.Errorf("shard %d: %w", r.cfg.Group, err)
	}
	snap := &raftpb.Snapshot{Data: append(encodeWindow(s.Window), data...), Metadata: raftpb.SnapshotMetadata{
		ConfState: s.Conf, Index: uint64(s.Position), Term: uint64(s.Term)}}
	m := Message{Group: r.cfg.Group, From: r.cfg.ID, To: to, Raft: raftpb.Message{Type: raftpb.MsgSnap,
		From: uint64(r.cfg.ID), To: uint64(to), Term: uint64(r.term), Snapshot: snap}}
	r.tagLeaders(&m)
	return m, nil
}

// SnapshotEnded reports that the stream of a Raft snapshot has ended, if delivered is true with the receipt of all
// rows. It must be called once for each element of Ready.Snapshots: until then the replica gets no entries.
func (r *Replica) SnapshotEnded(now int64, to ReplicaID, delivered bool) {
	r.now = now
	status := raft.SnapshotFailure
	if delivered {
		status = raft.SnapshotFinish
	}
	r.raw.ReportSnapshot(uint64(to), status)
	r.observe()
}

// decodeSnapshot returns the state in a Raft snapshot.
func decodeSnapshot(s *raftpb.Snapshot) (State, error) {
	st := State{Position: Position(s.Metadata.Index), Term: Term(s.Metadata.Term)}
	if len(s.Data) < 8 {
		return st, errMembership
	}
	err := st.DecodeMembership(s.Data[8:])
	st.Window = int64(binary.BigEndian.Uint64(s.Data))
	return st, err
}

// isDecodable reports whether a message has no Raft snapshot, or one with a state.
func (m *Message) isDecodable() bool {
	if m.Raft.Type != raftpb.MsgSnap {
		return true
	} else if m.Raft.Snapshot == nil {
		return false
	}
	_, err := decodeSnapshot(m.Raft.Snapshot)
	return err == nil
}

// restored takes over the state of a Raft snapshot whose rows are in the store.
func (r *Replica) restored(s *State) {
	if s.Position > r.handed.Position {
		r.handed = *s
		r.applied = s.Position
	}
}

// minute is for how long the log is kept for a replica that does not respond, in nanoseconds.
const minute = int64(60e9)

// maxLog is the size of a log that is not kept for other replicas, in bytes.
const maxLog = 64 << 20

// CanTruncate returns the position up to which the log may be cut. flushed is the last position whose rows the store
// has on its disk, size that of the log up to there, in bytes. Within flushed, the log is kept for all replicas that
// the leader has heard from in the last minute, unless it is larger than 64 MiB (R6.5). Otherwise rows of a crashed
// replica are in neither its store nor its log.
func (r *Replica) CanTruncate(flushed Position, size int64) Position {
	flushed = r.rules.flushed(flushed, r.applied)
	if size > maxLog {
		return flushed
	}
	return min(flushed, r.needed)
}

// updateNeeded determines the position up to which all replicas have the log that were heard from in the last minute.
func (r *Replica) updateNeeded() {
	r.needed = r.commit
	r.raw.WithProgress(func(id uint64, _ raft.ProgressType, pr tracker.Progress) {
		heard := max(r.lease.echoes[ReplicaID(id)], r.lease.began)
		if ReplicaID(id) != r.cfg.ID && r.now-heard < minute {
			r.needed = min(r.needed, Position(pr.Match))
		}
	})
}

// MayCreate reports whether a node makes a replica for a message: the message is a leader's, it names the place of the
// node's present disk, and its number is above all that the node has had of the group (R7.17). Otherwise a late
// message makes an empty replica whose number has voted.
func MayCreate(m *Message, place string, greatest ReplicaID, broken mutant.Set) bool {
	rules := rules{broken}
	return isLeaders(m.Raft.Type) && (m.Place == place || rules.ignoresPlace()) &&
		(m.To > greatest || rules.usesNumberAgain())
}
