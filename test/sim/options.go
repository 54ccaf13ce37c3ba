package sim

import (
	"math/rand/v2"
	"time"

	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/world"
)

// Options describe one run. Draw derives them from a seed.
type Options struct {
	Seed int64
	// Shards counts the ordinary shards.
	Shards int
	// Skew, Loss, Sync and the like are of the cluster.
	world.Config
	Data
	Load
	Protocol
	Bounds
	Disturbances

	// GraphOnly: the model is not used, so that the graph checker has to detect violations.
	GraphOnly bool
}

// Data is what the keys hold.
type Data struct {
	// Registers and Counters are numbers of keys, HotKeys how many of each are on the hot shard.
	Registers, Counters, HotKeys int
	// Objects is the number of keys of each other data type.
	Objects int
	// Padding is the number of bytes by which the names in objects are longer than one letter. With long names shards
	// write changes rather than values.
	Padding int
	// Names is the number of different names in objects, 0 for 4.
	Names int
	// Types are the data types whose methods are called; empty for all.
	Types []string
	// Methods are the methods that are called, as often as they are listed; empty for all.
	Methods []string
	// Stock is the initial value of bounded counters, and their ceiling; 0 for random ones.
	Stock int64
	// Expiring: clients set deadlines.
	Expiring bool
}

// Load is what clients do.
type Load struct {
	// Clients is the number of clients, Txns the number of transactions of each.
	Clients, Txns int
	// Views is the number of additional clients that open one view after another, each for about ViewFor. OneShotViews is
	// the number of those that read in one-shots. They stop with the other clients, or after maxViews each.
	Views, OneShotViews int
	ViewFor             time.Duration
	Mix                 Mix
	// Unlocked is the share of interactive updates without the right to write, and in other updates the share of reads of
	// keys that the client may not write.
	Unlocked float64
	// Behind is the number of clients whose clocks are behind by idsBehind.
	Behind int
	// Users is the number of users, 0 if clients have no identity.
	Users int
	// SentOnce: no client resends an id, so a restarted shard need not look up whether an id has committed.
	SentOnce bool
	// Anchored: keys move, and clients resend ids. Each one-shot that writes also writes the anchor, register 0, which
	// never moves: an id may commit twice if all its keys move between two sendings (docs/guarantees.md). AckLate bounds
	// the additional delay of acknowledgements of commits.
	Anchored bool
	AckLate  time.Duration
	// Bound is the time within which each call must return.
	Bound time.Duration
}

// Protocol holds the choices of the protocol.
type Protocol struct {
	// Sharing says how shards use that operations commute.
	Sharing shard.Sharing
	// Paging says which values are stored in pages.
	Paging mvcc.Paging
	Order  txn.Order
	// Reads says how read-only transactions read, Plan with which read plan.
	Reads txn.Reads
	Plan  txn.Plan
	// NoOptimistic and NoEarlyLocks are the gateways' options of that name.
	NoOptimistic, NoEarlyLocks bool
	// Parameters of readers.
	Lease, UnsealAfter, HoldBound time.Duration
	// OpenBudget is how long an open reader stays registered. SnapshotEvery and History configure the snapshot registry;
	// there is none if SnapshotEvery is 0.
	OpenBudget, SnapshotEvery, History time.Duration
	// Round configures the gateways' snapshot rounds.
	Round txn.RoundTimes
	// EarlySnapshotsFor is how long open readers read at a snapshot from the start, after a shard refused one.
	EarlySnapshotsFor time.Duration
	// HeatEvery is how often shards report hot keys, 0 for never.
	HeatEvery time.Duration
	// KnownLeases: the next incarnation of a shard knows when the granted leases expire, as after a crash of the process.
	// Otherwise it does not, as after a reboot.
	KnownLeases bool
	// AbortsReported: shards report to gateways how many attempts they have aborted.
	AbortsReported bool
}

// Bounds are those of the machines. Zero stands for the default, which no run reaches.
type Bounds struct {
	// Slots is the number of admission slots of a gateway, KeySlots that of a key. KeyReferences bounds the readers of a
	// key on a shard, KeyWaiters its waiters.
	Slots, KeySlots, KeyReferences, KeyWaiters               int
	Memory, CacheBytes, GarbageBatch, MaxWaiters, PhaseCount int
	Retention, Repeat, Liveness, IdleGrace, MaxAge           time.Duration
}

