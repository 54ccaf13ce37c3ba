package world

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Config describes a cluster.
type Config struct {
	// Nodes is at least 1.
	Nodes int
	// Machines is the number of machines of a gateway, 0 for one. The first lends snapshots to the others.
	Machines int
	// Replicas is the number of replicas of each shard, at most Nodes; 0 for one that is not replicated. Hold is the time
	// for which voters promise their votes to a leader.
	Replicas int
	Hold     time.Duration
	ClockOptions
	// CheckEvery is the interval of checks of the rows by leaders, 0 for none (consensus.Config).
	CheckEvery time.Duration
	// LogPerShard: each shard has a log of its own, so that a crash can affect a single shard.
	LogPerShard bool
	// Learned: gateways know the shards' incarnations from the start.
	Learned bool
	Links
	// Sync is the mean time of an fsync, DiskRead that of a read from disk. ReadErrors is the share of reads that fail.
	// NoSync: logs are durable at once.
	Sync, DiskRead time.Duration
	ReadErrors     float64
	NoSync         bool
	// Step bounds the time from a message's arrival to its step. OneByOne: each message is a step of its own, at once.
	Step     time.Duration
	OneByOne bool
	// StepCost is the time that a shard is busy for each message of a step.
	StepCost time.Duration
	// Batch is the longest time for which a gateway collects calls in a batch, 0 for none. TickLate bounds the delay of a
	// gateway's timers.
	Batch, TickLate time.Duration
	// Skew bounds the difference of the nodes' times of day.
	Skew time.Duration
	// Down bounds the time from a crash to the next start. CleanStops: some crashes of logs are clean shutdowns instead.
	Down       time.Duration
	CleanStops bool
	Mutants    mutant.Set
	// Unchecked: the machines' own invariants are not checked, so that a broken rule has to show in the results of
	// clients.
	Unchecked bool
	// Trace is called for every event, unless nil.
	Trace func(format string, args ...any)
}

// ClockOptions are the clocks of nodes, and what replicated shards rely on.
type ClockOptions struct {
	// NoLeases: leaders have no leases (R3.14). Rates bounds the rates of clocks; default 0.95 to 1.05.
	NoLeases bool
	Rates    [2]float64
	// ClocksMeasured: nodes measure the rates of each other's clocks, and those whose clocks are off lead nothing (R10.8).
	ClocksMeasured bool
}

// World is a cluster in virtual time.
type World struct {
	Time
	Random
	Config
	Router txn.Router
	user   User
	Nodes  []*Node
	// Shards are all shards, by number, with replicas those that began to lead last; Disks are all logs.
	Shards []*Shard
	Disks  []*Disk
	// CutLinks are until when links between two nodes lose messages in one direction.
	CutLinks map[[2]kv.NodeID]int64
	// groups are of shards with replicas.
	groups map[kv.ShardID]*group
	// Calm: no more faults are injected.
	Calm bool
	// Err is the first violation. It ends the run.
	Err    error
	Counts Counts
	// MaxEvents bounds the number of events, unless it is 0. The heartbeats of replicas come on top.
	MaxEvents, eventCount int
}

// Counts counts the events of a run.
type Counts struct {
	Steps, Messages, Crashes int
	// Leaders counts the terms of leaders that began, Transfers the transfers of leadership, Forwarded the messages for
	// shards that were forwarded to their leaders.
	// ReplicaReads counts the reads that followers served, ReplicaRefusals those that they refused.
	ReplicaReads, ReplicaRefusals int
	// Deposed counts the leaders that stepped down because a message named a later one.
	Leaders, Transfers, Forwarded, Deposed int
	// Syncs counts the fsyncs of logs, Truncations how often logs of replicas were truncated, Snapshots the Raft snapshots
	// that were installed.
	Syncs, Truncations, Snapshots int
	// Changes counts the changes of members that were released, LostDisks the disks that came back empty, Compared the
	// comparisons of the rows of two replicas.
	Changes, LostDisks, Compared int
	// Unfit counts the replicas that became unfit, Abandoned those that made room for a new one on the same disk. Checks
	// counts the checksums of rows, Altered the replicas whose rows were altered, Stopped those of shards that stopped.
	Unfit, Abandoned, Checks, Altered, Stopped int
	// Lent counts the snapshots that machines of gateways lent to others.
	Lent int
}

// New makes a cluster whose machines do not run yet. Without a source nothing is random (Random).
func New(c Config, router txn.Router, rng *rand.Rand, user User) *World {
	if c.Rates[1] == 0 {
		c.Rates = [2]float64{0.95, 1.05}
	}
	w := &World{Config: c, Router: router, Random: Random{rng}, user: user, groups: map[kv.ShardID]*group{},
		CutLinks: map[[2]kv.NodeID]int64{}}
	for i := range c.Nodes {
		w.Nodes = append(w.Nodes, newNode(w, kv.NodeID(i+1)))
	}
	for s := range router.Shards() {
		w.addShard(kv.ShardID(s))
	}
	return w
}

// addShard makes a shard on the node where the router has it, or its replicas there and on the following nodes.
func (w *World) addShard(id kv.ShardID) {
	first := int(w.Router.Node(id)) - 1
	if w.Replicas == 0 {
		w.Shards = append(w.Shards, w.Nodes[first].addShard(id))
		return
	}
	w.groups[id] = newGroup()
	var voters []consensus.ReplicaID
	for i := range w.Nodes {
		s := w.Nodes[(first+i)%len(w.Nodes)].addShard(id)
		if i == 0 {
			w.Shards = append(w.Shards, s)
		}
		if i < w.Replicas {
			newReplica(s, consensus.ReplicaID(i+1))
			voters = append(voters, consensus.ReplicaID(i+1))
		}
	}
	for _, r := range voters {
		w.groups[id].homes[r].replica.bootstrap(voters)
	}
}

// Start starts all machines.
func (w *World) Start() {
	for _, n := range w.Nodes {
		n.startGateway()
	}
	for _, n := range w.Nodes {
		for _, d := range n.Disks {
			d.start()
		}
	}
	for _, n := range w.Nodes {
		n.learnIncarnations()
	}
}

// Run runs events until an instant, a violation, the last event, or until stop, which is called before each event and
// may be nil.
func (w *World) Run(until int64, stop func() bool) {
	for w.Err == nil && w.Next() <= until && len(w.events) > 0 && (stop == nil || !stop()) {
		w.eventCount++
		if w.MaxEvents > 0 && w.eventCount > w.MaxEvents+w.idleEvents() {
			w.Fail("the run exceeds %d events", w.MaxEvents)
			return
		}
		w.RunNext()
	}
}

// idleEvents bounds the number of events until now of replicas that only exchange heartbeats: some 40 of each in the
// time of a promise, which is short in simulations.
func (w *World) idleEvents() int {
	if w.Replicas == 0 {
		return 0
	}
	return 50 * w.Replicas * len(w.Shards) * int(w.now/int64(w.Hold))
}

// Repair ends all faults, for the rest of the run.
func (w *World) Repair() {
	w.Calm = true
	for _, n := range w.Nodes {
		n.repair()
	}
}

// Idle returns an error if any machine still has a transaction.
func (w *World) Idle() error {
	for _, s := range w.Shards {
		if s.M == nil {
			return fmt.Errorf("%v has no leader", s.ID)
		}
		if err := s.M.CheckIdle(); err != nil {
			return err
		}
	}
	for _, n := range w.Nodes {
		if err := n.idle(); err != nil {
			return fmt.Errorf("%v: %w", n.ID, err)
		}
	}
	return nil
}
