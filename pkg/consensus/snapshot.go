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
//	  |--Snapshots.Message, chunks of rows on a stream->| keep them aside; when all are there: Step(message)
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

// Snapshots are the Raft snapshots that a leader sends to others, and the log that makes them unnecessary.
type Snapshots struct{ r *Replica }

// Snapshots returns what concerns Raft snapshots.
func (r *Replica) Snapshots() Snapshots { return Snapshots{r} }

// Message returns the message that goes before the rows of a Raft snapshot to a replica. state is the State among
// these rows. The receiver steps the message when it has all rows.
func (s Snapshots) Message(now int64, to ReplicaID, state *State) (Message, error) {
	s.r.now = now
	data, err := state.EncodeMembership()
	switch {
	case !s.r.isLeader():
		return Message{}, ErrNotLeader
	case err != nil:
		return Message{}, fmt.Errorf("shard %d: %w", s.r.cfg.Group, err)
	}
	snap := &raftpb.Snapshot{Data: append(encodeWindow(state.Window), data...), Metadata: raftpb.SnapshotMetadata{
		ConfState: state.Conf, Index: uint64(state.Position), Term: uint64(state.Term)}}
	m := Message{Group: s.r.cfg.Group, From: s.r.cfg.ID, To: to, Raft: raftpb.Message{Type: raftpb.MsgSnap,
		From: uint64(s.r.cfg.ID), To: uint64(to), Term: uint64(s.r.term), Snapshot: snap}}
	s.r.tagLeaders(&m)
	return m, nil
}

// Ended reports that the stream of a Raft snapshot has ended, if delivered is true with the receipt of all
// rows. It must be called once for each element of Ready.Snapshots: until then the replica gets no entries.
func (s Snapshots) Ended(now int64, to ReplicaID, delivered bool) {
	s.r.now = now
	status := raft.SnapshotFailure
	if delivered {
		status = raft.SnapshotFinish
	}
	s.r.raw.ReportSnapshot(uint64(to), status)
	s.r.observe()
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

// minute is for how long the log is kept for a replica that does not respond, in nanoseconds.
const minute = int64(60e9)

// maxLog is the size of a log that is not kept for other replicas, in bytes.
const maxLog = 64 << 20

// TruncationLimit returns the position up to which the log may be cut. flushed is the last position whose rows the
// store has on its disk, size that of the log up to there, in bytes. Within flushed, the log is kept for all replicas
// that have responded to the leader in the last minute, unless it is larger than 64 MiB (R6.5). Otherwise rows of a
// crashed replica are in neither its store nor its log.
func (s Snapshots) TruncationLimit(flushed Position, size int64) Position {
	// Raft looks for changes of the configuration in all that does not count as applied there, and panics without it.
	// That may be less than what is applied: a batch that is split at a check counts when all of it is applied.
	flushed = min(s.r.rules.flushed(flushed, s.r.applied), Position(s.r.raw.BasicStatus().Applied))
	if size > maxLog {
		return flushed
	}
	return min(flushed, s.r.needed)
}

// updateNeeded determines the position up to which all replicas have the log that have responded in the last minute.
func (s Snapshots) updateNeeded() {
	s.r.needed = s.r.commit
	s.r.raw.WithProgress(func(id uint64, _ raft.ProgressType, pr tracker.Progress) {
		responded := max(s.r.lease.echoes[ReplicaID(id)], s.r.lease.began)
		if ReplicaID(id) != s.r.cfg.ID && s.r.now-responded < minute {
			s.r.needed = min(s.r.needed, Position(pr.Match))
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
