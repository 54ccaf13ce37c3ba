package hotshard

import (
	"container/heap"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// demand is a small model of a store under clients that wait for an answer
// before they go on. A transaction writes keys. On the shard of its hottest key
// it locks them for no time, on others until that shard has answered; who comes
// in between waits.
type demand struct {
	rng    *rand.Rand
	p      *Planner
	meters map[kv.ShardID]*metered
	pairs  *Pairs
	heat   map[string]float64
	owned  map[string]int64
	free   map[string]int64 // until when a key is locked
	// want is what the next transaction writes.
	want    func(now int64) []string
	clients clients
	now     int64
	waited  int64
	done    int
	moves   []Move
	came    map[string]int64
}

// clients are the times at which they go on, the soonest on top.
type clients []int64

func (c clients) Len() int           { return len(c) }
func (c clients) Less(i, j int) bool { return c[i] < c[j] }
func (c clients) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *clients) Push(any)          {}
func (c *clients) Pop() any          { return nil }

// answer is how long a message and its answer take.
const answer = 2 * ms

func newDemand(n int, want func(rng *rand.Rand, now int64) []string) *demand {
	d := &demand{rng: rand.New(rand.NewSource(1)), p: NewPlanner(PlannerOptions{Hot: 9, Home: homeOf}), meters: map[kv.ShardID]*metered{},
		pairs: NewPairs(PairOptions{}), owned: map[string]int64{}, free: map[string]int64{}, came: map[string]int64{}}
	for _, s := range []kv.ShardID{1, 2, 3, 9} {
		d.meters[s] = newMetered(MeterOptions{})
	}
	d.want = func(now int64) []string { return want(d.rng, now) }
	for i := range n {
		d.clients = append(d.clients, int64(i)*1000)
	}
	return d
}

func (d *demand) shard(key string) kv.ShardID {
	if _, ok := d.owned[key]; ok {
		return 9
	}
	return homeOf([]byte(key))
}

// run lets time pass until then.
func (d *demand) run(until int64) {
	for ; d.now < until; d.now += int64(quarter) {
		for d.clients[0] < d.now+int64(quarter) {
			at := d.clients[0]
			d.clients[0] = d.transact(at, d.want(at)) + d.rng.Int63n(ms)
			heap.Fix(&d.clients, 0)
		}
		d.plan(d.now + int64(quarter))
	}
}

// transact executes a transaction, and returns when it is over.
func (d *demand) transact(at int64, keys []string) int64 {
	last := keys[0]
	for _, k := range keys {
		if d.heat[k] > d.heat[last] || d.heat[k] == d.heat[last] && d.shard(k) > d.shard(last) {
			last = k
		}
	}
	start := at
	for i, k := range keys {
		if d.shard(k) != d.shard(last) {
			if wait := d.free[k] - start; wait > 0 {
				d.meters[d.shard(k)].Waited(at, []byte(k), LockWait, wait, kv.TxnRef{})
				d.waited += wait
				start += wait
			}
			d.free[k] = start + answer
		}
		for _, other := range keys[:i] {
			if d.heat[k] > 0 && d.heat[other] > 0 && d.shard(k) != d.shard(other) {
				d.pairs.Note(at, []byte(k), []byte(other))
			}
		}
	}
	for _, k := range keys {
		d.meters[d.shard(k)].Ran(at, []byte(k), answer, start > at && d.shard(k) != d.shard(last))
	}
	d.done++
	return start + answer
}

// plan is what happens once in a period.
func (d *demand) plan(now int64) {
	for _, s := range []kv.ShardID{1, 2, 3, 9} {
		digest := &msg.LoadReport{Shard: s}
		for _, k := range d.meters[s].Top(now, DigestKeys, LeastHeat) {
			digest.Keys = append(digest.Keys, msg.KeyHeat{Key: k.Key, Shard: s, Heat: k.Clashes, Waited: int64(k.Heat), Would: int64(k.Would)})
		}
		d.meters[s].Fade(now)
		d.p.TakeDigest(now, digest)
	}
	d.p.TakePairs(now, &msg.PairReport{Gateway: 1, Pairs: d.pairs.Top(now, 32)})
	for _, m := range d.p.Decide(now) {
		d.moves = append(d.moves, m)
		if m.To == 9 {
			d.owned[string(m.Key)], d.came[string(m.Key)] = now, now
			d.p.Owned(now, m.Key, now)
		} else {
			delete(d.owned, string(m.Key))
			d.p.Left(now, m.Key)
		}
	}
	d.heat = map[string]float64{}
	if m := d.p.Tell(now); m != nil {
		for _, k := range m.Keys {
			d.heat[string(k.Key)] = k.Heat
		}
	}
}

// cold is a key that hardly anybody else wants.
func cold(rng *rand.Rand) string { return fmt.Sprintf("%c%d", 'a'+rng.Intn(3), rng.Intn(10_000)) }

