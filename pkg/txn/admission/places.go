package admission

import (
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Options are the bounds.
type Options struct {
	// Shards is the number of shards.
	Shards int
	// Places bounds the transactions. Default kv.DefaultMaxInFlight.
	Places int
	// PerShard bounds those that concern one shard. Default half of Places.
	PerShard int
	// PerKey bounds those that want one key. Default a 16th of Places, which on a
	// node is 1024: more than keep a key busy even if messages take 5 ms, and a
	// quarter of what one client's stream may have unanswered.
	PerKey int
	// Open bounds the interactive ones, whose keys are not known when they
	// begin and which stay as long as their client likes. Default half of
	// Places.
	Open int
	// Always is how many transactions a key, or a shard, may have whatever the
	// others have. Default Places/128, at least 1.
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

// Split are the bounds of each of n gateways that have these together. What is
// left to the default stays so.
func (o Options) Split(n int) Options {
	for _, p := range []*int{&o.Places, &o.PerShard, &o.PerKey, &o.Open, &o.Always} {
		*p = (*p + n - 1) / n
	}
	return o
}

// Cause is why a transaction was refused.
type Cause uint8

const (
	// ByKey: one of its keys has its share.
	ByKey Cause = iota
	// ByShard: one of its shards has.
	ByShard
	// ByOpen: interactive transactions have theirs.
	ByOpen
	// ByNode: there is no place left.
	ByNode
	// Causes is how many there are.
	Causes
)

func (c Cause) String() string { return [...]string{"key", "shard", "open", "node"}[c] }

// Refusal says why a transaction is not admitted.
type Refusal struct {
	Cause Cause
	// Key is the one concerned, if it is by key, Shard the key's or the one
	// that has its share.
	Key   []byte
	Shard kv.ShardID
	// Under is how many are under way that count, Share how many there may be
	// at the moment.
	Under, Share int
	// Retry is when to come back, between MinRetry and MaxRetry.
	Retry time.Duration
}

// Counters count; they only rise.
type Counters struct {
	// Refused is by cause.
	Refused [Causes]uint64
	// Displaced counts those that were refused for any cause but their own key
	// while a key had more than PerKey places, or a shard more than PerShard:
	// somebody's excess had taken their place. It stays 0, except for what
	// interactive transactions turn out to want after they were admitted.
	Displaced uint64
}

// Add sums up.
func (c *Counters) Add(o Counters) {
	for i := range c.Refused {
		c.Refused[i] += o.Refused[i]
	}
	c.Displaced += o.Displaced
}

// Claim is the keys that a transaction wants: those of operations, and others.
// Neither may change while it is under way; Keys has no key twice, and none
// of Ops.
type Claim struct {
	Ops  []msg.Op
	Keys [][]byte
}

func (c *Claim) len() int { return len(c.Ops) + len(c.Keys) }

// key is the one with a number, nil if that is a range.
func (c *Claim) key(i int) []byte {
	if i >= len(c.Ops) {
		return c.Keys[i-len(c.Ops)]
	}
	if op := &c.Ops[i]; !op.IsRange() {
		return op.Key
	}
	return nil
}

// Ticket is what a transaction has taken. The zero value is nothing.
type Ticket struct {
	held, open bool
	count      uint16
	few        [3]kv.ShardID
	more       *[]kv.ShardID
}

// Held reports whether it is of a transaction that was admitted.
func (t *Ticket) Held() bool { return t.held }

func (t *Ticket) shard(i int) kv.ShardID {
	if i < len(t.few) {
		return t.few[i]
	}
	return (*t.more)[i-len(t.few)]
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
	if int(t.count) < len(t.few) {
		t.few[t.count] = s
	} else {
		if t.more == nil {
			t.more = new([]kv.ShardID)
		}
		*t.more = append(*t.more, s)
	}
	t.count++
}

// numSlots is into how many slots keys fall. Somewhat arbitrary: 8 KiB, and
// the transactions that a gateway's machine has room for make two a slot.
const numSlots = 1024

// slot counts the operations on its keys.
type slot struct {
	n uint32
	// watched is how many there were when its keys began to be counted, 0 if
	// they are not.
	watched uint32
	// fresh: its keys are about to be counted.
	fresh bool
}

// watchedKey is an exact count.
type watchedKey struct {
	line
	slot uint32
	// stamp is the last claim that was counted here.
	stamp uint64
	// most is how many may be under way since the key's shard has refused one, 0
	// for any number; served is how many have been since it was raised.
	most, served int
}

// Places are those of one gateway. The zero value is not usable; see New.
//
// Invariants (Check of the tests tells which is broken):
//  1. a slot has as many as there are operations on its keys under way;
//  2. a key of a watched slot has as many as transactions under way want it,
//     and is not there if that is none;
//  3. the slot of a key that has more than PerKey is watched;
//  4. over is how many keys have more than PerKey, and shards more than PerShard.
type Places struct {
	opt    Options
	node   line
	open   line
	shards []line
	slots  []slot
	keys   map[string]*watchedKey
	stamp  uint64
	over   int
	// fresh are the slots of which the keys are about to be counted.
	fresh []uint32
	// under yields the claims of all who hold a ticket.
	under    func(yield func(Claim))
	counters Counters
}

// New makes places of which none is taken. under yields the claims of the
// transactions that hold a ticket, in any order.
func New(opt Options, under func(yield func(Claim))) *Places {
	opt = opt.withDefaults()
	return &Places{opt: opt, shards: make([]line, opt.Shards), slots: make([]slot, numSlots), keys: map[string]*watchedKey{}, under: under}
}

// Counters tells what has happened so far.
func (p *Places) Counters() Counters { return p.counters }

// Taken is how many places are taken.
func (p *Places) Taken() int { return p.node.n }

// Watched is how many keys are counted exactly at the moment.
func (p *Places) Watched() int { return len(p.keys) }

// Quiet tells what is left when no transaction is under way: nil when there is
// nothing.
func (p *Places) Quiet() error {
	left := p.node.n + p.open.n + len(p.keys) + p.over
	for i := range p.shards {
		left += p.shards[i].n
	}
	for i := range p.slots {
		left += int(p.slots[i].n)
	}
	if left != 0 {
		return fmt.Errorf("admission: %d places, %d of interactive transactions, and %d keys are taken, %d have too much, %d in all",
			p.node.n, p.open.n, len(p.keys), p.over, left)
	}
	return nil
}

func slotOf(key []byte) uint32 { return uint32(xxhash.Sum64(key) % numSlots) }

// shardLimit is how many places a shard may have, keyLimit a key on it.
func (p *Places) shardLimit() int { return min(p.opt.PerShard, p.opt.Places-p.node.n) }

func (p *Places) keyLimit(s kv.ShardID) int {
	return max(p.opt.Always, min(p.opt.PerKey, p.shardLimit()-p.shards[s].n))
}

// CheckKeys refuses what wants a key on a shard that has its share.
func (p *Places) CheckKeys(now int64, s kv.ShardID, ops []msg.Op) *Refusal {
	limit := p.keyLimit(s)
	crowded := false
	for i := range ops {
		if ops[i].IsRange() {
			continue
		}
		at := slotOf(ops[i].Key)
		sl := &p.slots[at]
		if int(sl.n) < limit && sl.watched == 0 {
			continue
		}
		crowded = true
		if p.opt.Mutants.Has(mutant.CollisionRefuses) && int(sl.n) >= limit {
			return p.refuse(&Refusal{Cause: ByKey, Key: ops[i].Key, Shard: s, Under: int(sl.n), Share: limit, Retry: MinRetry})
		}
		if p.opt.Mutants.Has(mutant.KeysUnlimited) {
			return nil
		}
		p.watch(at)
	}
	if !crowded {
		return nil
	}
	p.walk(now)
	for i := range ops {
		if ops[i].IsRange() {
			continue
		}
		k := p.keys[string(ops[i].Key)]
		if k == nil {
			continue
		}
		if share := k.share(limit); k.n >= share {
			return p.refuse(&Refusal{Cause: ByKey, Key: ops[i].Key, Shard: s, Under: k.n, Share: share, Retry: k.Retry(now)})
		}
	}
	return nil
}

// CheckShard refuses what concerns a shard that has its share.
func (p *Places) CheckShard(now int64, s kv.ShardID) *Refusal {
	l := &p.shards[s]
	if limit := max(p.opt.Always, p.shardLimit()); l.n >= limit {
		return p.refuse(&Refusal{Cause: ByShard, Shard: s, Under: l.n, Share: limit, Retry: l.Retry(now)})
	}
	return nil
}

// CheckNode refuses what comes when there is no place left.
func (p *Places) CheckNode(now int64) *Refusal {
	if p.node.n >= p.opt.Places {
		return p.refuse(&Refusal{Cause: ByNode, Under: p.node.n, Share: p.opt.Places, Retry: p.node.Retry(now)})
	}
	return nil
}

// CheckOpen is CheckNode for an interactive transaction.
func (p *Places) CheckOpen(now int64) *Refusal { return p.checkOpen(now, p.opt.Open) }

// CheckReturning is CheckOpen for a further attempt of one that was admitted before. It is not
// refused for the sake of those that are new, which have taken its place; nor does it take what is
// left for others.
func (p *Places) CheckReturning(now int64) *Refusal { return p.checkOpen(now, p.opt.Open+p.opt.Open/2) }

func (p *Places) checkOpen(now int64, share int) *Refusal {
	r := p.CheckNode(now)
	if r == nil && p.open.n >= share {
		r = p.refuse(&Refusal{Cause: ByOpen, Under: p.open.n, Share: share, Retry: p.open.Retry(now)})
	}
	return r
}

// Bounced says that a key's shard has refused a transaction that was admitted
// here, because too many want the key, of other gateways too. From now on no
// more are admitted than the shard has taken; as they are served it is tried
// with more. Otherwise each that ends would have another sent out in vain.
func (p *Places) Bounced(now int64, key []byte) {
	at := slotOf(key)
	p.watch(at)
	p.walk(now)
	k := p.keys[string(key)]
	if k == nil {
		return
	}
	k.most, k.served = max(k.n, p.opt.Always), 0
	p.slots[at].watched = min(p.slots[at].watched, uint32(k.most))
}

// share is how many there may be, if otherwise that is limit.
func (k *watchedKey) share(limit int) int {
	if k.most > 0 {
		return min(k.most, limit)
	}
	return limit
}

func (p *Places) refuse(r *Refusal) *Refusal {
	p.counters.Refused[r.Cause]++
	if r.Cause != ByKey && p.over > 0 {
		p.counters.Displaced++
	}
	return r
}

// Take gives a transaction its place, and has it counted with its keys. It may
// be called for any, also for one that Check would refuse.
func (p *Places) Take(now int64, t *Ticket, open bool, c Claim) {
	p.node.enter(now)
	if open {
		p.open.enter(now)
	}
	p.TakeKeys(now, c)
	t.held, t.open = true, open
}

// TakeShard has a transaction counted with a shard, once.
func (p *Places) TakeShard(now int64, t *Ticket, s kv.ShardID) {
	if t.has(s) {
		return
	}
	t.add(s)
	l := &p.shards[s]
	l.enter(now)
	if l.n == p.opt.PerShard+1 {
		p.over++
	}
}

// TakeKeys has a transaction counted with keys, or with more of them. While it
// lasts, the transaction's claim is what it was before.
func (p *Places) TakeKeys(now int64, c Claim) {
	for i := range c.len() {
		if key := c.key(i); key != nil {
			at := slotOf(key)
			if int(p.slots[at].n)+1 >= p.opt.PerKey {
				p.watch(at)
			}
		}
	}
	p.walk(now)
	for i := range c.len() {
		if key := c.key(i); key != nil {
			p.slots[slotOf(key)].n++
		}
	}
	p.count(now, c)
}

// Give takes back all that a transaction has taken; c is the whole of its
// claim. Unserved: it was refused elsewhere, which is no sign that others will be
// served soon.
func (p *Places) Give(now int64, t *Ticket, c Claim, unserved bool) {
	if !t.held || p.opt.Mutants.Has(mutant.PlaceKept) {
		return
	}
	p.node.leave(now, unserved)
	if t.open {
		p.open.leave(now, unserved)
	}
	for i := range int(t.count) {
		l := &p.shards[t.shard(i)]
		l.leave(now, unserved)
		if l.n == p.opt.PerShard {
			p.over--
		}
	}
	p.uncount(now, c, unserved)
	*t = Ticket{}
}
