package shard

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/past"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
	"github.com/linchpindb/linchpin/pkg/shard/timeofday"
)

// Aliases of types of the packages below that callers need.
type (
	Sharing = exec.Sharing
	Locks   = exec.Locks
	// Trace is notified of events that messages do not show.
	Trace = step.Trace
	// SnapshotConfig configures retained snapshots.
	SnapshotConfig = past.Config
	// ReplicaReader serves reads of past states from the rows of any replica, or refuses them.
	ReplicaReader = past.ReplicaReader
	Refusal       = past.Refusal
	Off           = exec.Off
	Disk          = exec.Space
	// Peers is how the node's time of day compares with that of the other nodes. Doubt is why the
	// time of day is not trusted.
	Peers = timeofday.Peers
	Doubt = timeofday.Doubt
)

// The values of Locks, Disk, Peers and Refusal, and the values of Doubt that callers use.
const (
	AbstractLocks = exec.AbstractLocks
	RWLocks       = exec.RWLocks
	DiskEnough    = exec.SpaceEnough
	DiskLow       = exec.SpaceLow
	DiskFull      = exec.SpaceNone
	PeersUnknown  = timeofday.PeersUnknown
	PeersAgree    = timeofday.PeersAgree
	PeersDiffer   = timeofday.PeersDiffer
	NoDoubt       = timeofday.None
	ClockYoung    = timeofday.Unsteady
	Served        = past.Served
	NotClosed     = past.NotClosed
	TooOld        = past.TooOld
	Unreadable    = past.Unreadable
)

// Config configures a shard.
type Config struct {
	ID kv.ShardID
	// Node is the node of the shard, whose gateway deletes expired keys; 0 for none.
	Node kv.NodeID
	// Gateway is the gateway in the shard's process, whose readers end with the process; 0 for none.
	Gateway kv.NodeID
	// Nodes is the number of nodes, whose gateways receive announcements of the number of aborts; 0
	// for none.
	Nodes int
	// Lock configures the lock table.
	Lock locktable.Options
	// CacheBytes bounds the memory of keys that no task references. Default 32 MiB.
	CacheBytes int
	// Memory bounds the commits, and the aborts, that are in memory. Default 32768.
	Memory int
	// Retention is how long outcomes are kept. Default kv.DefaultRetention.
	Retention time.Duration
	// Repeat is the first interval between two sendings of a message that has had no response. It
	// doubles up to Liveness. Default kv.DefaultRepeat.
	Repeat time.Duration
	// Liveness is after how long a silent peer is queried. Default kv.DefaultLiveness.
	Liveness time.Duration
	// Lease is for how long a reader may be registered without a renewal. A new incarnation of the
	// shard seals and decides nothing until the leases of earlier ones have ended. Default
	// kv.DefaultLease; negative if readers never register.
	Lease time.Duration
	// UnsealAfter and HoldBound configure the snapshot-queues. If UnsealAfter is 0, it is the
	// measured median of decisions, at most kv.DefaultUnsealAfter.
	UnsealAfter, HoldBound time.Duration
	// Snapshots configures retained snapshots. The zero value retains none.
	Snapshots SnapshotConfig
	// Heat configures the load reports. The zero value sends none.
	Heat HeatConfig
	// GarbageBatch is how many replaced versions are collected at once. Default 1024; they are
	// collected once a second at the latest.
	GarbageBatch int
	// ExpiryInterval is the interval between two searches for expired keys. Default kv.DefaultDueEvery.
	ExpiryInterval time.Duration
	// ExpiryRetry is after what time a deletion that has not happened is requested again. Default 10 s.
	ExpiryRetry time.Duration
	// TrustClock: an operator has confirmed the time of day at the start (package timeofday).
	TrustClock bool
	// Home returns the home shard of a key. Only the hot shard needs it; nil if no key is moved
	// here.
	Home func(key []byte) kv.ShardID
	// MaxKeyReferences bounds the references to one key: tasks that wait for it, pending commits and
	// prepared rows. At the bound, new work is rejected. Default kv.DefaultMaxKeyReferences.
	MaxKeyReferences int
	// Sharing switches off parts of the concurrency of commuting operations, for baselines.
	Sharing Sharing
	// Paging is which values are stored in pages.
	Paging mvcc.Paging
	// Mutants are the planted faults, in tests.
	Mutants mutant.Set
	// Trace is notified of decisions and visible effects, in tests.
	Trace Trace
}

func (c *Config) storeConfig(now int64, rec *Recovered) store.Config {
	var earlier store.EarlierStates
	if rec.Replica != nil {
		earlier = store.EarlierStates{CSN: rec.Replica.CSN, Until: now + int64(kv.DefaultScanRetention)}
	}
	return store.Config{Earlier: earlier, Replicated: rec.Replica != nil, Collected: rec.Retention,
		CacheBytes: c.CacheBytes, GarbageBatch: c.GarbageBatch, Paging: c.Paging,
		NoCombining: bool(c.Sharing.Combining), NoRetention: c.Snapshots.Every <= 0}
}

// snapshotConfig is the configuration of retained snapshots. A time of day is in doubt for as long
// as it is for outcomes.
func (c *Config) snapshotConfig() past.Config {
	p := c.Snapshots
	p.Doubt = c.Retention
	return p
}

// lockOptions are the options of the lock table.
func (c *Config) lockOptions() locktable.Options {
	opt := c.Lock
	opt.NoPhasing = opt.NoPhasing || bool(c.Sharing.Phasing)
	return opt
}

func (c Config) withDefaults() Config {
	if c.CacheBytes == 0 {
		c.CacheBytes = 32 << 20
	}
	if c.Memory == 0 {
		// About 10 MB when full.
		c.Memory = 32768
	}
	if c.Retention == 0 {
		c.Retention = kv.DefaultRetention
	}
	if c.Repeat == 0 {
		c.Repeat = kv.DefaultRepeat
	}
	if c.Liveness == 0 {
		c.Liveness = kv.DefaultLiveness
	}
	if c.Lease == 0 {
		c.Lease = kv.DefaultLease
	}
	if c.GarbageBatch == 0 {
		c.GarbageBatch = 1024
	}
	if c.ExpiryInterval == 0 {
		c.ExpiryInterval = kv.DefaultExpiryInterval
	}
	if c.ExpiryRetry == 0 {
		c.ExpiryRetry = 2 * kv.DefaultExpiryTimeout
	}
	if c.MaxKeyReferences == 0 {
		c.MaxKeyReferences = kv.DefaultMaxKeyReferences
	}
	c.Paging = c.Paging.WithDefaults()
	c.Lock.WoundInterval, c.Lock.PushInterval, c.Lock.Mutants = c.Repeat, c.Liveness, c.Mutants
	return c
}

// FoldChain replays a chain of versions that has been read. For a large value that takes up to 100
// ms. The goroutine that reads may call it before it passes the result on, so that the step does not
// block for that time.
func FoldChain(r *entry.ReadResult) { store.Fold(r) }

// IsPast reports whether a request reads a past state, which a ReplicaReader can serve.
func IsPast(q *msg.Read) bool { return past.IsPast(q) }
