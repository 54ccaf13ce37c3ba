package admission

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// colliding are keys of three buckets, three of each.
var colliding = func() (keys [][]byte) {
	bySlot := map[uint32][][]byte{}
	for i := 0; len(keys) < 9; i++ {
		k := fmt.Appendf(nil, "k%d", i)
		at := bucketOf(k)
		bySlot[at] = append(bySlot[at], k)
		if len(bySlot[at]) == 3 {
			keys = append(keys, bySlot[at]...)
		}
	}
	return keys
}()

// modelTxn is a transaction in flight in the model.
type modelTxn struct {
	ticket Ticket
	open   bool
	ops    []msg.Op
	keys   [][]byte
	shards map[kv.ShardID]bool
}

func (c *modelTxn) claim() Claim { return Claim{Ops: c.ops, Keys: c.keys} }

func (c *modelTxn) needsKey(key []byte) bool {
	for _, op := range c.ops {
		if !op.IsRange() && string(op.Key) == string(key) {
			return true
		}
	}
	for _, k := range c.keys {
		if string(k) == string(key) {
			return true
		}
	}
	return false
}

// model is the reference model of Places. It counts everything again at each use.
type model struct {
	opt      Options
	inFlight []*modelTxn
}

func (w *model) keyCount(key []byte) (n int) {
	for _, c := range w.inFlight {
		if c.needsKey(key) {
			n++
		}
	}
	return n
}

func (w *model) shardCount(s kv.ShardID) (n int) {
	for _, c := range w.inFlight {
		if c.shards[s] {
			n++
		}
	}
	return n
}

func (w *model) openCount() (n int) {
	for _, c := range w.inFlight {
		if c.open {
			n++
		}
	}
	return n
}

func (w *model) keyLimit(s kv.ShardID, most int) int {
	shard := min(w.opt.PerShard, w.opt.Slots-len(w.inFlight))
	limit := max(w.opt.Always, min(w.opt.PerKey, shard-w.shardCount(s)))
	if most > 0 {
		return min(limit, most)
	}
	return limit
}

// expectedRefusal returns the expected cause, in the order of the checks.
func (w *model) expectedRefusal(p *Slots, s kv.ShardID, ops []msg.Op, open bool) (by Cause, key string, refused bool) {
	for _, op := range ops {
		if !op.IsRange() && w.keyCount(op.Key) >= w.keyLimit(s, p.keyBound(op.Key)) {
			return ByKey, string(op.Key), true
		}
	}
	switch free := w.opt.Slots - len(w.inFlight); {
	case w.shardCount(s) >= max(w.opt.Always, min(w.opt.PerShard, free)):
		return ByShard, "", true
	case free == 0:
		return ByNode, "", true
	case open && w.openCount() >= w.opt.Open:
		return ByOpen, "", true
	}
	return 0, "", false
}

// hasExcess reports whether a key or a shard has more than its absolute bound.
func (w *model) hasExcess() bool {
	for _, k := range colliding {
		if w.keyCount(k) > w.opt.PerKey {
			return true
		}
	}
	for s := range w.opt.Shards {
		if w.shardCount(kv.ShardID(s)) > w.opt.PerShard {
			return true
		}
	}
	return false
}

