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

// colliding are keys of few slots: three keys in each of three.
var colliding = func() (keys [][]byte) {
	bySlot := map[uint32][][]byte{}
	for i := 0; len(keys) < 9; i++ {
		k := fmt.Appendf(nil, "k%d", i)
		at := slotOf(k)
		bySlot[at] = append(bySlot[at], k)
		if len(bySlot[at]) == 3 {
			keys = append(keys, bySlot[at]...)
		}
	}
	return keys
}()

// twinCall is a transaction under way, as the twin knows it.
type twinCall struct {
	ticket Ticket
	open   bool
	ops    []msg.Op
	keys   [][]byte
	shards map[kv.ShardID]bool
}

func (c *twinCall) claim() Claim { return Claim{Ops: c.ops, Keys: c.keys} }

func (c *twinCall) wants(key []byte) bool {
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

// twin counts everything anew each time.
type twin struct {
	opt  Options
	live []*twinCall
}

func (w *twin) key(key []byte) (n int) {
	for _, c := range w.live {
		if c.wants(key) {
			n++
		}
	}
	return n
}

func (w *twin) shard(s kv.ShardID) (n int) {
	for _, c := range w.live {
		if c.shards[s] {
			n++
		}
	}
	return n
}

func (w *twin) opened() (n int) {
	for _, c := range w.live {
		if c.open {
			n++
		}
	}
	return n
}

func (w *twin) keyLimit(s kv.ShardID, most int) int {
	shard := min(w.opt.PerShard, w.opt.Places-len(w.live))
	limit := max(w.opt.Always, min(w.opt.PerKey, shard-w.shard(s)))
	if most > 0 {
		return min(limit, most)
	}
	return limit
}

// refuses says why, in the order in which it is looked for.
func (w *twin) refuses(p *Places, s kv.ShardID, ops []msg.Op, open bool) (by Cause, key string, refused bool) {
	for _, op := range ops {
		if !op.IsRange() && w.key(op.Key) >= w.keyLimit(s, p.most(op.Key)) {
			return ByKey, string(op.Key), true
		}
	}
	switch free := w.opt.Places - len(w.live); {
	case w.shard(s) >= max(w.opt.Always, min(w.opt.PerShard, free)):
		return ByShard, "", true
	case free == 0:
		return ByNode, "", true
	case open && w.opened() >= w.opt.Open:
		return ByOpen, "", true
	}
	return 0, "", false
}

// excess reports whether somebody has more than the most that anybody may.
func (w *twin) excess() bool {
	for _, k := range colliding {
		if w.key(k) > w.opt.PerKey {
			return true
		}
	}
	for s := range w.opt.Shards {
		if w.shard(kv.ShardID(s)) > w.opt.PerShard {
			return true
		}
	}
	return false
}

// check holds the places against the twin and their own invariants.
func (w *twin) check(t require.TestingT, p *Places) {
	slots, keys, over := make([]uint32, numSlots), map[string]int{}, 0
	for _, c := range w.live {
		claim := c.claim()
		for i := range claim.len() {
			if key := claim.key(i); key != nil {
				slots[slotOf(key)]++
			}
		}
	}
	for _, k := range colliding {
		n := w.key(k)
		if sl := &p.slots[slotOf(k)]; sl.watched != 0 && n > 0 {
			keys[string(k)] = n
		} else if n > w.opt.PerKey {
			require.NotZero(t, sl.watched, "%q has %d and is not watched", k, n)
		}
		if n > w.opt.PerKey {
			over++
		}
	}
	for s := range w.opt.Shards {
		n := w.shard(kv.ShardID(s))
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
	have, fresh := make([]uint32, numSlots), false
	for i := range slots {
		have[i], fresh = p.slots[i].n, fresh || p.slots[i].fresh
	}
	require.True(t, slices.Equal(slots, have) && !fresh, "slots")
	require.Equal(t, over, p.over)
	require.Equal(t, len(w.live), p.Taken())
	require.Equal(t, w.opened(), p.open.n)
}

// TestPlacesAgainstATwin: whatever begins and ends, places are counted as if one
// by one, and a request is refused when, and only when, the rules say so of
// exact counts. In the end nothing is left.
func TestPlacesAgainstATwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &twin{opt: Options{
			Shards: 2, Places: rapid.IntRange(2, 24).Draw(t, "places"), PerShard: rapid.IntRange(1, 12).Draw(t, "per shard"),
			PerKey: rapid.IntRange(1, 6).Draw(t, "per key"), Open: rapid.IntRange(1, 12).Draw(t, "open"), Always: rapid.IntRange(1, 3).Draw(t, "always")}}
		p := New(w.opt, func(yield func(Claim)) {
			for _, c := range w.live {
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
			if r.Cause != ByKey && w.excess() {
				displaced++
			}
			return true
		}
		key := rapid.SampledFrom(colliding)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now += rapid.Int64Range(0, int64(40*time.Millisecond)).Draw(t, "passes")
			switch do := rapid.IntRange(0, 9).Draw(t, "do"); {
			case do < 6:
				c := &twinCall{open: do == 5, shards: map[kv.ShardID]bool{}}
				for range rapid.IntRange(1, 4).Draw(t, "ops") {
					op := msg.Op{Kind: msg.OpPut, Key: key.Draw(t, "key")}
					if rapid.IntRange(0, 9).Draw(t, "range") == 0 {
						op.Kind, op.End = msg.OpScan, []byte("z")
					}
					c.ops = append(c.ops, op)
				}
				s := kv.ShardID(rapid.IntRange(0, 1).Draw(t, "shard"))
				by, which, want := w.refuses(p, s, c.ops, c.open)
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
				p.Take(now, &c.ticket, c.open, c.claim())
				p.TakeShard(now, &c.ticket, s)
				p.TakeShard(now, &c.ticket, s)
				w.live = append(w.live, c)
			case do < 7: // an interactive one goes on, wherever that leads
				for _, c := range w.live {
					k, s := key.Draw(t, "more"), kv.ShardID(rapid.IntRange(0, 1).Draw(t, "there"))
					if c.open && !c.wants(k) {
						p.TakeKeys(now, Claim{Keys: [][]byte{k}})
						p.TakeShard(now, &c.ticket, s)
						c.keys, c.shards[s] = append(c.keys, k), true
						break
					}
				}
			case len(w.live) > 0:
				i := rapid.IntRange(0, len(w.live)-1).Draw(t, "which")
				c := w.live[i]
				w.live = append(w.live[:i:i], w.live[i+1:]...)
				bounced := rapid.IntRange(0, 4).Draw(t, "bounced") == 0
				p.Give(now, &c.ticket, c.claim(), bounced)
				if k := c.ops[0].Key; bounced && !c.ops[0].IsRange() {
					p.Bounced(now, k)
					require.Equal(t, w.key(k) > 0, p.most(k) > 0)
				}
				require.False(t, c.ticket.Held())
				p.Give(now, &c.ticket, c.claim(), false) // what is given back twice counts once
			}
			w.check(t, p)
			require.Equal(t, displaced, p.Counters().Displaced)
		}
		for _, c := range w.live {
			p.Give(now, &c.ticket, c.claim(), false)
		}
		require.NoError(t, p.Quiet())
		require.Zero(t, p.Watched())
	})
}

