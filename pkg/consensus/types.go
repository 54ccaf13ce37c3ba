package consensus

import (
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Config is what a replica is made of.
type Config struct {
	// Group is the shard, and ID the replica.
	Group kv.ShardID
	ID    ReplicaID
	// Hold is the time D for which a voter that accepts a heartbeat promises not to help to replace the leader:
	// 800 ms, and at least ten round trips. MaxHold is the greatest that the replica may have promised before
	// (R3.0, R3.2).
	Hold, MaxHold time.Duration
	// NoLeases: clocks cannot be trusted, so no lease is relied on (R3.14). LeaseEnd has no bound while the replica leads,
	// and what reports the present waits for Leadership.IsConfirmed.
	NoLeases bool
	// Heartbeat is the time between heartbeats: 100 ms, and less than Hold/4.
	Heartbeat time.Duration
	// CheckEvery is the interval of checks of the rows by a leader (R6.14): an hour, zero for none. A replica that takes
	// longer to compute its checksum is not compared.
	CheckEvery time.Duration
	// Storage has the log: what Written reported, since the last Raft snapshot.
	Storage raft.Storage
	// State is the state as of the rows in the store.
	State State
	// Rand returns a random number from 0 to n-1. It spreads the times of campaigns, so that not all voters ask
	// at once.
	Rand func(n int64) int64
	// Mutants are the planted faults.
	Mutants mutant.Set
}

// pause is a time between campaigns: an eighth to a quarter of Hold, and up to eight times as much after attempts that
// have failed. A vote is on a disk before it counts: if the pauses were shorter than that takes, no attempt would
// succeed.
func (a *campaign) pause(c *Config) int64 {
	least := int64(c.Hold) / 8 << min(a.attempts, 3)
	a.attempts++
	return least + c.Rand(least)
}

// campaign is when the replica campaigns next, zero if that is to be chosen. of is the term whose leader has asked it
// to. attempts counts campaigns, and votes for others, since there was a leader.
type campaign struct {
	at       int64
	of       Term
	attempts int
}

// Ready is what a replica wants to be done.
type Ready struct {
	// Send are messages that leave at once.
	Send []Message
	// Write is to be written and synced, after all earlier ones, and then reported by Written. It is nil if
	// there is nothing to write.
	Write *Write
	// Apply is to be applied to the store, after all earlier ones, and then reported by Applied. It need not be
	// synced, as long as the log has its entries. It is nil if there is nothing to apply.
	Apply *Apply
	// Begin is set once in a term of this replica's leadership: the machine of the shard is to be made from the
	// rows that are applied.
	Begin *Begin
	// Transfer is set when leadership is to be transferred to a replica, as the disk of this one, which leads, is slow
	// (R10.9) or nearly full. It is repeated after 10 s at the earliest.
	Transfer ReplicaID
	// Snapshots are replicas that need a Raft snapshot: see Snapshots.Message.
	Snapshots []ReplicaID
	// Gone is set when this replica was removed, and may be destroyed. The node keeps its number (R7.17).
	Gone bool
	// Unfit is set once when this replica is unfit. It applies nothing any more and does not lead, it must not serve
	// reads, and it is to be replaced as if its disk had failed: State.Unfit of the leader names it soon. A leader's
	// machine is dropped.
	Unfit bool
	// Stopped is set once when the shard has stopped, as no majority of its replicas agrees on the rows (R6.14). No
	// machine runs any more, and no replica may serve reads. The operator decides which rows are right.
	Stopped bool
}

// Write is one record of the log.
type Write struct {
	// HardState is the term, the vote and the commit index, unless it is empty.
	HardState raftpb.HardState
	// Entries replace what the log has from the position of the first one.
	Entries []raftpb.Entry
	// Snapshot replaces rows and log, if it is not nil: the rows are swapped, with State among them, and then the
	// log begins at its position (R6.10). Ready returns it when all Apply before it are reported.
	Snapshot *raftpb.Snapshot
	State    State

	after []raftpb.Message
}

// IsEmpty reports whether the write stores nothing. It is reported in the order of the writes all the same.
func (w *Write) IsEmpty() bool {
	return len(w.Entries) == 0 && w.Snapshot == nil && raft.IsEmptyHardState(w.HardState)
}

// Apply is committed entries, in the order of their positions.
type Apply struct {
	// Entries are those that were proposed.
	Entries []Entry
	// State is to be written in the same batch.
	State State
	// Check: the node computes a checksum of the rows as of State.Position, all that are in the store after this batch
	// and before the next one, in the background, and reports it to Damage.Checked.
	Check bool

	done  []raftpb.Message
	began bool
}

// Entry is a committed entry.
type Entry struct {
	Position Position
	Term     Term
	// Data is what was proposed.
	Data []byte
}

// Begin says that this replica leads, and has applied everything that earlier leaders reported as committed.
type Begin struct {
	// Term is the shard's incarnation.
	Term Term
	// Wait is when registrations of readers by the leader before have ended, in nanoseconds by the replica's
	// clock. Before, the shard neither seals nor decides (R5.5). It may be in the past.
	Wait int64
}
