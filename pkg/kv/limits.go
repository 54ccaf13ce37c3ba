package kv

import "time"

// The limits of requests. A request beyond a limit fails with KindInvalid and names the limit;
// nothing is truncated.
const (
	// MaxKeyBytes bounds a key; the minimum is 1.
	MaxKeyBytes = 4 << 10
	// MaxValueBytes bounds a value; it may be empty.
	MaxValueBytes = 1 << 20
	// MaxStateBytes bounds what a key of a data type other than register and
	// counter holds, in its stored form. Concurrent updates may exceed it slightly.
	MaxStateBytes = 8 << 20
	// MaxMovedBytes bounds the value of a key that is moved to the hot shard.
	MaxMovedBytes = 1 << 20
	// MaxTxnBytes bounds the keys and values of one transaction together.
	MaxTxnBytes = 16 << 20
	// MaxTxnOps bounds the operations of one transaction, and the keys that
	// its delete-ranges remove.
	MaxTxnOps = 10_000
	// MaxAnswerBytes bounds the encoded results of one transaction, or of one step of an
	// interactive one.
	MaxAnswerBytes = MaxTxnBytes + 128*MaxTxnOps
	// MaxNodeMessageBytes bounds a message between nodes. Four times the largest transaction leaves
	// room for the results of one.
	MaxNodeMessageBytes = 4 * MaxTxnBytes
	// MaxReplyBytes bounds the results that a shard sends in one message, so that the locks that
	// were granted fit beside them.
	MaxReplyBytes = MaxNodeMessageBytes - MaxTxnBytes - 2<<20
	// ResponseHeadroom is reserved in a response for the id, the token and the framing.
	ResponseHeadroom = 32 << 10
	// DefaultMaxResponseBytes is the maximum size of a response if the request has none: the
	// default receive limit of gRPC clients. MinMaxResponseBytes is the minimum that a
	// request may set.
	DefaultMaxResponseBytes = 4 << 20
	MinMaxResponseBytes     = 64 << 10
	// MoreThanAnAnswer is the text of the error of a read that exceeds MaxAnswerBytes.
	MoreThanAnAnswer = "the ranges that the transaction reads hold more than an answer can"
	// MaxTypeName bounds the name of a data type, and of its methods.
	MaxTypeName = 64
	// MaxSavepoints bounds the savepoints of a transaction, MaxSavepointName the
	// bytes of their names.
	MaxSavepoints    = 1000
	MaxSavepointName = 64
	// MaxScanLimit bounds the pairs that one scan operation returns.
	MaxScanLimit = 10_000
	// ScanPageBytes bounds a page of a scan at a kept index, but for its last pair.
	// The gateway holds one of each shard for as long as the client does not read.
	ScanPageBytes = 256 << 10
	// MaxShards bounds the shards of a cluster, the hot one included. Shard
	// ids are two bytes in keys; the bound is far lower because each shard
	// is a goroutine on some node and an entry of every vector clock.
	MaxShards = 1024
	// MaxNodes bounds the first members of a cluster.
	MaxNodes = 128
	// Slots is the number of hash slots that keys fall into.
	Slots = 4096
	// MaxRecordResultBytes is how much of a transaction's results its record
	// keeps for outcome queries. Above it the outcome has no results.
	MaxRecordResultBytes = 4 << 10
	// MinTTL and MaxTTL bound the time to live of a key. MaxTTL is 10 years.
	MinTTL = time.Millisecond
	MaxTTL = 10 * 365 * 24 * time.Hour
	// MaxExpires bounds when a key may expire, in milliseconds since 1970: in the
	// year 2223. Sums with other times do not overflow.
	MaxExpires = 8_000_000_000_000
)

// CheckTTL returns an error if a time to live is out of bounds.
func CheckTTL(ttl time.Duration) error {
	if ttl >= MinTTL && ttl <= MaxTTL {
		return nil
	}
	e := Errorf(KindInvalid, "the time to live is %v", ttl)
	e.Hint = "a key lives for 1 ms to ten years (87600h); without a time to live it stays until it is deleted"
	return e
}