// Disturbances are faults, and what else happens beside the clients.
type Disturbances struct {
	// Jumps is how often a time of day is set: by at most JumpBy, or back to the correct time, each for about JumpFor.
	Jumps           int
	JumpBy, JumpFor time.Duration
	// Cuts is how often a node is isolated, for at most Down.
	Cuts int
	// SlowDisks is how often a node's fsyncs are slower by about SlowBy, for at most SlowFor. Stops is how often a node's
	// process stalls, for at most a quarter of that.
	SlowDisks, Stops int
	SlowBy, SlowFor  time.Duration
	// Drains is how often a node drains and stops. LeaderFaults is how often a leader of a shard with replicas is cut
	// off or stalls, or transfers leadership, Transfers how often it only transfers leadership. ChangeEvery is the mean
	// time between two steps of changes of replicas, 0 for none, LostDisks how often a disk comes back empty, Alters how
	// often the rows of a follower are altered.
	Drains, LeaderFaults, Transfers, LostDisks, Alters int
	ChangeEvery                                        time.Duration
	// Crashes is the number of crashes, about one in Every; Faults weights their kinds.
	Crashes int
	Every   time.Duration
	Faults  FaultMix
	// Fills is how often a disk runs low on free space, or out of it, each for about FillFor. onFillEnd is called before
	// the space returns, unless nil.
	Fills     int
	FillFor   time.Duration
	onFillEnd func(*sim, *world.Disk)
	// FalseHeatMaps is the mean time between two false heat maps, 0 for none.
	FalseHeatMaps time.Duration
	// BusyFor is the time for which a shard reports that it is busy, and then that it is idle; 0 for never busy.
	BusyFor time.Duration
	// MoveEvery is the mean time between two moves of keys, 0 for none.
	MoveEvery time.Duration
}

// FaultMix holds the relative weights of crashes: of a gateway, at once or in the middle of a flush (Torn); of a log
// with its shards; of a node.
type FaultMix struct{ Gateway, Torn, Log, Node int }

// Mix holds the relative weights of what clients do.
type Mix struct {
	OneShot, OneShotRead, Interactive, InteractiveRead, Scan int
	// Snapshot is the weight of creating, reading and dropping snapshots.
	Snapshot int
	// Query is the share of transactions whose outcome is queried although it is known. Vanish is the share of interactive
	// calls before which the client abandons the transaction. AbandonOldest is the probability that an interactive
	// transaction becomes the one with the least age, which is abandoned. ShortDeadline is the share of calls with a
	// deadline that may pass. IgnoreLost is the share of lost responses after which the outcome is not queried.
	Query, Vanish, AbandonOldest, ShortDeadline, IgnoreLost float64
	// Resend is the share of one-shots with writes that are sent again under the same id, unless they are known to have
	// failed.
	Resend float64
	// Twice is the share of one-shots with writes that are sent to two gateways concurrently.
	Twice float64
	// AbandonAttempt is the share of clients that lose an interactive transaction before its commit and begin its next
	// attempt at another gateway, although the last attempt may still be open.
	AbandonAttempt float64
	// Dump is the share of reads in one-shots that return a value's stored form.
	Dump float64
	// UseImplied is the share of one-shots that write one value to two keys, of calls that are implied to succeed by the
	// attempt's read of one of these, and of failed calls after which the client ends the transaction and relies on the
	// failure (implied.go).
	UseImplied float64
	// Huge: increments may overflow a counter.
	Huge bool
	// OneShard is the share of one-shots on one shard.
	OneShard float64
	// Ops weights the kinds of operations.
	Ops OpMix
	// MaxOps bounds the number of operations of a one-shot. Think is the mean time between two calls.
	MaxOps int
	Think  time.Duration
}

// OpMix holds the relative weights of operations.
type OpMix struct {
	Get, Put, Delete, Require, Condition, Add, AddGet, Scan, DeleteRange int
}

var allOps = OpMix{Get: 6, Put: 8, Delete: 3, Require: 2, Condition: 4, Add: 5, AddGet: 3, Scan: 2, DeleteRange: 1}

// pick returns one of the choices.
func pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

