package consensus

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// reported are the greatest commit indexes that a leader's appends have had for its followers, or would have had.
type reported map[uint64]uint64

// onlyCommits reports whether a message is an append that has nothing new but the commit index, to a follower that
// takes appends as they come: the next append or heartbeat has it too (R2.8). To send it takes a message, a write and
// a response for each commit and follower.
//
// Other appends without entries ask a follower where its log ends: it is probed, or its log is behind and all that was
// sent to it may be lost. They repeat a commit index, as whatever advances it appends to all first.
func (c reported) onlyCommits(m *raftpb.Message, raw *raft.RawNode) bool {
	if m.Type != raftpb.MsgApp {
		return false
	}
	isNewer := m.Commit > c[m.To]
	c[m.To] = max(m.Commit, c[m.To])
	if !isNewer || len(m.Entries) > 0 {
		return false
	}
	takes := false
	raw.WithProgress(func(id uint64, _ raft.ProgressType, pr tracker.Progress) {
		takes = takes || id == m.To && pr.State == tracker.StateReplicate && !pr.IsPaused()
	})
	return takes
}
