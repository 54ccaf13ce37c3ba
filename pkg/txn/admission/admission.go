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
	// Places is the number of slots. Default: kv.DefaultMaxInFlight.
	Places int
	// PerShard bounds the slots of one shard. Default: half of Places.
	PerShard int
	// PerKey bounds the slots of one key. Default: a 16th of Places, 1,024 on a node. This keeps a key busy even if
	// messages take 5 ms, and is a quarter of the requests in flight of one client stream.
	PerKey int
	// Open bounds the slots of interactive transactions, whose keys are unknown when they begin, and whose duration
	// depends on the client. Default: half of Places.
	Open int
	// Always is the number of slots that a key or a shard may have in any case. Default: Places/128, at least 1.
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
	def(&o.Places, kv.DefaultMaxInFlight)
	def(&o.PerShard, o.Places/2)
	def(&o.PerKey, o.Places/16)
	def(&o.Open, o.Places/2)
	def(&o.Always, o.Places/128)
	o.Always = min(o.Always, o.PerKey)
	return o
}

// Split returns the bounds of each of n gateways that share these. A default stays a default.
func (o Options) Split(n int) Options {
	for _, p := range []*int{&o.Places, &o.PerShard, &o.PerKey, &o.Open, &o.Always} {
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
	// Under is the number of transactions in flight that count, Share their current bound.
	Under, Share int
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

// Places are the slots of one gateway. Use New to make one.
//
// Invariants, verified by the tests:
//  1. The counter of a bucket is the number of operations in flight on its keys.
//  2. The exact count of a key in a watched bucket is the number of transactions in flight that use it; a key without
//     transactions has no count.
//  3. The bucket of a key with more than PerKey transactions is watched.
//  4. excess is the number of keys with more than PerKey, and shards with more than PerShard transactions.
type Places struct {
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
func New(opt Options, under func(yield func(Claim))) *Places {
	opt = opt.withDefaults()
	return &Places{opt: opt, shards: make([]queue, opt.Shards), buckets: make([]bucket, numBuckets),
		keys: map[string]*watchedKey{}, inFlight: under}
}

// Counters returns the counters.
func (p *Places) Counters() Counters { return p.counters }

// Taken is the number of occupied slots.
func (p *Places) Taken() int { return p.node.n }

// Watched is the number of keys that are counted exactly.
func (p *Places) Watched() int { return len(p.keys) }

// Quiet returns an error if something is left when no transaction is in flight.
func (p *Places) Quiet() error {
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
func (p *Places) shardLimit() int { return min(p.opt.PerShard, p.opt.Places-p.node.n) }

func (p *Places) keyLimit(s kv.ShardID) int {
	return max(p.opt.Always, min(p.opt.PerKey, p.shardLimit()-p.shards[s].n))
}

// CheckKeys refuses a transaction if one of its keys on a shard has all its slots.
func (p *Places) CheckKeys(now int64, s kv.ShardID, ops []msg.Op) *Refusal {
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
		if p.opt.Mutants.Has(mutant.CollisionRefuses) && int(sl.n) >= limit {
			return p.refuse(&Refusal{Cause: ByKey, Key: ops[i].Key, Shard: s, Under: int(sl.n), Share: limit, Retry: MinRetry})
		}
		if p.opt.Mutants.Has(mutant.KeysUnlimited) {
			return nil
		}
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
		if share := k.limitWithin(limit); k.n >= share {
			return p.refuse(&Refusal{Cause: ByKey, Key: ops[i].Key, Shard: s, Under: k.n, Share: share, Retry: k.Retry(now)})
		}
	}
	return nil
}

// CheckShard refuses a transaction if a shard has all its slots.
func (p *Places) CheckShard(now int64, s kv.ShardID) *Refusal {
	l := &p.shards[s]
	if limit := max(p.opt.Always, p.shardLimit()); l.n >= limit {
		return p.refuse(&Refusal{Cause: ByShard, Shard: s, Under: l.n, Share: limit, Retry: l.Retry(now)})
	}
	return nil
}

// CheckNode refuses a transaction if no slot is free.
func (p *Places) CheckNode(now int64) *Refusal {
	if p.node.n >= p.opt.Places {
		return p.refuse(&Refusal{Cause: ByNode, Under: p.node.n, Share: p.opt.Places, Retry: p.node.Retry(now)})
	}
	return nil
}

// CheckOpen is CheckNode for an interactive transaction.
func (p *Places) CheckOpen(now int64) *Refusal { return p.checkOpen(now, p.opt.Open) }

// CheckReturning is CheckOpen for a later attempt of an admitted transaction. Its bound is higher: new transactions,
// which have occupied its slot in between, do not keep it out.
func (p *Places) CheckReturning(now int64) *Refusal { return p.checkOpen(now, p.opt.Open+p.opt.Open/2) }

func (p *Places) checkOpen(now int64, share int) *Refusal {
	r := p.CheckNode(now)
	if r == nil && p.open.n >= share {
		r = p.refuse(&Refusal{Cause: ByOpen, Under: p.open.n, Share: share, Retry: p.open.Retry(now)})
	}
	return r
}

// Bounced handles a refusal by a key's shard of a transaction that this gateway had admitted: other gateways use the
// key too. From now on its current count is the bound, which rises slowly as transactions are served. Without this,
// each completion would admit a transaction only for the shard to refuse it.
func (p *Places) Bounced(now int64, key []byte) {
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

func (p *Places) refuse(r *Refusal) *Refusal {
	p.counters.Refused[r.Cause]++
	if r.Cause != ByKey && p.excess > 0 {
		p.counters.Displaced++
	}
	return r
}

// Take occupies a slot and counts the keys. It may be called for every transaction, also for one that a
// check refuses.
func (p *Places) Take(now int64, t *Ticket, open bool, c Claim) {
	p.node.add(now)
	if open {
		p.open.add(now)
	}
	p.TakeKeys(now, c)
	t.held, t.open = true, open
}

// TakeShard counts a transaction for a shard, once.
func (p *Places) TakeShard(now int64, t *Ticket, s kv.ShardID) {
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

// TakeKeys counts a transaction for more keys. During the call, the transaction's own claim does not
// contain these.
func (p *Places) TakeKeys(now int64, c Claim) {
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

// Give frees all that a transaction occupies; c is its whole claim. unserved: its shard refused it, so it does not
// count as a completion.
func (p *Places) Give(now int64, t *Ticket, c Claim, unserved bool) {
	if !t.held || p.opt.Mutants.Has(mutant.PlaceKept) {
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