// Draw derives the options of a run from its seed. One run in four has no faults; the others mix them.
func Draw(seed int64) Options {
	o := drawUpdates(seed)
	r := rand.New(rand.NewPCG(uint64(seed), 0x4ead))
	o.Reads = pick(r, txn.SnapshotReads, txn.SnapshotReads, txn.SnapshotReads, txn.LockingReads)
	o.Plan = pick(r, txn.PlanAny, txn.PlanAny, txn.PlanParallel, txn.PlanHotLast)
	o.Lease = time.Duration(pick(r, 30, 150, 1000)) * time.Millisecond
	o.UnsealAfter = time.Duration(pick(r, 0, 100, 2000, 10000)) * time.Microsecond
	o.HoldBound = time.Duration(pick(r, 500, 5000, 50000)) * time.Microsecond
	_ = r.IntN(2) // an unused draw: without it, all existing seeds would change
	o.CleanStops = r.IntN(2) == 0
	if o.Reads == txn.SnapshotReads && r.IntN(2) == 0 { // more readers than the default
		o.Mix.OneShotRead += 3
		o.Mix.InteractiveRead += 2
		o.Mix.Scan++
	}
	o.EarlySnapshotsFor = []time.Duration{-1, 5 * time.Millisecond, 0}[uint64(seed)%3]
	o.OpenBudget = pick(r, -1, time.Millisecond, 5*time.Millisecond, 50*time.Millisecond)
	if o.Plan == txn.PlanAny && r.IntN(8) == 0 {
		o.Plan = txn.PlanSnapshot
	}
	if r.IntN(2) == 0 {
		o.SnapshotEvery = time.Duration(pick(r, 5, 20, 100)) * time.Millisecond
		o.History = time.Duration(pick(r, 0, 20, 200, 10000)) * time.Millisecond
		o.Mix.Snapshot = r.IntN(8)
	}
	o.HeatEvery = time.Duration(pick(r, 0, 3, 30)) * time.Millisecond
	o.FalseHeatMaps = time.Duration(pick(r, 0, 0, 5, 50)) * time.Millisecond
	o.MoveEvery = time.Duration(pick(r, 0, 0, 2, 20)) * time.Millisecond
	o.BusyFor = time.Duration(pick(r, 0, 3, 30, 3600_000)) * time.Millisecond
	if r.IntN(3) == 0 {
		o.Slots, o.KeySlots = pick(r, 2, 4, 8), pick(r, 1, 2, 3)
		o.KeyReferences, o.KeyWaiters = pick(r, 0, 2, 4), pick(r, 0, 1, 2)
		if r.IntN(2) == 0 { // so that refusals can be checked
			o.Mix.Interactive, o.Mix.InteractiveRead, o.Mix.Snapshot = 0, 0, 0
		}
	}
	t := rand.New(rand.NewPCG(uint64(seed), 0xadd))
	o.Batch = time.Duration(pick(t, 0, 0, 50, 1000)) * time.Microsecond
	if o.Slots > 0 {
		o.Batch = 0 // the check of a refusal needs the calls in flight when it was requested
	}
	if t.IntN(2) == 0 {
		o.Objects = 1 + t.IntN(2)
		o.Sharing.Locks = pick(t, shard.AbstractLocks, shard.AbstractLocks, shard.AbstractLocks, shard.RWLocks)
		o.Sharing.Phasing, o.Sharing.Combining = t.IntN(4) == 0, t.IntN(4) == 0
		o.Padding = pick(t, 0, 0, 250, 600)
		o.Paging = pick(t, mvcc.Paging{}, mvcc.Paging{Threshold: 300, MinPageBytes: 300, ChainPages: 1},
			mvcc.Paging{Threshold: 600, MinPageBytes: 900, ChainPages: 3})
		drawLarge(&o)
	}
	o.Mix.UseImplied = pick(rand.New(rand.NewPCG(uint64(seed), 0xc0c1)), 0, 0, 0.3)
	o.TickLate = time.Duration(pick(rand.New(rand.NewPCG(uint64(seed), 0x7a7e)), 0, 0, 2, 30)) * time.Millisecond
	drawJumps(&o, rand.New(rand.NewPCG(uint64(seed), 0xc10c)))
	o.NoEarlyLocks = rand.New(rand.NewPCG(uint64(seed), 0xea51)).IntN(3) == 0
	drawFills(&o, rand.New(rand.NewPCG(uint64(seed), 0xd15c)).IntN)
	drawViews(&o, rand.New(rand.NewPCG(uint64(seed), 0x51e3)))
	// Expiries are refused like other transactions, but they are not calls of a client.
	o.Expiring = rand.New(rand.NewPCG(uint64(seed), 0x77e1)).IntN(2) == 0 && o.Slots == 0
	drawUsers(&o, rand.New(rand.NewPCG(uint64(seed), 0xa9a1)))
	drawAnchored(&o, rand.New(rand.NewPCG(uint64(seed), 0xa2c4)))
	drawMachines(&o, rand.New(rand.NewPCG(uint64(seed), 0x3ac4)))
	drawBehind(&o, rand.New(rand.NewPCG(uint64(seed), 0xbe41)))
	drawSlow(&o, rand.New(rand.NewPCG(uint64(seed), 0x510e)))
	o.Unlocked = pick(rand.New(rand.NewPCG(uint64(seed), 0x410c)), 0, 0, 0.2, 0.7)
	return o
}