// check compares the slots with the model and verifies the invariants.
func (w *model) check(t require.TestingT, p *Slots) {
	slots, keys, over := make([]uint32, numBuckets), map[string]int{}, 0
	for _, c := range w.inFlight {
		claim := c.claim()
		for i := range claim.len() {
			if key := claim.key(i); key != nil {
				slots[bucketOf(key)]++
			}
		}
	}
	for _, k := range colliding {
		n := w.keyCount(k)
		if sl := &p.buckets[bucketOf(k)]; sl.watched != 0 && n > 0 {
			keys[string(k)] = n
		} else if n > w.opt.PerKey {
			require.NotZero(t, sl.watched, "%q has %d and is not counted", k, n)
		}
		if n > w.opt.PerKey {
			over++
		}
	}
	for s := range w.opt.Shards {
		n := w.shardCount(kv.ShardID(s))
		require.Equal(t, n, p.shards[s].n)
		if n > w.opt.PerShard {
			over++
		}
	}
	counted := map[string]int{}
	for k, x := range p.keys {
		counted[k] = x.n
	}
	require.Equal(t, keys, counted)
	have, fresh := make([]uint32, numBuckets), false
	for i := range slots {
		have[i], fresh = p.buckets[i].n, fresh || p.buckets[i].fresh
	}
	require.True(t, slices.Equal(slots, have) && !fresh, "slots")
	require.Equal(t, over, p.excess)
	require.Equal(t, len(w.inFlight), p.OccupiedCount())
	require.Equal(t, w.openCount(), p.open.n)
}

// Counts equal those of the model, and a request is refused if and only if the rules refuse it by exact counts. At
// the end nothing is left.
func TestAdmissionEqualsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &model{opt: Options{
			Shards: 2, Slots: rapid.IntRange(2, 24).Draw(t, "places"), PerShard: rapid.IntRange(1, 12).Draw(t, "per shard"),
			PerKey: rapid.IntRange(1, 6).Draw(t, "per key"), Open: rapid.IntRange(1, 12).Draw(t, "open"),
			Always: rapid.IntRange(1, 3).Draw(t, "always")}}
		p := New(w.opt, func(yield func(Claim)) {
			for _, c := range w.inFlight {
				yield(c.claim())
			}
		})
		w.opt = p.opt
		now, displaced := int64(0), uint64(0)
		refused := func(r *Refusal) bool {
			if r == nil {
				return false
			}
			require.True(t, r.Retry >= MinRetry && r.Retry <= MaxRetry, "retry after %v", r.Retry)
			if r.Cause != ByKey && w.hasExcess() {
				displaced++
			}
			return true
		}
		key := rapid.SampledFrom(colliding)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now += rapid.Int64Range(0, int64(40*time.Millisecond)).Draw(t, "time")
			switch do := rapid.IntRange(0, 9).Draw(t, "operation"); {
			case do < 6:
				c := &modelTxn{open: do == 5, shards: map[kv.ShardID]bool{}}
				for range rapid.IntRange(1, 4).Draw(t, "ops") {
					op := msg.Op{Kind: msg.OpPut, Key: key.Draw(t, "key")}
					if rapid.IntRange(0, 9).Draw(t, "range") == 0 {
						op.Kind, op.End = msg.OpScan, []byte("z")
					}
					c.ops = append(c.ops, op)
				}
				s := kv.ShardID(rapid.IntRange(0, 1).Draw(t, "shard"))
				by, which, want := w.expectedRefusal(p, s, c.ops, c.open)
				r := p.CheckKeys(now, s, c.ops)
				if r == nil {
					r = p.CheckShard(now, s)
				}
				if r == nil {
					r = checkNode(p, now, c.open)
				}
				require.Equal(t, want, refused(r))
				if r != nil {
					require.Equal(t, by, r.Cause)
					require.Equal(t, which, string(r.Key))
					break
				}
				c.shards[s] = true
				p.Occupy(now, &c.ticket, c.open, c.claim())
				p.AddShard(now, &c.ticket, s)
				p.AddShard(now, &c.ticket, s)
				w.inFlight = append(w.inFlight, c)
			case do < 7: // an interactive transaction uses another key
				for _, c := range w.inFlight {
					k, s := key.Draw(t, "more"), kv.ShardID(rapid.IntRange(0, 1).Draw(t, "more shard"))
					if c.open && !c.needsKey(k) {
						p.AddKeys(now, Claim{Keys: [][]byte{k}})
						p.AddShard(now, &c.ticket, s)
						c.keys, c.shards[s] = append(c.keys, k), true
						break
					}
				}
			case len(w.inFlight) > 0:
				i := rapid.IntRange(0, len(w.inFlight)-1).Draw(t, "which")
				c := w.inFlight[i]
				w.inFlight = append(w.inFlight[:i:i], w.inFlight[i+1:]...)
				refusedByShard := rapid.IntRange(0, 4).Draw(t, "refused by shard") == 0
				p.Free(now, &c.ticket, c.claim(), refusedByShard)
				if k := c.ops[0].Key; refusedByShard && !c.ops[0].IsRange() {
					p.OnShardRefusal(now, k)
					require.Equal(t, w.keyCount(k) > 0, p.keyBound(k) > 0)
				}
				require.False(t, c.ticket.Held())
				p.Free(now, &c.ticket, c.claim(), false) // a second call has no effect
			}
			w.check(t, p)
			require.Equal(t, displaced, p.Counters().Displaced)
		}
		for _, c := range w.inFlight {
			p.Free(now, &c.ticket, c.claim(), false)
		}
		require.NoError(t, p.CheckEmpty())
		require.Zero(t, p.WatchedCount())
	})
}

