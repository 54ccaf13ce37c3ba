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

// Router says where keys live.
type Router interface {
	Shard(key []byte) kv.ShardID
	Shards() int
	HotShard() kv.ShardID
	Hotter(a, b kv.ShardID) bool
	Node(kv.ShardID) kv.NodeID
}

// Order is the order in which a transaction locks and decides.
type Order uint8

const (
	// HotLast locks the last agent's keys inside the decision.
	HotLast Order = iota
	// Parallel is ordinary two-phase commit: every shard, the last agent
	// included, locks and prepares before the decision. It is a baseline.
	Parallel
)

func (o Order) String() string { return [...]string{"hot-last", "parallel"}[o] }

// ParseOrder reads what String wrote.
func ParseOrder(s string) (Order, error) {
	for _, o := range []Order{HotLast, Parallel} {
		if s == o.String() {
			return o, nil
		}
	}
	return 0, kv.Errorf(kv.KindInvalid, "commit order %q; use hot-last or parallel", s)
}

// RoundTimes are times of rounds, by which states of the store are fixed.
type RoundTimes struct {
	// Wait is how long a round waits for a shard. Default kv.DefaultRoundWait, at most 30 % of
	// Lease.
	Wait time.Duration
	// Lease is for how long a shard is registered for a round. Default kv.DefaultRoundLease, at
	// most Config.Lease.
	Lease time.Duration
	// LeftOut is for how long at least a shard that did not answer has no part in rounds.
	// Default kv.DefaultLeftOut.
	LeftOut time.Duration
}

// Config is what a gateway is made with.
type Config struct {
	Node   kv.NodeID
	Router Router
	// Stripe tells the machines of one node apart, of which there are Stripes; 0 is for one.
	Stripe, Stripes int
	// Incarnation counts the starts of the node: commits are named by it (kv.CommitID). It is
	// durable before the machine sends anything.
	Incarnation uint32
	Order       Order
	// Reads says how read-only transactions read, Plan by which plan when there
	// is a choice.
	Reads Reads
	Plan  Plan
	// Lease is for how long a reader registers at a time; the shards'. Default
	// kv.DefaultLease.
	Lease time.Duration
	// OpenBudget is how long an interactive reader is registered, and holds
	// updates. Then it is pinned. Default kv.DefaultOpenBudget; negative for
	// never.
	OpenBudget time.Duration
	// CrowdFor is for how long open readers are pinned from the start after one was
	// refused. Default kv.DefaultCrowdFor; negative for never.
	CrowdFor time.Duration
	// RoundGap is what is left at least between two rounds, by which states of the
	// whole store are fixed; kv.RoundGap says how much it should be. Default that for
	// one gateway; negative for nothing.
	RoundGap time.Duration
	// Round has the other times of rounds.
	Round RoundTimes
	// Borrows has another machine of the node fix the states that this one needs,
	// but for scans (Output.Borrow).
	Borrows bool
	// NoSharing has each one-shot read ask for itself, though another that is the
	// same has not been sent yet.
	NoSharing bool
	// NoOptimistic has reads on the hot shard lock at once.
	NoOptimistic bool
	// NoEarlyLocks has the reads of open transactions lock for reading at most, whatever
	// is known of what they will write. For measuring.
	NoEarlyLocks bool
	// Repeat is the first time between two sendings of what has no answer.
	// It doubles up to Liveness. Default kv.DefaultRepeat.
	Repeat time.Duration
	// Liveness bounds the time between repeats. Default kv.DefaultLiveness.
	Liveness time.Duration
	// IdleGrace is how long a marked interactive transaction may do nothing.
	// Default kv.DefaultIdleGrace.
	IdleGrace time.Duration
	// MaxAge ends any transaction. Default kv.MaxTxnAge.
	MaxAge time.Duration
	// MaxInFlight bounds the transactions; one more is refused. Default
	// kv.DefaultMaxInFlight.
	MaxInFlight int
	// Admission says which part of them a key, a shard, and interactive ones may
	// be. What it says of places and shards is not used.
	Admission admission.Options
	// Epoch is what the wall clock showed when Now was 0, in nanoseconds since 1970:
	// open transactions are told by it how long keys have to live.
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
	def(&c.IdleGrace, kv.DefaultIdleGrace)
	def(&c.OpenBudget, kv.DefaultOpenBudget)
	def(&c.CrowdFor, kv.DefaultCrowdFor)
	def(&c.RoundGap, kv.RoundGap(1))
	def(&c.Round.Lease, min(kv.DefaultRoundLease, c.Lease))
	def(&c.Round.Wait, min(kv.DefaultRoundWait, c.Round.Lease*3/10))
	def(&c.Round.LeftOut, kv.DefaultLeftOut)
	def(&c.MaxAge, kv.MaxTxnAge)
	if c.MaxInFlight == 0 {
		c.MaxInFlight = kv.DefaultMaxInFlight
	}
	return c
}