// idsBehind is how far the clocks of some clients are behind. Ids that are a minute older are rejected.
const idsBehind = 9 * time.Minute

// drawBehind has clients make ids of the past in a quarter of the runs in which shards retain outcomes for long enough.
func drawBehind(o *Options, r *rand.Rand) {
	if o.Retention == 0 && o.Jumps == 0 && r.IntN(4) == 0 {
		o.Behind = 1 + r.IntN(o.Clients)
	}
}

// drawSlow has slow disks and stalled processes in a third of the runs, except where refusals are checked.
func drawSlow(o *Options, r *rand.Rand) {
	if o.Slots == 0 && r.IntN(3) == 0 {
		o.SlowDisks, o.Stops = r.IntN(4), r.IntN(3)
		o.SlowBy, o.SlowFor = time.Duration(pick(r, 20, 100, 300))*time.Millisecond,
			time.Duration(pick(r, 200, 1000))*time.Millisecond
	}
}

// drawMachines has gateways of several machines in a third of the runs, except where refusals are checked: each machine
// has admission slots of its own.
func drawMachines(o *Options, r *rand.Rand) {
	if o.Slots == 0 && r.IntN(3) == 0 {
		o.Machines = 2 + r.IntN(3)
	}
}

// drawUsers draws the clients' users, and whether ids are resent.
func drawUsers(o *Options, r *rand.Rand) {
	o.Users, o.AbortsReported = pick(r, 0, 2, 3), r.IntN(2) == 0
	if o.MoveEvery == 0 && o.HeatEvery == 0 {
		o.Mix.Resend = pick(r, 0, 0.1, 0.5)
		o.Mix.Twice = pick(r, 0, 0, 0.1, 0.5)
	}
}

// drawAnchored has ids resent in half of the runs in which keys move.
func drawAnchored(o *Options, r *rand.Rand) {
	if o.MoveEvery == 0 && o.HeatEvery == 0 || r.IntN(2) == 0 {
		return
	}
	o.Anchored, o.AckLate = true, time.Duration(pick(r, 0, 0, 20, 100))*time.Millisecond
	o.Mix.Resend, o.Mix.Twice = pick(r, 0.1, 0.5, 1), pick(r, 0, 0.1, 0.3)
}

// drawJumps has times of day jump in a quarter of the runs.
func drawJumps(o *Options, r *rand.Rand) {
	if r.IntN(4) == 0 {
		o.Jumps, o.JumpFor = 1+r.IntN(10), time.Duration(pick(r, 10, 200, 1500))*time.Millisecond
		o.JumpBy = pick(r, time.Second, time.Minute, 24*time.Hour, 10*365*24*time.Hour)
	}
}

// drawViews has short overlapping views in a third of the runs with snapshot reads, so that updates of the keys that
// they read are always held.
func drawViews(o *Options, r *rand.Rand) {
	if o.Reads != txn.SnapshotReads || o.Slots > 0 || r.IntN(3) > 0 {
		return // refusals are checked where nothing is interactive
	}
	o.Views, o.OneShotViews = r.IntN(6), r.IntN(4)
	o.ViewFor = time.Duration(pick(r, 2, 20, 45)) * time.Millisecond
	o.HoldBound = time.Duration(pick(r, 1, 5, 20)) * time.Millisecond
}