// keyBound is the bound of a key after a refusal by its shard, 0 if there is none.
func (p *Slots) keyBound(key []byte) int {
	if k := p.keys[string(key)]; k != nil {
		return k.limit
	}
	return 0
}

// After a refusal by a key's shard, its current count is the bound, which rises by one per completed set.
func TestShardRefusalBoundsKey(t *testing.T) {
	l := newFixture(9)
	for l.begin("hot", 0) == nil {
	}
	require.Len(t, l.txns, 128)
	end := func(refusedByShard bool) {
		c := l.txns[0]
		l.txns = l.txns[1:]
		l.Free(0, &c.ticket, c.claim(), refusedByShard)
		if refusedByShard {
			l.OnShardRefusal(0, []byte("hot"))
		}
	}
	for range 88 {
		end(true)
	}
	require.Equal(t, 40, l.begin("hot", 0).Limit)
	for i := range 80 {
		end(false)
		require.Nil(t, l.begin("hot", 0))
		if i == 39 {
			require.Nil(t, l.begin("hot", 0), "after 40 completions the bound is 41")
		}
		require.Equal(t, ByKey, l.begin("hot", 0).Cause)
	}
	require.Len(t, l.txns, 41)
	for len(l.txns) > 0 {
		end(false)
	}
	require.NoError(t, l.CheckEmpty())
	for range 128 {
		require.Nil(t, l.begin("hot", 0), "the bound ends with the last transaction")
	}
}

func puts(keys ...string) (ops []msg.Op) {
	for _, k := range keys {
		ops = append(ops, msg.Op{Kind: msg.OpPut, Key: []byte(k)})
	}
	return ops
}

// fixture is slots with transactions that end in the order in which they began.
type fixture struct {
	*Slots
	txns []*modelTxn
}

func newFixture(shards int) *fixture {
	l := &fixture{}
	l.Slots = New(Options{Shards: shards, Slots: 2048}, func(yield func(Claim)) {
		for _, c := range l.txns {
			yield(c.claim())
		}
	})
	return l
}

// begin requests a slot.
func (l *fixture) begin(key string, s kv.ShardID) *Refusal {
	c := &modelTxn{ops: puts(key)}
	r := l.CheckKeys(0, s, c.ops)
	if r == nil {
		r = l.CheckShard(0, s)
	}
	if r == nil {
		r = l.CheckNode(0)
	}
	if r == nil {
		l.Occupy(0, &c.ticket, false, c.claim())
		l.AddShard(0, &c.ticket, s)
		l.txns = append(l.txns, c)
	}
	return r
}

// end frees the oldest slot.
func (l *fixture) end() {
	c := l.txns[0]
	l.txns = l.txns[1:]
	l.Free(0, &c.ticket, c.claim(), false)
}