// most is to how many a key's shard has brought it down, 0 if it has not.
func (p *Places) most(key []byte) int {
	if k := p.keys[string(key)]; k != nil {
		return k.most
	}
	return 0
}

// TestAShardBringsAKeyDown: when its shard refuses one of a key, a gateway sends
// no more than that has taken; as they are served it tries one more at a time.
func TestAShardBringsAKeyDown(t *testing.T) {
	l := newLot(9)
	for l.begin("wanted", 0) == nil {
	}
	require.Len(t, l.held, 128)
	end := func(bounced bool) {
		c := l.held[0]
		l.held = l.held[1:]
		l.Give(0, &c.ticket, c.claim(), bounced)
		if bounced {
			l.Bounced(0, []byte("wanted"))
		}
	}
	for range 88 {
		end(true)
	}
	require.Equal(t, 40, l.begin("wanted", 0).Share)
	for i := range 80 {
		end(false)
		require.Nil(t, l.begin("wanted", 0))
		if i == 39 {
			require.Nil(t, l.begin("wanted", 0), "40 were served, so there may be 41")
		}
		require.Equal(t, ByKey, l.begin("wanted", 0).Cause)
	}
	require.Len(t, l.held, 41)
	for len(l.held) > 0 {
		end(false)
	}
	require.NoError(t, l.Quiet())
	for range 128 {
		require.Nil(t, l.begin("wanted", 0), "all is forgotten when nobody wants the key")
	}
}

func puts(keys ...string) (ops []msg.Op) {
	for _, k := range keys {
		ops = append(ops, msg.Op{Kind: msg.OpPut, Key: []byte(k)})
	}
	return ops
}

// lot is places with transactions that end in the order in which they began.
type lot struct {
	*Places
	held []*twinCall
}

func newLot(shards int) *lot {
	l := &lot{}
	l.Places = New(Options{Shards: shards, Places: 2048}, func(yield func(Claim)) {
		for _, c := range l.held {
			yield(c.claim())
		}
	})
	return l
}

// begin asks for a place.
func (l *lot) begin(key string, s kv.ShardID) *Refusal {
	c := &twinCall{ops: puts(key)}
	r := l.CheckKeys(0, s, c.ops)
	if r == nil {
		r = l.CheckShard(0, s)
	}
	if r == nil {
		r = l.CheckNode(0)
	}
	if r == nil {
		l.Take(0, &c.ticket, false, c.claim())
		l.TakeShard(0, &c.ticket, s)
		l.held = append(l.held, c)
	}
	return r
}

// end gives the oldest place back.
func (l *lot) end() {
	c := l.held[0]
	l.held = l.held[1:]
	l.Give(0, &c.ticket, c.claim(), false)
}