// drawLarge has values of many pages, with several elements each, in half of the runs with data types. Their pages are
// evicted and loaded.
func drawLarge(o *Options) {
	r := rand.New(rand.NewPCG(uint64(o.Seed), 0x9a6e5))
	o.Mix.Dump = pick(r, 0, 0.3)
	if r.IntN(2) == 0 {
		return
	}
	o.Names, o.Padding = pick(r, 6, 24, 80), pick(r, 30, 100)
	o.Paging = mvcc.Paging{Threshold: pick(r, 150, 400), MinPageBytes: pick(r, 60, 200), ChainPages: pick(r, 1, 3, 16)}
	o.CacheBytes = pick(r, 1, 1, 4000)
	if r.IntN(2) == 0 {
		o.Types = []string{"set", "map", "sorted-set"}
	}
	o.Mix.MaxOps += r.IntN(4)
}

// drawUpdates draws everything that does not concern readers.
func drawUpdates(seed int64) Options {
	r := rand.New(rand.NewPCG(uint64(seed), 0x0b7105))
	o := Options{Seed: seed}
	o.Nodes, o.Shards, o.Registers, o.Counters, o.HotKeys = 1+r.IntN(3), 1+r.IntN(4), 2+r.IntN(5), 1+r.IntN(3), r.IntN(3)
	o.Order, o.NoOptimistic = pick(r, txn.HotLast, txn.HotLast, txn.Parallel), r.IntN(4) == 0
	o.Learned, o.Clients, o.Txns = r.IntN(2) == 0, 3+r.IntN(8), 6+r.IntN(15)
	o.Delay, o.Jitter = 50*time.Microsecond, time.Duration(50+r.IntN(2000))*time.Microsecond
	o.StraggleMax = time.Duration(pick(r, 20, 200, 2000)) * time.Millisecond
	o.Sync = time.Duration(pick(r, 0, 200, 1000, 5000)) * time.Microsecond
	o.DiskRead = time.Duration(pick(r, 0, 100, 3000)) * time.Microsecond
	o.Step = time.Duration(pick(r, 0, 20, 200)) * time.Microsecond
	o.Memory, o.CacheBytes, o.GarbageBatch = pick(r, 2, 8, 0), pick(r, 1, 1, 1000, 0), pick(r, 1, 4, 0)
	o.PhaseCount = pick(r, 1, 2, 0, 0)
	o.Skew = time.Duration(pick(r, 1, 20, 3000)) * time.Millisecond
	o.Retention = pick(r, 0, 0, 0, time.Second, 100*time.Millisecond)
	o.Repeat, o.Liveness, o.IdleGrace = 10*time.Millisecond, 100*time.Millisecond, 30*time.Millisecond
	o.MaxAge, o.Bound = 60*time.Second, 20*time.Second
	o.Mix = Mix{OneShot: 10, OneShotRead: r.IntN(5), Interactive: r.IntN(9), InteractiveRead: r.IntN(3), Scan: r.IntN(3),
		OneShard: pick(r, 0, 0.5), Ops: allOps, MaxOps: 1 + r.IntN(4),
		Think: time.Duration(pick(r, 0, 1, 5)) * time.Millisecond}
	o.Mix.Huge = r.IntN(8) == 0
	o.Every, o.Faults = 30*time.Millisecond, FaultMix{Gateway: 1, Torn: 1, Log: 2, Node: 4}
	if r.IntN(4) == 0 {
		return o
	}
	o.Straggle, o.Loss, o.Dup = pick(r, 0, 0.01, 0.05), pick(r, 0, 0.01, 0.1), pick(r, 0, 0.02, 0.2)
	o.Mix.Query, o.Mix.ShortDeadline, o.Mix.IgnoreLost = pick(r, 0, 0.1), pick(r, 0, 0, 0.1), pick(r, 0, 0.5, 1)
	if r.IntN(3) == 0 {
		o.Mix.Vanish, o.MaxAge = 0.1, 2*time.Second
	}
	o.Mix.AbandonAttempt = pick(r, 0, 0.5)
	o.ReadErrors = pick(r, 0, 0, 0, 0.02, 0.3)
	o.Cuts = pick(r, 0, 0, 3)
	o.MaxWaiters = pick(r, 0, 0, 2)
	o.Crashes, o.Down, o.LogPerShard = pick(r, 0, 0, 3, 10), time.Duration(pick(r, 0, 20, 300))*time.Millisecond,
		r.IntN(2) == 0
	return o
}