// Defaults of the protocol's times (docs/protocol.md says what each is for).
const (
	MaxTxnAge         = 60 * time.Second
	DefaultRetention  = 10 * time.Minute
	DefaultRepeat     = 50 * time.Millisecond
	DefaultMarkGrace  = 5 * time.Millisecond
	DefaultLiveness   = time.Second
	DefaultPhaseTime  = 2 * time.Millisecond
	DefaultPhaseCount = 64
	DefaultIdleGrace  = time.Second
	DefaultScanKeep   = time.Minute
	// DefaultHoldBurst is for how long the locks of one user hold up others before they have to share
	// the time.
	DefaultHoldBurst = time.Second
	// DefaultLease is how long a reader is registered; its gateway counts a
	// tenth less, for clocks whose rates differ.
	DefaultLease = 2 * time.Second
	// DefaultRoundWait is how long a snapshot round waits for a shard. It must be far above
	// the time that a message takes: a shard that does not answer by then has no part in the
	// state.
	DefaultRoundWait = 30 * time.Millisecond
	// DefaultRoundLease is how long a shard is registered for a round: longer than two waits,
	// and far shorter than a reader's lease, since all of its updates are held meanwhile. The
	// gateway relies on 85 % of it.
	DefaultRoundLease = 100 * time.Millisecond
	// DefaultRoundRepeat is the first time between two sendings of a round's request.
	DefaultRoundRepeat = 10 * time.Millisecond
	// DefaultLeftOut is for how long at least a shard that did not answer a round has no part
	// in the next ones.
	DefaultLeftOut = 500 * time.Millisecond
	// DefaultUnsealAfter is how long a reader waits for a decision before the
	// last agent is asked to put it off.
	DefaultUnsealAfter = time.Millisecond
	// DefaultHoldBound is the held age of an update above which no reader may
	// register on the keys that it writes.
	DefaultHoldBound = 20 * time.Millisecond
	// DefaultOpenBudget is how long an interactive reader stays registered
	// before it is pinned.
	DefaultOpenBudget = 50 * time.Millisecond
	// DefaultCrowdFor is for how long a gateway pins open readers from the start
	// after a shard has refused one.
	DefaultCrowdFor = time.Second
	// MaxIDAhead is how far the time in a transaction's id may be ahead of the node's
	// clock. What is remembered about a transaction is kept until its id is old, so an
	// id from the far future would be kept for as long.
	MaxIDAhead = 10 * time.Minute
	// DefaultHeatEvery is how often shards tell which of their keys are hot, and
	// gateways hear of those of all shards.
	DefaultHeatEvery = 250 * time.Millisecond
	// DefaultMoveTime is how long a key's move between shards may take.
	DefaultMoveTime = 5 * time.Second
	// DefaultDueEvery is how often shards look for keys that are to expire.
	DefaultDueEvery = 100 * time.Millisecond
	// DefaultExpiryTime is how long a gateway tries to delete a key that is due.
	DefaultExpiryTime = 5 * time.Second
	// DefaultPinEvery is how often a state is fixed while there are writes, and
	// DefaultHistory how long it is kept for reads as of a time.
	DefaultPinEvery = time.Second
	DefaultHistory  = 10 * time.Minute
	// DefaultDiskReserve is how many bytes are kept free on a store's disk.
	DefaultDiskReserve = 256 << 20
	DefaultMaxWaiters  = 4096
	// DefaultMaxKeyPins is how many transactions may hold one key in a shard's
	// memory: what four gateways admit of one key.
	DefaultMaxKeyPins  = 8192
	DefaultMaxInFlight = 16384
	// MaxFences is how many ids a user may have closed on a shard by asking for their outcomes, until
	// they are as old as outcomes may be asked for. It is how many transactions a node has under way at
	// most: one that is lost with its node may have them all asked for.
	MaxFences = DefaultMaxInFlight
)

// RoundGap is what a gateway leaves between two rounds where so many gateways make
// them. Rounds hold whole shards, and are never refused: without gaps those of many
// gateways would overlap, and leave no time for updates.
func RoundGap(gateways int) time.Duration {
	return max(5*time.Millisecond, time.Duration(gateways)*1500*time.Microsecond)
}
