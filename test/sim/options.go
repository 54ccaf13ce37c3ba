package sim

import (
	"math/rand/v2"
	"time"

	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Options describe one run. Draw makes them from a seed.
type Options struct {
	Seed int64

	// Nodes is 1 or more; Shards counts the ordinary ones.
	Nodes, Shards int
	// Machines is how many a gateway has, of which the first lends states to the others. 0 is for
	// one.
	Machines int
	// Registers and Counters are the keys, HotKeys how many of each are on
	// the hot shard.
	Registers, Counters, HotKeys int
	// Things is how many keys there are for each of the other data types.
	Things int
	// Padding is by how many bytes the names in them are longer than one letter, so
	// that shards write changes rather than values.
	Padding int
	// Names is how many names there are in them, 0 for 4.
	Names int
	// Types are the names of those whose methods are called, all if it is empty.
	Types []string
	// Methods are the names of those that are called, as often as they are listed,
	// all if it is empty.
	Methods []string
	// Stock is at what bounded counters begin, which is their ceiling too; 0 is for
	// anything.
	Stock int64
	// Batch is the longest time that a gateway gathers calls before it sends, 0
	// for none.
	Batch time.Duration
	// TickLate is by how much at most a gateway's timers go off late.
	TickLate time.Duration
	// Sharing says what is made of it that operations commute.
	Sharing shard.Sharing
	// Paging says which values are stored in pages.
	Paging mvcc.Paging
	Order  txn.Order
	// Reads says how read-only transactions read, Plan by which plan.
	Reads        txn.Reads
	Plan         txn.Plan
	NoOptimistic bool
	// NoEarlyLocks is the gateways' option of that name.
	NoEarlyLocks bool
	// Learned: gateways know the shards' incarnations from the start.
	Learned bool

	// Clients run Txns transactions each.
	Clients, Txns int
	// Views are further clients that have one view after another open, each for about
	// ViewFor, and OneShotViews are such that read in one shot, one after another. They
	// stop with the others, or after mostViews each.
	Views, OneShotViews int
	ViewFor             time.Duration
	Mix                 Mix

	// Far: messages within a node take as long as those between nodes.
	Far bool
	// Skew is how far the nodes' times of day may be apart.
	Skew time.Duration
	// Jumps is how many times a time of day is set, by at most JumpBy either way or back
	// to where it was, each for about JumpFor.
	Jumps           int
	JumpBy, JumpFor time.Duration
	// Cuts is how many times a node is cut off for a while, of at most Down.
	Cuts int
	// SlowDisks is how many times a node's fsyncs are slower by about SlowBy, for at most SlowFor,
	// and Stops how many times a node's process stands still for at most a quarter of that.
	SlowDisks, Stops int
	SlowBy, SlowFor  time.Duration
	// Drains is how many times a node says that it leaves, and stops.
	Drains int
	// Delay is the least time of a message between nodes, Jitter the mean of
	// what comes on top; Straggle is the share of messages that take up to
	// StraggleMax instead. Loss and Dup are shares too.
	Delay, Jitter, StraggleMax time.Duration
	Straggle, Loss, Dup        float64
	// Sync is the mean time of an fsync, ColdRead that of a cold read; Step
	// is the most time from a message's arrival to the step that takes it.
	Sync, ColdRead, Step time.Duration
	// ReadErrors is the share of cold reads that fail.
	ReadErrors float64

	// Crashes is how many faults are injected, about one in Every; Faults
	// weighs their kinds. Down is the longest time that one stays down.
	Crashes int
	Every   time.Duration
	Faults  FaultMix
	Down    time.Duration
	// Fills is how many times a disk runs low on room, or out of it, each for about
	// FillFor. filled is called before one has room again, unless nil.
	Fills   int
	FillFor time.Duration
	filled  func(*disk)
	// LogPerShard: a crash can hit one shard alone.
	LogPerShard bool

	// Places are those of a gateway, and KeyPlaces how many a key may have;
	// KeyPins and KeyWaiters are the bounds of a shard's keys. Zero is their
	// default, which is never met.
	Places, KeyPlaces, KeyPins, KeyWaiters int
	// Bounds of the machines; zero is their default.
	Memory, CacheBytes, GarbageBatch, MaxWaiters, PhaseCount int
	Retention, Repeat, Liveness, IdleGrace, MaxAge           time.Duration
	// CleanStops: some of the crashes of logs are clean stops instead.
	CleanStops bool
	// KnownLeases: the next incarnation of a shard knows until when the leases last that
	// were granted, as after the crash of a process. Else it does not, as after a reboot.
	KnownLeases bool
	// Those of readers.
	Lease, UnsealAfter, HoldBound time.Duration
	// OpenBudget is how long an open reader stays registered; PinEvery and
	// History are those of pins, of which there are none if PinEvery is 0.
	OpenBudget, PinEvery, History time.Duration
	// Round are the gateways' times of that name.
	Round txn.RoundTimes
	// CrowdFor is for how long open readers are pinned from the start after one was refused.
	CrowdFor time.Duration
	// HeatEvery is how often shards tell which keys are hot, 0 for never; Lies
	// the mean time between two untrue maps that gateways are told, 0 for none.
	HeatEvery, Lies time.Duration
	// BusyFor is for how long a shard says that it is busy, and then that it is
	// not; 0 for never.
	BusyFor time.Duration
	// MoveEvery is the mean time between two moves of keys, 0 for none.
	MoveEvery time.Duration
	// Expiring: keys are given times to live.
	Expiring bool

	// Unlocked is the share of the interactive updates whose clients may only read, and of the reads of
	// others that are of what the client may not write.
	Unlocked float64
	// Behind is how many clients have clocks that are idsBehind behind.
	Behind int
	// Users is how many users the clients are, 0 if they are not told apart. Told:
	// shards tell gateways how many attempts they have aborted.
	Users int
	Told  bool
	// SentOnce: no client sends an id again, so that a shard that has restarted need not
	// look up whether one has committed before.
	SentOnce bool
	// Anchored: keys move, and clients send ids again. Then each one-shot that writes also writes the
	// anchor, register 0, which does not move: an id of which all keys have moved between two sendings
	// may commit twice (docs/guarantees.md). AckLate is by how much acknowledgements of commits are late
	// at most.
	Anchored bool
	AckLate  time.Duration

	// Bound is how long any call may take to be answered.
	Bound time.Duration

	Mutants mutant.Set
	// Unchecked leaves the machines' own invariants to themselves, so that a
	// broken rule has to show in what clients see.
	Unchecked bool
	// GraphOnly leaves the model out: the graph judge has to notice.
	GraphOnly bool
	// Trace gets a line for everything that happens, unless nil.
	Trace func(format string, args ...any)
}

// FaultMix are the relative weights of faults: a gateway dies, at once or in
// the middle of a flush; a log with its shards; a whole node.
type FaultMix struct{ Gateway, Torn, Log, Node int }

// Mix are the relative weights of what clients do.
type Mix struct {
	OneShot, OneShotRead, Interactive, InteractiveRead, Scan int
	// Snapshot is about states of the past: to keep, read and drop them.
	Snapshot int
	// Enquire is the share of transactions about which somebody enquires for
	// no reason, Vanish that of interactive ones whose client goes away,
	// Dream that of those of which the first has the least age of all, and a
	// client that goes away, ShortDeadline that of calls with a deadline that may pass, Shrug
	// that of lost answers about which nobody enquires.
	Enquire, Vanish, Dream, ShortDeadline, Shrug float64
	// Again is the share of one-shots that write, and were not told to have failed, that
	// their client sends again under the same id.
	Again float64
	// Twice is the share of one-shots that write that their client sends to two gateways
	// at about the same time.
	Twice float64
	// Return is the share of clients that lose an interactive transaction
	// before its commit and begin its next attempt elsewhere, though the one
	// before may still be open.
	Return float64
	// Dump is the share of reads in one-shots that are of a value's stored form.
	Dump float64
	// Conclude is the share of one-shots that write one value to two keys, of calls
	// that ask for what must hold by what their attempt has read of one of these, and
	// of failed calls after which the client gives up and believes them.
	Conclude float64
	// Huge: increments may bring a counter out of its range.
	Huge bool
	// OneShard is the share of one-shots that stay on one shard.
	OneShard float64
	// Ops weighs the kinds of operations.
	Ops OpMix
	// MaxOps bounds the operations of a one-shot, Think the mean time
	// between two calls.
	MaxOps int
	Think  time.Duration
}

// OpMix are the relative weights of operations.
type OpMix struct {
	Get, Put, Delete, Require, Condition, Add, AddGet, Scan, DeleteRange int
}

var allOps = OpMix{Get: 6, Put: 8, Delete: 3, Require: 2, Condition: 4, Add: 5, AddGet: 3, Scan: 2, DeleteRange: 1}

// pick gives one of the choices.
func pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

// Draw makes the options of a run from its seed: one in four is without
// faults, the others mix them.
func Draw(seed int64) Options {
	o := drawUpdates(seed)
	r := rand.New(rand.NewPCG(uint64(seed), 0x4ead))
	o.Reads = pick(r, txn.SnapshotReads, txn.SnapshotReads, txn.SnapshotReads, txn.LockingReads)
	o.Plan = pick(r, txn.PlanAny, txn.PlanAny, txn.PlanParallel, txn.PlanHotLast)
	o.Lease = time.Duration(pick(r, 30, 150, 1000)) * time.Millisecond
	o.UnsealAfter = time.Duration(pick(r, 0, 100, 2000, 10000)) * time.Microsecond
	o.HoldBound = time.Duration(pick(r, 500, 5000, 50000)) * time.Microsecond
	_ = r.IntN(2) // what was drawn here is gone, and what follows stays the same
	o.CleanStops = r.IntN(2) == 0
	if o.Reads == txn.SnapshotReads && r.IntN(2) == 0 { // more readers than there would be
		o.Mix.OneShotRead += 3
		o.Mix.InteractiveRead += 2
		o.Mix.Scan++
	}
	o.CrowdFor = []time.Duration{-1, 5 * time.Millisecond, 0}[uint64(seed)%3]
	o.OpenBudget = pick(r, -1, time.Millisecond, 5*time.Millisecond, 50*time.Millisecond)
	if o.Plan == txn.PlanAny && r.IntN(8) == 0 {
		o.Plan = txn.PlanSnapshot
	}
	if r.IntN(2) == 0 {
		o.PinEvery = time.Duration(pick(r, 5, 20, 100)) * time.Millisecond
		o.History = time.Duration(pick(r, 0, 20, 200, 10000)) * time.Millisecond
		o.Mix.Snapshot = r.IntN(8)
	}
	o.HeatEvery = time.Duration(pick(r, 0, 3, 30)) * time.Millisecond
	o.Lies = time.Duration(pick(r, 0, 0, 5, 50)) * time.Millisecond
	o.MoveEvery = time.Duration(pick(r, 0, 0, 2, 20)) * time.Millisecond
	o.BusyFor = time.Duration(pick(r, 0, 3, 30, 3600_000)) * time.Millisecond
	if r.IntN(3) == 0 {
		o.Places, o.KeyPlaces = pick(r, 2, 4, 8), pick(r, 1, 2, 3)
		o.KeyPins, o.KeyWaiters = pick(r, 0, 2, 4), pick(r, 0, 1, 2)
		if r.IntN(2) == 0 { // so that refusals can be judged
			o.Mix.Interactive, o.Mix.InteractiveRead, o.Mix.Snapshot = 0, 0, 0
		}
	}
	t := rand.New(rand.NewPCG(uint64(seed), 0xadd))
	o.Batch = time.Duration(pick(t, 0, 0, 50, 1000)) * time.Microsecond
	if o.Places > 0 {
		o.Batch = 0 // what is refused is judged by what was under way when it was asked for
	}
	if t.IntN(2) == 0 {
		o.Things = 1 + t.IntN(2)
		o.Sharing.Locks = pick(t, shard.AbstractLocks, shard.AbstractLocks, shard.AbstractLocks, shard.RWLocks)
		o.Sharing.Phasing, o.Sharing.Combining = t.IntN(4) == 0, t.IntN(4) == 0
		o.Padding = pick(t, 0, 0, 250, 600)
		o.Paging = pick(t, mvcc.Paging{}, mvcc.Paging{Over: 300, Least: 300, Chain: 1}, mvcc.Paging{Over: 600, Least: 900, Chain: 3})
		drawLarge(&o)
	}
	o.Mix.Conclude = pick(rand.New(rand.NewPCG(uint64(seed), 0xc0c1)), 0, 0, 0.3)
	o.TickLate = time.Duration(pick(rand.New(rand.NewPCG(uint64(seed), 0x7a7e)), 0, 0, 2, 30)) * time.Millisecond
	drawJumps(&o, rand.New(rand.NewPCG(uint64(seed), 0xc10c)))
	o.NoEarlyLocks = rand.New(rand.NewPCG(uint64(seed), 0xea51)).IntN(3) == 0
	drawFills(&o, rand.New(rand.NewPCG(uint64(seed), 0xd15c)).IntN)
	drawViews(&o, rand.New(rand.NewPCG(uint64(seed), 0x51e3)))
	// Expiries are refused like others, but do not ask as clients do.
	o.Expiring = rand.New(rand.NewPCG(uint64(seed), 0x77e1)).IntN(2) == 0 && o.Places == 0
	drawUsers(&o, rand.New(rand.NewPCG(uint64(seed), 0xa9a1)))
	drawAnchored(&o, rand.New(rand.NewPCG(uint64(seed), 0xa2c4)))
	drawMachines(&o, rand.New(rand.NewPCG(uint64(seed), 0x3ac4)))
	drawBehind(&o, rand.New(rand.NewPCG(uint64(seed), 0xbe41)))
	drawSlow(&o, rand.New(rand.NewPCG(uint64(seed), 0x510e)))
	o.Unlocked = pick(rand.New(rand.NewPCG(uint64(seed), 0x410c)), 0, 0, 0.2, 0.7)
	return o
}

// idsBehind is how far the clocks of some clients are behind. Ids that are a minute older are refused.
const idsBehind = 9 * time.Minute

// drawBehind has clients in a quarter of the runs make ids of the past, where shards remember for long
// enough.
func drawBehind(o *Options, r *rand.Rand) {
	if o.Retention == 0 && o.Jumps == 0 && r.IntN(4) == 0 {
		o.Behind = 1 + r.IntN(o.Clients)
	}
}

// drawSlow has a third of the runs have slow disks and processes that stand still. Not where it is
// judged what fits.
func drawSlow(o *Options, r *rand.Rand) {
	if o.Places == 0 && r.IntN(3) == 0 {
		o.SlowDisks, o.Stops = r.IntN(4), r.IntN(3)
		o.SlowBy, o.SlowFor = time.Duration(pick(r, 20, 100, 300))*time.Millisecond, time.Duration(pick(r, 200, 1000))*time.Millisecond
	}
}

// drawMachines has a third of the runs have gateways of several machines. Not where refusals are
// judged: each machine has places of its own.
func drawMachines(o *Options, r *rand.Rand) {
	if o.Places == 0 && r.IntN(3) == 0 {
		o.Machines = 2 + r.IntN(3)
	}
}

// drawUsers says who clients are, and whether they send ids again.
func drawUsers(o *Options, r *rand.Rand) {
	o.Users, o.Told = pick(r, 0, 2, 3), r.IntN(2) == 0
	if o.MoveEvery == 0 && o.HeatEvery == 0 {
		o.Mix.Again = pick(r, 0, 0.1, 0.5)
		o.Mix.Twice = pick(r, 0, 0, 0.1, 0.5)
	}
}

// drawAnchored has half of the runs in which keys move send ids again.
func drawAnchored(o *Options, r *rand.Rand) {
	if o.MoveEvery == 0 && o.HeatEvery == 0 || r.IntN(2) == 0 {
		return
	}
	o.Anchored, o.AckLate = true, time.Duration(pick(r, 0, 0, 20, 100))*time.Millisecond
	o.Mix.Again, o.Mix.Twice = pick(r, 0.1, 0.5, 1), pick(r, 0, 0.1, 0.3)
}

// drawJumps has times of day jump in one of four runs.
func drawJumps(o *Options, r *rand.Rand) {
	if r.IntN(4) == 0 {
		o.Jumps, o.JumpFor = 1+r.IntN(10), time.Duration(pick(r, 10, 200, 1500))*time.Millisecond
		o.JumpBy = pick(r, time.Second, time.Minute, 24*time.Hour, 10*365*24*time.Hour)
	}
}

// drawViews has a third of the runs with snapshot reads be about short views that
// overlap, so that updates of what they read are always held.
func drawViews(o *Options, r *rand.Rand) {
	if o.Reads != txn.SnapshotReads || o.Places > 0 || r.IntN(3) > 0 {
		return // refusals are judged where nothing is interactive
	}
	o.Views, o.OneShotViews = r.IntN(6), r.IntN(4)
	o.ViewFor = time.Duration(pick(r, 2, 20, 45)) * time.Millisecond
	o.HoldBound = time.Duration(pick(r, 1, 5, 20)) * time.Millisecond
}

// drawLarge has half of the runs with data types be about values of many pages,
// with several elements each, that come and go in memory.
func drawLarge(o *Options) {
	r := rand.New(rand.NewPCG(uint64(o.Seed), 0x9a6e5))
	o.Mix.Dump = pick(r, 0, 0.3)
	if r.IntN(2) == 0 {
		return
	}
	o.Names, o.Padding = pick(r, 6, 24, 80), pick(r, 30, 100)
	o.Paging = mvcc.Paging{Over: pick(r, 150, 400), Least: pick(r, 60, 200), Chain: pick(r, 1, 3, 16)}
	o.CacheBytes = pick(r, 1, 1, 4000)
	if r.IntN(2) == 0 {
		o.Types = []string{"set", "map", "sorted-set"}
	}
	o.Mix.MaxOps += r.IntN(4)
}

// drawUpdates is all that does not concern readers.
func drawUpdates(seed int64) Options {
	r := rand.New(rand.NewPCG(uint64(seed), 0x0b7105))
	o := Options{
		Seed: seed, Nodes: 1 + r.IntN(3), Shards: 1 + r.IntN(4), Registers: 2 + r.IntN(5), Counters: 1 + r.IntN(3), HotKeys: r.IntN(3),
		Order: pick(r, txn.HotLast, txn.HotLast, txn.Parallel), NoOptimistic: r.IntN(4) == 0, Learned: r.IntN(2) == 0,
		Clients: 3 + r.IntN(8), Txns: 6 + r.IntN(15),
		Delay: 50 * time.Microsecond, Jitter: time.Duration(50+r.IntN(2000)) * time.Microsecond, StraggleMax: time.Duration(pick(r, 20, 200, 2000)) * time.Millisecond,
		Sync: time.Duration(pick(r, 0, 200, 1000, 5000)) * time.Microsecond, ColdRead: time.Duration(pick(r, 0, 100, 3000)) * time.Microsecond, Step: time.Duration(pick(r, 0, 20, 200)) * time.Microsecond,
		Memory: pick(r, 2, 8, 0), CacheBytes: pick(r, 1, 1, 1000, 0), GarbageBatch: pick(r, 1, 4, 0), PhaseCount: pick(r, 1, 2, 0, 0),
		Skew:      time.Duration(pick(r, 1, 20, 3000)) * time.Millisecond,
		Retention: pick(r, 0, 0, 0, time.Second, 100*time.Millisecond),
		Repeat:    10 * time.Millisecond, Liveness: 100 * time.Millisecond, IdleGrace: 30 * time.Millisecond, MaxAge: 60 * time.Second, Bound: 20 * time.Second,
	}
	o.Mix = Mix{OneShot: 10, OneShotRead: r.IntN(5), Interactive: r.IntN(9), InteractiveRead: r.IntN(3), Scan: r.IntN(3),
		OneShard: pick(r, 0, 0.5), Ops: allOps, MaxOps: 1 + r.IntN(4), Think: time.Duration(pick(r, 0, 1, 5)) * time.Millisecond}
	o.Mix.Huge = r.IntN(8) == 0
	o.Every, o.Faults = 30*time.Millisecond, FaultMix{Gateway: 1, Torn: 1, Log: 2, Node: 4}
	if r.IntN(4) == 0 {
		return o
	}
	o.Straggle, o.Loss, o.Dup = pick(r, 0, 0.01, 0.05), pick(r, 0, 0.01, 0.1), pick(r, 0, 0.02, 0.2)
	o.Mix.Enquire, o.Mix.ShortDeadline, o.Mix.Shrug = pick(r, 0, 0.1), pick(r, 0, 0, 0.1), pick(r, 0, 0.5, 1)
	if r.IntN(3) == 0 {
		o.Mix.Vanish, o.MaxAge = 0.1, 2*time.Second
	}
	o.Mix.Return = pick(r, 0, 0.5)
	o.ReadErrors = pick(r, 0, 0, 0, 0.02, 0.3)
	o.Cuts = pick(r, 0, 0, 3)
	o.MaxWaiters = pick(r, 0, 0, 2)
	o.Crashes, o.Down, o.LogPerShard = pick(r, 0, 0, 3, 10), time.Duration(pick(r, 0, 20, 300))*time.Millisecond, r.IntN(2) == 0
	return o
}
