package env

import (
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
)

// Never is the time of a timer that is not set.
const Never = int64(math.MaxInt64)

// Router places keys on shards, and shards on nodes.
type Router interface {
	Shard(key []byte) kv.ShardID
	Shards() int
	HotShard() kv.ShardID
	Hotter(a, b kv.ShardID) bool
	Node(kv.ShardID) kv.NodeID
}

// Order is the order in which the shards of a transaction lock and decide.
type Order uint8

const (
	// HotLast: the last agent locks its keys in the deciding step.
	HotLast Order = iota
	// Parallel is ordinary two-phase commit, a baseline: all shards, the last agent included, lock and prepare before
	// the decision.
	Parallel
)

func (o Order) String() string { return [...]string{"hot-last", "parallel"}[o] }

// ParseOrder parses the output of String.
func ParseOrder(s string) (Order, error) {
	for _, o := range []Order{HotLast, Parallel} {
		if s == o.String() {
			return o, nil
		}
	}
	return 0, kv.Errorf(kv.KindInvalid, "commit order %q; use hot-last or parallel", s)
}

// RoundTimes are the times of snapshot rounds.
type RoundTimes struct {
	// Wait is how long a round waits for a shard. Default: kv.DefaultRoundWait, at most 30 % of Lease.
	Wait time.Duration
	// Lease is for how long a shard is registered for a round. Default: kv.DefaultRoundLease, at most
	// Config.Lease.
	Lease time.Duration
	// LeftOut is the least time for which rounds leave out a shard that did not respond. Default:
	// kv.DefaultRoundExclusion.
	LeftOut time.Duration
}

// Machine is the place of a state machine among those of its node.
type Machine struct {
	// Stripe is the number of this state machine among the Stripes of its node. Stripes 0 means one.
	Stripe, Stripes int
	// Incarnations are shared by the state machines of the node. Default: those of this one.
	Incarnations Incarnations
	// Borrows: another state machine of the node makes the snapshots for this one, except for scans
	// (Output.BorrowSnapshot).
	Borrows bool
}

// Config configures the state machine of a gateway.
type Config struct {
	Node   kv.NodeID
	Router Router
	Machine
	// Incarnation counts the starts of the node. It is part of the names of commits (kv.CommitID), so it must be
	// durable before the state machine sends anything.
	Incarnation uint32
	// Replicated: shards have several replicas. A node that is down or draining makes no shard unavailable then, since
	// another leader serves soon (R14.7).
	Replicated bool
	// NoLeases: the rates of clocks are not bounded, and no registration is relied on that a shard has not confirmed
	// (R3.14). Then reads on several shards lock, and Reads is not used.
	NoLeases bool
	Order    Order
	// Reads is the way in which read-only transactions read. Plan is their read plan, if there is a choice.
	Reads Reads
	Plan  Plan
	// Lease is the duration of a reader's registration, as configured at the shards. Default: kv.DefaultLease.
	Lease time.Duration
	// OpenBudget is for how long an interactive reader is registered and holds updates. After that it reads at a
	// snapshot. Default: kv.DefaultOpenBudget; negative for no bound.
	OpenBudget time.Duration
	// SnapshotFirstFor is for how long after a refusal of an open reader new ones begin at a snapshot. Default:
	// kv.DefaultSnapshotReadersFor; negative for not at all.
	SnapshotFirstFor time.Duration
	// RoundGap is the least time between two snapshot rounds; kv.MinRoundPause computes it. Default: the one for a single
	// gateway; negative for none.
	RoundGap time.Duration
	// Round has the other times of snapshot rounds.
	Round RoundTimes
	// NoSharing: a one-shot read does not share the result of an identical one that has not been sent yet.
	NoSharing bool
	// NoOptimistic: reads on the hot shard take locks at once.
	NoOptimistic bool
	// NoEarlyLocks: reads of interactive transactions never write-lock, whatever their habit. For measurements.
	NoEarlyLocks bool
	// Repeat is the time before the first retry of a request; it doubles up to Liveness. Default:
	// kv.DefaultRepeat.
	Repeat time.Duration
	// Liveness bounds the time between retries. Default: kv.DefaultLiveness.
	Liveness time.Duration
	// IdleTimeout is for how long a wounded interactive transaction may be idle. Default: kv.DefaultIdleTimeout.
	IdleTimeout time.Duration
	// MaxAge bounds the duration of a transaction. Default: kv.MaxTxnAge.
	MaxAge time.Duration
	// MaxInFlight bounds the number of transactions; further ones are refused. Default: kv.DefaultMaxInFlight.
	MaxInFlight int
	// Admission has the bounds of keys, shards and interactive transactions. Its Places and Shards are not used.
	Admission admission.Options
	// Epoch is the time of day at Now 0, in nanoseconds since 1970, for the times to live that open
	// transactions read.
	Epoch int64
	// Mutants are the rules to break, in tests.
	Mutants mutant.Set
}

func (c Config) withDefaults() Config {
	def := func(p *time.Duration, d time.Duration) {
		if *p == 0 {
			*p = d
		}
	}
	def(&c.Repeat, kv.DefaultRepeat)
	def(&c.Liveness, kv.DefaultLiveness)
	def(&c.Lease, kv.DefaultLease)
	def(&c.IdleTimeout, kv.DefaultIdleTimeout)
	def(&c.OpenBudget, kv.DefaultOpenBudget)
	def(&c.SnapshotFirstFor, kv.DefaultSnapshotReadersFor)
	def(&c.RoundGap, kv.MinRoundPause(1))
	def(&c.Round.Lease, min(kv.DefaultRoundLease, c.Lease))
	def(&c.Round.Wait, min(kv.DefaultRoundWait, c.Round.Lease*3/10))
	def(&c.Round.LeftOut, kv.DefaultRoundExclusion)
	def(&c.MaxAge, kv.MaxTxnAge)
	if c.NoLeases {
		c.Reads = LockingReads
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = kv.DefaultMaxInFlight
	}
	return c
}
