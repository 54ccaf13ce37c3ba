package groups

import (
	"log/slog"
	"time"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/node/balance"
	"github.com/linchpindb/linchpin/pkg/node/replication"
	"github.com/linchpindb/linchpin/pkg/raftlog"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/shardlog"
	"github.com/linchpindb/linchpin/pkg/transport"
)

// Replication is what a node with replicated shards needs besides.
type Replication struct {
	// Log has the logs of the node's replicas. Its owner closes the engine below it after the node has stopped.
	Log *raftlog.Store
	// Send sends the messages of the replicas. Its owner passes received ones to the Set.
	Send transport.Replicas
	// Founding: this disk belongs to the node since the cluster was formed. It has the first replicas (R7.5), so the
	// node makes those of which it has no log yet. Another disk waits until leaders add replicas on it (R7.20).
	Founding bool
	// Place names the node and its present disk (consensus.Member.Place), "" for a founding disk.
	Place string
	// PlaceOf returns the place of a node's present disk, if it is known. Replicas on an earlier one are replaced.
	// Default: none is known.
	PlaceOf func(kv.NodeID) (place string, known bool)
	// CheckEvery is the time between checks that replicas have the same rows; default an hour (R6.14).
	CheckEvery time.Duration
	// TruncateEvery is the time between truncations of a log; default 5 s.
	TruncateEvery time.Duration
	// NoLeases: clocks cannot be trusted, and leaders have no leases (R3.14). It is the same on all nodes.
	NoLeases bool
	// Hold is the time D of the leases; default 800 ms (consensus.Config).
	Hold time.Duration
	// Balance says how soon a shard is returned to the node that should lead it (Set.Balance).
	Balance balance.Config
}

// defaultHold is the time D of the leases (R3.0).
const defaultHold = 800 * time.Millisecond

// Options are the parameters of a Set.
type Options struct {
	Replication
	ID        kv.NodeID
	Placement kv.Placement
	// Engine has the rows.
	Engine  engine.Engine
	Clock   clock.Clock
	Mutants mutant.Set
	// Disk returns the free space of the node's disk, and its description. On a disk that is nearly full, leaders
	// transfer leadership. Default: enough.
	Disk func() (level shard.Disk, text string)
	// Shard returns what the node has of a shard besides its replica.
	Shard func(kv.ShardID) Shard
	// Route sends messages of machines. Forward sends messages for a shard that the node does not lead to its leader.
	Route   func([]*msg.Envelope)
	Forward func(kv.ShardID, []*msg.Envelope)
	// OnLeader is called when the node learns of the leader of a later term.
	OnLeader func(kv.ShardID, consensus.Term)
	// OnDurable is called with the number of entries of a batch that is on the disk, and the time when it was written.
	OnDurable func(entries int, since int64)
	// OnFatal is called when the log or the store has failed (R6.3).
	OnFatal func(error)
	Log     *slog.Logger
}

// Shard is a shard on a node: its inbox, and its machine while the node leads the shard. Lock guards the machine and
// what the replica does; other methods than Lock, OnWake and Take are called with it held.
type Shard interface {
	Lock()
	Unlock()
	// OnWake has a function called when something is added to the inbox. It is called once, before anything is.
	OnWake(func())
	// Take empties the inbox. PutBack returns messages and results of reads to it.
	Take() ([]*msg.Envelope, []entry.ReadResult)
	PutBack([]*msg.Envelope, []entry.ReadResult)
	// Begin makes the machine of a leader from the rows of the store, and returns its first output.
	Begin(now int64, b *replication.Begin) (shard.Output, error)
	// End drops the machine, with the reads that it has requested.
	End(why string)
	// Machine is the machine, nil without one.
	Machine() *shard.Machine
	// Step runs a step of the machine. Portion is how many messages and results of reads it should have at most.
	Step(shard.Input) shard.Output
	Portion() int
	// StartReads starts reads of the machine.
	StartReads(*shardlog.Reads)
}
