package shard

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/past"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
	"github.com/linchpindb/linchpin/pkg/shard/timeofday"
)

// Sharing says what transactions on one key make of it that they commute. Disk is how much of the
// disk is free.
type (
	Sharing = exec.Sharing
	Locks   = exec.Locks
	// Trace is told what the messages alone do not show.
	Trace = step.Trace
	// PinConfig says how states of the whole store are kept.
	PinConfig = past.Config
	Off       = exec.Off
	Disk      = exec.Space
	// Peers is how a node's time of day compares with the others', Doubt why it is not relied on.
	Peers = timeofday.Peers
	Doubt = timeofday.Doubt
)

// These are the values of Locks, Disk and Peers, and those of Doubt that its readers know.
const (
	AbstractLocks = exec.AbstractLocks
	RWLocks       = exec.RWLocks
	DiskRoomy     = exec.SpaceEnough
	DiskLow       = exec.SpaceLow
	DiskFull      = exec.SpaceNone
	PeersUnknown  = timeofday.PeersUnknown
	PeersAgree    = timeofday.PeersAgree
	PeersDiffer   = timeofday.PeersDiffer
	NoDoubt       = timeofday.None
	ClockYoung    = timeofday.Young
)

// Config is what a shard is made with.
type Config struct {
	ID kv.ShardID
	// Node is the one that the shard is on, whose gateway deletes keys that are
	// due; 0 if nobody does.
	Node kv.NodeID
	// Gateway is the gateway in the shard's process, whose readers end when that does; 0 for
	// none.
	Gateway kv.NodeID
	// Nodes is how many nodes there are, whose gateways are told how many attempts have
	// been aborted; 0 if none is.
	Nodes int
	// Lock are the lock table's bounds and times.
	Lock locktable.Options
	// CacheBytes bounds the memory of keys that nobody needs at the moment.
	// Default 32 MiB.
	CacheBytes int
	// Memory bounds the commits, and the aborts, that are remembered without
	// asking the log. Default 32768.
	Memory int
	// Retention is how long outcomes are kept. Default kv.DefaultRetention.
	Retention time.Duration
	// Repeat is the first time between two sendings of a message that has no
	// answer; it doubles up to Liveness. Default kv.DefaultRepeat.
	Repeat time.Duration
	// Liveness is how long a silence lasts before somebody is asked. Default
	// kv.DefaultLiveness.
	Liveness time.Duration
	// Lease is for how long readers may be registered; a new life of the shard
	// waits for so long before it seals or decides anything. Default
	// kv.DefaultLease; negative where readers never register.
	Lease time.Duration
	// UnsealAfter and HoldBound are those of the snapshot-queues. 0 of the first is
	// what a decision mostly takes, as measured here, and at most
	// kv.DefaultUnsealAfter.
	UnsealAfter, HoldBound time.Duration
	// Pins says how states of the whole store are kept. The zero value keeps none.
	Pins PinConfig
	// Heat says how hot keys are told of. The zero value tells nobody.
	Heat HeatConfig
	// GarbageBatch is how many replaced versions are collected at once.
	// Default 1024; they are collected once a second at the latest.
	GarbageBatch int
	// DueEvery is how often the shard looks for keys that are due, of which it has
	// duePerLook deleted at most. Default kv.DefaultDueEvery.
	DueEvery time.Duration
	// DueAgain is after what time a deletion is asked for anew that has not happened.
	// Default 10 s.
	DueAgain time.Duration
	// TrustClock: an operator has vouched for the time of day at the start (package timeofday).
	TrustClock bool
	// Home is the shard on which a key lives that has not been moved. Only the
	// shard that keys are moved to needs it; nil where all keys are at home, or
	// marked as gone.
	Home func(key []byte) kv.ShardID
	// MaxKeyPins bounds how many hold one key in memory: those who wait for it,
	// are parked with it, or have prepared it. One more that is new here is
	// refused. Default kv.DefaultMaxKeyPins.
	MaxKeyPins int
	// Sharing says what is made of it that operations commute.
	Sharing Sharing
	// Paging says which values are stored in pages.
	Paging mvcc.Paging
	// Mutants are the rules to break, in tests.
	Mutants mutant.Set
	// Trace hears of decisions and of what becomes visible, in tests.
	Trace Trace
}

func (c *Config) storeConfig() store.Config {
	return store.Config{CacheBytes: c.CacheBytes, GarbageBatch: c.GarbageBatch, Paging: c.Paging, Apart: bool(c.Sharing.Combining),
		KeepsNothing: c.Pins.Every <= 0}
}

// pinConfig is that of kept states.
func (c *Config) pinConfig() past.Config {
	p := c.Pins
	p.Doubt = c.Retention
	return p
}

// lockOptions are those of the lock table.
func (c *Config) lockOptions() locktable.Options {
	opt := c.Lock
	opt.NoPhasing = opt.NoPhasing || bool(c.Sharing.Phasing)
	return opt
}

func (c Config) withDefaults() Config {
	if c.CacheBytes == 0 {
		c.CacheBytes = 32 << 20
	}
	if c.Memory == 0 { // some 10 MB when full
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
	if c.DueEvery == 0 {
		c.DueEvery = kv.DefaultDueEvery
	}
	if c.DueAgain == 0 {
		c.DueAgain = 2 * kv.DefaultExpiryTime
	}
	if c.MaxKeyPins == 0 {
		c.MaxKeyPins = kv.DefaultMaxKeyPins
	}
	c.Paging = c.Paging.WithDefaults()
	c.Lock.Repeat, c.Lock.Liveness, c.Lock.Mutants = c.Repeat, c.Liveness, c.Mutants
	return c
}

// Fold makes the value of a chain that has been read, which takes up to a tenth of a second if it
// is large. A reader may call it before it answers, so that the shard does not stand still for as
// long.
func Fold(r *entry.ReadResult) { store.Fold(r) }
