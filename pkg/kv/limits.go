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
	// MaxResultBytes bounds the encoded results of one transaction, or of one step of an
	// interactive one.
	MaxResultBytes = MaxTxnBytes + 128*MaxTxnOps
	// MaxNodeMessageBytes bounds a message between nodes: four times the largest transaction, to
	// have space for its results.
	MaxNodeMessageBytes = 4 * MaxTxnBytes
	// MaxShardResultBytes bounds the results that a shard sends in one message, so that the granted locks
	// fit into it, too.
	MaxShardResultBytes = MaxNodeMessageBytes - MaxTxnBytes - 2<<20
	// ResponseHeadroom is reserved in a response for the id, the token and the framing.
	ResponseHeadroom = 32 << 10
	// DefaultMaxResponseBytes is the maximum size of a response if the request has none: the
	// default receive limit of gRPC clients. MinMaxResponseBytes is the minimum that a
	// request may set.
	DefaultMaxResponseBytes = 4 << 20
	MinMaxResponseBytes     = 64 << 10
	// ResultTooLargeText is the text of the error of a read that exceeds MaxAnswerBytes.
	ResultTooLargeText = "the ranges that the transaction reads hold more than an answer can"
	// MaxTypeName bounds the name of a data type, and of its methods.
	MaxTypeName = 64
	// MaxSavepoints bounds the savepoints of a transaction, MaxSavepointName the
	// bytes of their names.
	MaxSavepoints    = 1000
	MaxSavepointName = 64
	// MaxScanLimit bounds the pairs that one scan operation returns.
	MaxScanLimit = 10_000
	// ScanPageBytes bounds a page of a scan at a snapshot, except for its last pair. The gateway
	// buffers one page per shard until the client reads it.
	ScanPageBytes = 256 << 10
	// MaxShards bounds the shards of a cluster, the hot one included. Shard
	// ids are two bytes in keys; the bound is far lower because each shard
	// is a goroutine on some node and an entry of every vector clock.
	MaxShards = 1024
	// MaxNodes bounds the first members of a cluster.
	MaxNodes = 128
	// Slots is the number of hash slots that keys fall into.
	Slots = 4096
	// MaxRecordResultBytes is the maximum size of the results that a transaction's record retains
	// for outcome queries. Above it, the outcome has no results.
	MaxRecordResultBytes = 4 << 10
	// MinTTL and MaxTTL bound the time to live of a key. MaxTTL is 10 years.
	MinTTL = time.Millisecond
	MaxTTL = 10 * 365 * 24 * time.Hour
	// MaxExpires is the latest deadline of a key, in milliseconds since 1970: in the year 2223. Sums
	// with other times do not overflow.
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

// Defaults of the protocol's times; docs/protocol.md describes them.
const (
	MaxTxnAge            = 60 * time.Second
	DefaultRetention     = 10 * time.Minute
	DefaultRepeat        = 50 * time.Millisecond
	DefaultWoundDelay    = 5 * time.Millisecond
	DefaultLiveness      = time.Second
	DefaultPhaseTime     = 2 * time.Millisecond
	DefaultPhaseCount    = 64
	DefaultIdleTimeout   = time.Second
	DefaultScanRetention = time.Minute
	// DefaultHoldBurst is the budget of time for which a user's unprepared transactions may block
	// other users.
	DefaultHoldBurst = time.Second
	// DefaultLease is how long a reader is registered. Its gateway relies on a tenth less, since
	// clock rates differ.
	DefaultLease = 2 * time.Second
	// DefaultRoundWait is how long a snapshot round waits for a shard. It must be far above the
	// delay of a message: a shard that does not respond in time has no part in the snapshot.
	DefaultRoundWait = 30 * time.Millisecond
	// DefaultRoundLease is how long a shard is registered for a round: longer than two waits,
	// and far shorter than a reader's lease, since all of its updates are held meanwhile. The
	// gateway relies on 85 % of it.
	DefaultRoundLease = 100 * time.Millisecond
	// DefaultRoundRepeat is the initial interval between retries of a round's request.
	DefaultRoundRepeat = 10 * time.Millisecond
	// DefaultRoundExclusion is the minimum time for which a shard that did not respond to a round is
	// excluded from the next rounds.
	DefaultRoundExclusion = 500 * time.Millisecond
	// DefaultUnsealAfter is how long a reader waits for a decision before the shard requests
	// unsealing from the last agent.
	DefaultUnsealAfter = time.Millisecond
	// DefaultMaxTimeBlocked is the time blocked of an update above which no reader may register on the
	// keys that it writes.
	DefaultMaxTimeBlocked = 20 * time.Millisecond
	// DefaultOpenBudget is how long an interactive reader stays registered before it continues at a
	// snapshot.
	DefaultOpenBudget = 50 * time.Millisecond
	// DefaultSnapshotReadersFor is how long a gateway gives each interactive reader a snapshot from its start,
	// after a shard has rejected a registration.
	DefaultSnapshotReadersFor = time.Second
	// MaxIDAhead is how far the time in a transaction's id may be ahead of the node's clock. State
	// about a transaction is retained until its id is old, so an id from the far future would retain
	// it for as long.
	MaxIDAhead = 10 * time.Minute
	// DefaultHeatInterval is the interval at which shards report their contended keys, and at which
	// gateways receive the heat map.
	DefaultHeatInterval = 250 * time.Millisecond
	// DefaultMoveTimeout is the timeout of a key's move between shards.
	DefaultMoveTimeout = 5 * time.Second
	// DefaultExpiryInterval is the interval at which shards look for expired keys.
	DefaultExpiryInterval = 100 * time.Millisecond
	// DefaultExpiryTimeout is how long a gateway retries the deletion of an expired key.
	DefaultExpiryTimeout = 5 * time.Second
	// DefaultSnapshotInterval is the interval of snapshots of the history while there are writes, and
	// DefaultHistory how long they are retained for reads as of a time.
	DefaultSnapshotInterval = time.Second
	DefaultHistory          = 10 * time.Minute
	// DefaultDiskReserve is the free space in bytes that is reserved on a store's disk.
	DefaultDiskReserve = 256 << 20
	DefaultMaxWaiters  = 4096
	// DefaultMaxKeyReferences is the maximum number of transactions with a reference to one key in a
	// shard's memory: as many as four gateways admit for one key.
	DefaultMaxKeyReferences = 8192
	DefaultMaxInFlight      = 16384
	// MaxFences is the maximum number of ids that outcome queries of a user may close on a shard,
	// until the ids are too old to query. It equals the maximum number of transactions in flight on
	// a node: if a node is lost, all of them may be queried.
	MaxFences = DefaultMaxInFlight
)

// MinRoundPause is the minimum pause of a gateway between two snapshot rounds. Rounds hold updates on
// whole shards and are never rejected: without pauses, the rounds of many gateways would overlap
// and leave no time for updates.
func MinRoundPause(gateways int) time.Duration {
	return max(5*time.Millisecond, time.Duration(gateways)*1500*time.Microsecond)
}
