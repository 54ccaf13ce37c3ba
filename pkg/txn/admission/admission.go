package admission

import (
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Options are the bounds of a gateway. 0 is the default.
type Options struct {
	// Shards is the number of shards.
	Shards int
	// Slots is the number of slots. Default: kv.DefaultMaxInFlight.
	Slots int
	// PerShard bounds the slots of one shard. Default: half of Slots.
	PerShard int
	// PerKey bounds the slots of one key. Default: a 16th of Slots, 1,024 on a node. This keeps a key busy even if
	// messages take 5 ms, and is a quarter of the requests in flight of one client stream.
	PerKey int
	// Open bounds the slots of interactive transactions, whose keys are unknown when they begin, and whose duration
	// depends on the client. Default: half of Slots.
	Open int
	// Always is the number of slots that a key or a shard may have in any case. Default: Slots/128, at least 1.
	Always int
	// Mutants are the rules to break, in tests.
	Mutants mutant.Set
}

func (o Options) withDefaults() Options {
	def := func(p *int, d int) {
		if *p == 0 {
			*p = max(d, 1)
		}
	}
	def(&o.Slots, kv.DefaultMaxInFlight)
	def(&o.PerShard, o.Slots/2)
	def(&o.PerKey, o.Slots/16)
	def(&o.Open, o.Slots/2)
	def(&o.Always, o.Slots/128)
	o.Always = min(o.Always, o.PerKey)
	return o
}

// Split returns the bounds of each of n gateways that share these. A default stays a default.
func (o Options) Split(n int) Options {
	for _, p := range []*int{&o.Slots, &o.PerShard, &o.PerKey, &o.Open, &o.Always} {
		*p = (*p + n - 1) / n
	}
	return o
}

// Cause is the reason of a refusal.
type Cause uint8

const (
	// ByKey: one of the keys has all its slots.
	ByKey Cause = iota
	// ByShard: one of the shards has all its slots.
	ByShard
	// ByOpen: interactive transactions have all their slots.
	ByOpen
	// ByNode: no slot is free.
	ByNode
	// Causes is the number of causes.
	Causes
)

func (c Cause) String() string { return [...]string{"key", "shard", "open", "node"}[c] }

// Refusal describes why a transaction is not admitted.
type Refusal struct {
	Cause Cause
	// Key is the key, if the cause is ByKey. Shard is its shard, or the shard of ByShard.
	Key   []byte
	Shard kv.ShardID
	// InFlight is the number of transactions in flight that count, Limit their current bound.
	InFlight, Limit int
	// Retry is the time after which to retry, between MinRetry and MaxRetry.
	Retry time.Duration
}

// Counters count events; they only rise.
type Counters struct {
	// Refused is indexed by cause.
	Refused [Causes]uint64
	// Displaced counts refusals, except ByKey, while a key had more than PerKey slots or a shard more than PerShard: an
	// excess occupied the slot. It is 0 except for keys and shards that interactive transactions use after their
	// admission.
	Displaced uint64
}

// Add adds the counters of another gateway.
func (c *Counters) Add(o Counters) {
	for i := range c.Refused {
		c.Refused[i] += o.Refused[i]
	}
	c.Displaced += o.Displaced
}

// Claim is the keys that a transaction uses: those of operations, and others. Neither may change while it is in
// flight. Keys has no key twice, and none of Ops.
type Claim struct {
	Ops  []msg.Op
	Keys [][]byte
}

func (c *Claim) len() int { return len(c.Ops) + len(c.Keys) }

// key returns key number i, nil if it is a range.
func (c *Claim) key(i int) []byte {
	if i >= len(c.Ops) {
		return c.Keys[i-len(c.Ops)]
	}
	if op := &c.Ops[i]; !op.IsRange() {
		return op.Key
	}
	return nil
}

// Ticket is what a transaction occupies. The zero value is nothing.
type Ticket struct {
	held, open bool
	count      uint16
	inline     [3]kv.ShardID
	more       *[]kv.ShardID
}

// Held reports whether the transaction is admitted.
func (t *Ticket) Held() bool { return t.held }

func (t *Ticket) shard(i int) kv.ShardID {
	if i < len(t.inline) {
		return t.inline[i]
	}
	return (*t.more)[i-len(t.inline)]
}

func (t *Ticket) has(s kv.ShardID) bool {
	for i := range int(t.count) {
		if t.shard(i) == s {
			return true
		}
	}
	return false
}

// Most transactions have at most three shards, and allocate nothing.
func (t *Ticket) add(s kv.ShardID) {
	if int(t.count) < len(t.inline) {
		t.inline[t.count] = s
	} else {
		if t.more == nil {
			t.more = new([]kv.ShardID)
		}
		*t.more = append(*t.more, s)
	}
	t.count++
}

// numBuckets is the number of buckets. The value is somewhat arbitrary: 8 KiB, and the slots of a state machine make
// two transactions per bucket.
const numBuckets = 1024

// bucket counts the operations on its keys.
type bucket struct {
	n uint32
	// watched is the count when its keys began to be counted exactly, 0 if they are not.
	watched uint32
	// fresh: the exact counts are about to be made.
	fresh bool
}

// watchedKey is the exact count of a key.
type watchedKey struct {
	queue
	bucket uint32
	// stamp is the number of the last claim counted here: a key counts once per claim.
	stamp uint64
	// limit is the bound since the key's shard has refused a request, 0 for none. served counts the completions since
	// limit was raised.
	limit, served int
}

// Slots are the slots of one gateway. Use New to make one.
//
// Invariants, verified by the tests:
//  1. The counter of a bucket is the number of operations in flight on its keys.
//  2. The exact count of a key in a watched bucket is the number of transactions in flight that use it; a key without
//     transactions has no count.
//  3. The bucket of a key with more than PerKey transactions is watched.
//  4. excess is the number of keys with more than PerKey, and shards with more than PerShard transactions.
type Slots struct {
	opt     Options
	node    queue
	open    queue
	shards  []queue
	buckets []bucket
	keys    map[string]*watchedKey
	stamp   uint64
	excess  int
	// fresh are the buckets whose exact counts are about to be made.
	fresh []uint32
	// inFlight yields the claims of all ticket holders.
	inFlight func(yield func(Claim))
	counters Counters
}

// New makes slots that are all free. under yields the claims of the transactions that hold a ticket, in any
// order.
func New(opt Options, under func(yield func(Claim))) *Slots {
	opt = opt.withDefaults()
	return &Slots{opt: opt, shards: make([]queue, opt.Shards), buckets: make([]bucket, numBuckets),
		keys: map[string]*watchedKey{}, inFlight: under}
}

// Counters returns the counters.
func (p *Slots) Counters() Counters { return p.counters }

// OccupiedCount is the number of occupied slots.
func (p *Slots) OccupiedCount() int { return p.node.n }

// WatchedCount is the number of keys that are counted exactly.
func (p *Slots) WatchedCount() int { return len(p.keys) }

// CheckEmpty returns an error if something is left when no transaction is in flight.
func (p *Slots) CheckEmpty() error {
	left := p.node.n + p.open.n + len(p.keys) + p.excess
	for i := range p.shards {
		left += p.shards[i].n
	}
	for i := range p.buckets {
		left += int(p.buckets[i].n)
	}
	if left != 0 {
		return fmt.Errorf("admission: %d slots, %d of interactive transactions, and %d keys are in use, "+
			"%d exceed their bounds, %d in all",
			p.node.n, p.open.n, len(p.keys), p.excess, left)
	}
	return nil
}

func bucketOf(key []byte) uint32 { return uint32(xxhash.Sum64(key) % numBuckets) }

// shardLimit is the current bound of a shard, keyLimit that of a key on it.
func (p *Slots) shardLimit() int { return min(p.opt.PerShard, p.opt.Slots-p.node.n) }

// As the node fills up, the bound falls: the last slots are for keys and shards that have few.
func (p *Slots) keyLimit(s kv.ShardID) int {
	return max(p.opt.Always, min(p.opt.PerKey, p.shardLimit()-p.shards[s].n))
}

// CheckKeys refuses a transaction if one of its keys on a shard has all its slots.
//
// Only if the bucket of a key is near the bound, or is watched already, are its keys counted exactly: with few
// transactions per bucket the check costs a hash and a comparison per key.
func (p *Slots) CheckKeys(now int64, s kv.ShardID, ops []msg.Op) *Refusal {
	limit := p.keyLimit(s)
	mayExceed := false
	for i := range ops {
		if ops[i].IsRange() {
			continue
		}
		at := bucketOf(ops[i].Key)
		sl := &p.buckets[at]
		if int(sl.n) < limit && sl.watched == 0 {
			continue
		}
		mayExceed = true
		p.watch(at)
	}
	if !mayExceed {
		return nil
	}
	p.countFresh(now)
	for i := range ops {
		if ops[i].IsRange() {
			continue
		}
		k := p.keys[string(ops[i].Key)]
		if k == nil {
			continue
		}
		if share, n := k.limitWithin(limit), p.countOf(k); n >= share {
			return p.refuse(&Refusal{Cause: ByKey, Key: ops[i].Key, Shard: s, InFlight: n, Limit: share, Retry: k.Retry(now)})
		}
	}
	return nil
}

// CheckShard refuses a transaction if a shard has all its slots.
func (p *Slots) CheckShard(now int64, s kv.ShardID) *Refusal {
	l := &p.shards[s]
	if limit := max(p.opt.Always, p.shardLimit()); l.n >= limit {
		return p.refuse(&Refusal{Cause: ByShard, Shard: s, InFlight: l.n, Limit: limit, Retry: l.Retry(now)})
	}
	return nil
}

// CheckNode refuses a transaction if no slot is free.
func (p *Slots) CheckNode(now int64) *Refusal {
	if p.node.n >= p.opt.Slots {
		return p.refuse(&Refusal{Cause: ByNode, InFlight: p.node.n, Limit: p.opt.Slots, Retry: p.node.Retry(now)})
	}
	return nil
}

// CheckOpen is CheckNode for an interactive transaction.
func (p *Slots) CheckOpen(now int64) *Refusal { return p.checkOpen(now, p.opt.Open) }

// CheckRetry is CheckOpen for a later attempt of an admitted transaction. Its bound is higher: new transactions,
// which have occupied its slot in between, do not keep it out.
func (p *Slots) CheckRetry(now int64) *Refusal { return p.checkOpen(now, p.opt.Open+p.opt.Open/2) }

func (p *Slots) checkOpen(now int64, share int) *Refusal {
	r := p.CheckNode(now)
	if r == nil && p.open.n >= share {
		r = p.refuse(&Refusal{Cause: ByOpen, InFlight: p.open.n, Limit: share, Retry: p.open.Retry(now)})
	}
	return r
}

// OnShardRefusal handles a refusal by a key's shard of a transaction that this gateway had admitted: other gateways
// use the key too. From now on its current count is the bound, which rises slowly as transactions are served. Without
// this, each completion would admit a transaction only for the shard to refuse it.
//
// Example. Four gateways have 1,024 slots each for k, and the shard admits 2,000 transactions for it. When this gateway
// has 500 in flight and one is refused, 500 is its bound from now on.
func (p *Slots) OnShardRefusal(now int64, key []byte) {
	at := bucketOf(key)
	p.watch(at)
	p.countFresh(now)
	k := p.keys[string(key)]
	if k == nil {
		return
	}
	k.limit, k.served = max(k.n, p.opt.Always), 0
	p.buckets[at].watched = min(p.buckets[at].watched, uint32(k.limit))
}

// limitWithin is the bound of the key, at most limit.
func (k *watchedKey) limitWithin(limit int) int {
	if k.limit > 0 {
		return min(k.limit, limit)
	}
	return limit
}

func (p *Slots) refuse(r *Refusal) *Refusal {
	p.counters.Refused[r.Cause]++
	if r.Cause != ByKey && p.excess > 0 {
		p.counters.Displaced++
	}
	return r
}

// Occupy occupies a slot and counts the keys. It may be called for every transaction, also for one that a
// check refuses.
func (p *Slots) Occupy(now int64, t *Ticket, open bool, c Claim) {
	p.node.add(now)
	if open {
		p.open.add(now)
	}
	p.AddKeys(now, c)
	t.held, t.open = true, open
}

// AddShard counts a transaction for a shard, once.
func (p *Slots) AddShard(now int64, t *Ticket, s kv.ShardID) {
	if t.has(s) {
		return
	}
	t.add(s)
	l := &p.shards[s]
	l.add(now)
	if l.n == p.opt.PerShard+1 {
		p.excess++
	}
}

// AddKeys counts a transaction for more keys. During the call, the transaction's own claim does not
// contain these.
//
// Buckets that come near the bound are counted exactly first, from the claims of the transactions in flight; the
// transaction's own claim is added afterwards, so it is not counted twice.
func (p *Slots) AddKeys(now int64, c Claim) {
	for i := range c.len() {
		if key := c.key(i); key != nil {
			at := bucketOf(key)
			if int(p.buckets[at].n)+1 >= p.opt.PerKey {
				p.watch(at)
			}
		}
	}
	p.countFresh(now)
	for i := range c.len() {
		if key := c.key(i); key != nil {
			p.buckets[bucketOf(key)].n++
		}
	}
	p.count(now, c)
}

// Free frees all that a transaction occupies; c is its whole claim. unserved: its shard refused it, so it does not
// count as a completion.
func (p *Slots) Free(now int64, t *Ticket, c Claim, unserved bool) {
	if !p.occupies(t) {
		return
	}
	p.node.remove(now, unserved)
	if t.open {
		p.open.remove(now, unserved)
	}
	for i := range int(t.count) {
		l := &p.shards[t.shard(i)]
		l.remove(now, unserved)
		if l.n == p.opt.PerShard {
			p.excess--
		}
	}
	p.uncount(now, c, unserved)
	*t = Ticket{}
}