// TestHotKeysLeavePlaces: however many keys are saturated, cold ones get in,
// beside them and elsewhere, and nothing of theirs was taken.
func TestHotKeysLeavePlaces(t *testing.T) {
	for _, hot := range []int{1, 2, 5, 20} {
		for name, shardOf := range map[string]func(i int) kv.ShardID{
			"on one shard":   func(int) kv.ShardID { return 0 },
			"on many shards": func(i int) kv.ShardID { return kv.ShardID(i % 8) },
		} {
			t.Run(fmt.Sprintf("%d hot keys %s", hot, name), func(t *testing.T) {
				l := newLot(9)
				for i := range 20_000 { // far more come than go
					for j := range hot {
						l.begin(fmt.Sprintf("hot%d", j), shardOf(j))
					}
					if i%2 == 1 {
						l.end()
					}
				}
				require.NotZero(t, l.Counters().Refused[ByKey])
				require.LessOrEqual(t, l.Taken(), 2048*hot/(hot+1))
				for i := range 16 {
					require.Nil(t, l.begin(fmt.Sprintf("cold%d", i), 8))
					require.Nil(t, l.begin(fmt.Sprintf("cold%d", 100+i), 0))
				}
				require.Zero(t, l.Counters().Displaced)
				for len(l.held) > 0 {
					l.end()
				}
				require.NoError(t, l.Quiet())
			})
		}
	}
}

// TestStuckShardsLeavePlaces: k stuck shards have at most k/(k+1) of the places.
func TestStuckShardsLeavePlaces(t *testing.T) {
	for _, stuck := range []int{1, 2, 4} {
		l := newLot(9)
		for i := range stuck * 3000 {
			if r := l.begin(fmt.Sprint(i), kv.ShardID(i%stuck)); r != nil {
				require.Equal(t, ByShard, r.Cause)
			}
		}
		require.LessOrEqual(t, l.Taken(), 2048*stuck/(stuck+1)+1)
		require.Nil(t, l.begin("cold", 8))
		require.Zero(t, l.Counters().Displaced)
	}
}

// TestRetriesFollowTheRate: those who are refused are told to come back one
// after the other, as fast as places are given back, and nobody later than
// after MaxRetry.
func TestRetriesFollowTheRate(t *testing.T) {
	l := line{n: 1000}
	require.Equal(t, firstRetry, l.Retry(0), "nothing is known")
	now := int64(time.Hour)
	for range 200 { // one in 2 ms
		now += int64(2 * time.Millisecond)
		l.leave(now, false)
	}
	for i := range 5 {
		require.InDelta(t, float64(i+1)*2, float64(l.Retry(now))/1e6, 0.2)
	}
	now += int64(20 * time.Millisecond)
	require.InDelta(t, 2, float64(l.Retry(now))/1e6, 0.5, "their turns have passed")
	for range 5000 {
		require.LessOrEqual(t, l.Retry(now), MaxRetry)
	}
	stuck := now + int64(10*time.Second)
	require.Greater(t, l.Retry(stuck), 100*time.Millisecond, "hardly anything has ended for long")
}

// TestManyOperationsAreWalkedOnce: a transaction with keys in all slots does not
// have the others walked once for each.
func TestManyOperationsAreWalkedOnce(t *testing.T) {
	var ops []msg.Op
	for i := range 5000 {
		ops = append(ops, puts(fmt.Sprint(i))...)
	}
	walks := 0
	c := Claim{Ops: ops}
	p := New(Options{Shards: 1, Places: 16}, func(yield func(Claim)) { walks++; yield(c) })
	var x Ticket
	p.Take(0, &x, false, c)
	require.Nil(t, p.CheckKeys(0, 0, puts("other")))
	before := walks
	p.CheckKeys(0, 0, ops)
	require.LessOrEqual(t, walks-before, 1)
}

var sink *Refusal

// BenchmarkOneKey: what admission costs a transaction of one key.
func BenchmarkOneKey(b *testing.B) {
	for name, busy := range map[string]int{"unwatched": 0, "watched": 200} {
		b.Run(name, func(b *testing.B) {
			ops := puts("account/000000123456")
			c := Claim{Ops: ops}
			p := New(Options{Shards: 9, Places: 2048}, func(yield func(Claim)) {
				for range busy {
					yield(c)
				}
			})
			for range busy {
				var x Ticket
				p.Take(0, &x, false, c)
			}
			if busy > 0 {
				p.watch(slotOf(ops[0].Key))
				p.walk(0)
			}
			b.ReportAllocs()
			for b.Loop() {
				var x Ticket
				sink = p.CheckKeys(1, 0, ops)
				sink = p.CheckShard(1, 0)
				sink = p.CheckNode(1)
				p.Take(1, &x, false, c)
				p.TakeShard(1, &x, 0)
				p.Give(1, &x, c, false)
			}
		})
	}
}

func checkNode(p *Places, now int64, open bool) *Refusal {
	if open {
		return p.CheckOpen(now)
	}
	return p.CheckNode(now)
}