// TestAHotSpotIsFollowed: three keys on three shards are written together, and
// every 30 s it is three others, some of them again. Within 5 s all are on the
// hot shard, and nobody waits; what has been left goes home.
func TestAHotSpotIsFollowed(t *testing.T) {
	spot := func(i int64) []string { return []string{fmt.Sprint("a", i%4), fmt.Sprint("b", i), fmt.Sprint("c", i)} }
	d := newDemand(10, func(rng *rand.Rand, now int64) []string {
		if rng.Intn(10) == 0 {
			return []string{cold(rng), cold(rng)}
		}
		keys := spot(now / (30 * sec))
		rng.Shuffle(3, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		return keys[:2+rng.Intn(2)]
	})
	for i := range int64(5) {
		jumped := i * 30 * sec
		d.run(jumped + 5*sec)
		for _, k := range spot(i) {
			require.Contains(t, d.owned, k, "5 s after jump %d", i)
		}
		d.waited, d.done = 0, 0
		d.run(jumped + 30*sec)
		require.Less(t, d.waited, int64(d.done)*10_000, "hardly anybody waits")
		require.Len(t, d.owned, 3, "the others have gone home")
	}
	t.Logf("%d moves", len(d.moves))
	require.LessOrEqual(t, len(d.moves), 40)
}

// TestUniformLoadMovesNothing: nor does a key that is hot alone, nor Zipf's law
// where transactions have one key.
func TestUniformLoadMovesNothing(t *testing.T) {
	for name, want := range map[string]func(rng *rand.Rand, now int64) []string{
		"uniform":   func(rng *rand.Rand, _ int64) []string { return []string{cold(rng), cold(rng), cold(rng)} },
		"hot alone": func(rng *rand.Rand, _ int64) []string { return []string{"a", cold(rng)} },
		"one key":   func(rng *rand.Rand, _ int64) []string { return []string{"abcde"[:1+rng.Intn(5)]} },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDemand(20, want)
			d.run(20 * sec)
			require.Empty(t, d.moves)
			require.Greater(t, d.done, 50_000)
		})
	}
}

// TestZipfComesToRest: by Zipf's law, two keys a transaction. The keys that are
// written together are gathered, the hottest among them, nearly all of the
// waiting is gone, and then keys are hardly moved any more.
func TestZipfComesToRest(t *testing.T) {
	var zipf *rand.Zipf
	d := newDemand(30, func(rng *rand.Rand, _ int64) []string {
		if zipf == nil {
			zipf = rand.NewZipf(rng, 1.2, 1, 10_000)
		}
		a, b := zipf.Uint64(), zipf.Uint64()
		for a == b {
			b = zipf.Uint64()
		}
		return []string{fmt.Sprintf("%c%d", 'a'+a%3, a), fmt.Sprintf("%c%d", 'a'+b%3, b)}
	})
	d.run(sec / 2)
	before := float64(d.waited) / float64(d.done)
	d.run(30 * sec)
	moves := len(d.moves)
	d.waited, d.done = 0, 0
	d.run(60 * sec)
	after := float64(d.waited) / float64(d.done)
	t.Logf("waited %v for each transaction before, %v after; %d keys, %d moves, then %d", time.Duration(before), time.Duration(after), len(d.owned), moves, len(d.moves)-moves)
	require.Contains(t, d.owned, "a0")
	require.Less(t, after, before/5)
	require.Less(t, len(d.moves)-moves, 10)
}

// TestALargeHotSpotIsGatheredAtOnce: fifty keys of which every two are written
// together. They are gathered within seconds, not at the rate at which keys may
// be moved for ever.
func TestALargeHotSpotIsGatheredAtOnce(t *testing.T) {
	const keys, within = 50, 2 * sec
	for _, burst := range []int{0, 10} {
		d := newDemand(100, func(rng *rand.Rand, _ int64) []string {
			p := rng.Perm(keys)
			return []string{fmt.Sprintf("%c%d", 'a'+p[0]%3, p[0]), fmt.Sprintf("%c%d", 'a'+p[1]%3, p[1])}
		})
		if burst > 0 {
			opt := d.p.opt
			opt.Burst = burst
			d.p = NewPlanner(opt)
		}
		d.run(within)
		t.Logf("burst %d: %d keys within %v, %v waited for each transaction", d.p.opt.Burst, len(d.owned), time.Duration(within), time.Duration(d.waited/int64(d.done)))
		if burst > 0 { // as it was
			require.Less(t, len(d.owned), keys*2/3)
			continue
		}
		require.Greater(t, len(d.owned), keys*9/10)
		for i := range d.moves {
			require.Equal(t, kv.ShardID(9), d.moves[i].To)
		}
	}
}