// Requests for other keys are admitted however many keys are saturated, on the same shard and on others.
func TestHotKeysLeaveSlots(t *testing.T) {
	for _, hot := range []int{1, 2, 5, 20} {
		for name, shardOf := range map[string]func(i int) kv.ShardID{
			"on one shard":   func(int) kv.ShardID { return 0 },
			"on many shards": func(i int) kv.ShardID { return kv.ShardID(i % 8) },
		} {
			t.Run(fmt.Sprintf("%d hot keys %s", hot, name), func(t *testing.T) {
				l := newFixture(9)
				for i := range 20_000 { // far more come than go
					for j := range hot {
						l.begin(fmt.Sprintf("hot%d", j), shardOf(j))
					}
					if i%2 == 1 {
						l.end()
					}
				}
				require.NotZero(t, l.Counters().Refused[ByKey])
				require.LessOrEqual(t, l.OccupiedCount(), 2048*hot/(hot+1))
				for i := range 16 {
					require.Nil(t, l.begin(fmt.Sprintf("cold%d", i), 8))
					require.Nil(t, l.begin(fmt.Sprintf("cold%d", 100+i), 0))
				}
				require.Zero(t, l.Counters().Displaced)
				for len(l.txns) > 0 {
					l.end()
				}
				require.NoError(t, l.CheckEmpty())
			})
		}
	}
}

// k stuck shards occupy at most k/(k+1) of the slots.
func TestStuckShardsLeaveSlots(t *testing.T) {
	for _, stuck := range []int{1, 2, 4} {
		l := newFixture(9)
		for i := range stuck * 3000 {
			if r := l.begin(fmt.Sprint(i), kv.ShardID(i%stuck)); r != nil {
				require.Equal(t, ByShard, r.Cause)
			}
		}
		require.LessOrEqual(t, l.OccupiedCount(), 2048*stuck/(stuck+1)+1)
		require.Nil(t, l.begin("cold", 8))
		require.Zero(t, l.Counters().Displaced)
	}
}

// Refused requests get successive retry times at the service rate, at most MaxRetry ahead.
func TestRetryTimesFollowServiceRate(t *testing.T) {
	l := queue{n: 1000}
	require.Equal(t, firstRetry, l.Retry(0), "no rate is known")
	now := int64(time.Hour)
	for range 200 { // one in 2 ms
		now += int64(2 * time.Millisecond)
		l.remove(now, false)
	}
	for i := range 5 {
		require.InDelta(t, float64(i+1)*2, float64(l.Retry(now))/1e6, 0.2)
	}
	now += int64(20 * time.Millisecond)
	require.InDelta(t, 2, float64(l.Retry(now))/1e6, 0.5, "the assigned turns have passed")
	for range 5000 {
		require.LessOrEqual(t, l.Retry(now), MaxRetry)
	}
	stuck := now + int64(10*time.Second)
	require.Greater(t, l.Retry(stuck), 100*time.Millisecond, "no completions for 10 s")
}

// One scan counts all keys, also if a transaction has keys in all buckets.
func TestManyKeysAreCountedInOneWalk(t *testing.T) {
	var ops []msg.Op
	for i := range 5000 {
		ops = append(ops, puts(fmt.Sprint(i))...)
	}
	walks := 0
	c := Claim{Ops: ops}
	p := New(Options{Shards: 1, Slots: 16}, func(yield func(Claim)) { walks++; yield(c) })
	var x Ticket
	p.Occupy(0, &x, false, c)
	require.Nil(t, p.CheckKeys(0, 0, puts("other")))
	before := walks
	p.CheckKeys(0, 0, ops)
	require.LessOrEqual(t, walks-before, 1)
}

func checkNode(p *Slots, now int64, open bool) *Refusal {
	if open {
		return p.CheckOpen(now)
	}
	return p.CheckNode(now)
}
