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

// simulation is a small model of a store with closed-loop clients. A transaction writes keys. The last
// agent locks its keys for no time, other shards lock theirs for one round trip; a later transaction waits
// until the lock is released.
type simulation struct {
	rng         *rand.Rand
	p           *Planner
	meters      map[kv.ShardID]*metered
	pairs       *Pairs
	heat        map[string]float64
	owned       map[string]int64
	lockedUntil map[string]int64
	// nextKeys returns the keys of the next transaction.
	nextKeys  func(now int64) []string
	clients   clients
	now       int64
	waited    int64
	done      int
	moves     []Move
	arrivedAt map[string]int64
}

// clients is a min-heap of the times of the next transactions.
type clients []int64

func (c clients) Len() int           { return len(c) }
func (c clients) Less(i, j int) bool { return c[i] < c[j] }
func (c clients) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *clients) Push(any)          {}
func (c *clients) Pop() any          { return nil }

const roundTrip = 2 * ms

func newSimulation(n int, next func(rng *rand.Rand, now int64) []string) *simulation {
	d := &simulation{rng: rand.New(rand.NewSource(1)), p: NewPlanner(PlannerOptions{Hot: 9, Home: homeOf}),
		meters: map[kv.ShardID]*metered{},
		pairs:  NewPairs(PairOptions{}), owned: map[string]int64{}, lockedUntil: map[string]int64{},
		arrivedAt: map[string]int64{}}
	for _, s := range []kv.ShardID{1, 2, 3, 9} {
		d.meters[s] = newMetered(MeterOptions{})
	}
	d.nextKeys = func(now int64) []string { return next(d.rng, now) }
	for i := range n {
		d.clients = append(d.clients, int64(i)*1000)
	}
	return d
}

func (d *simulation) shard(key string) kv.ShardID {
	if _, ok := d.owned[key]; ok {
		return 9
	}
	return homeOf([]byte(key))
}

// run advances the simulation to a time.
func (d *simulation) run(until int64) {
	for ; d.now < until; d.now += int64(quarter) {
		for d.clients[0] < d.now+int64(quarter) {
			at := d.clients[0]
			d.clients[0] = d.transact(at, d.nextKeys(at)) + d.rng.Int63n(ms)
			heap.Fix(&d.clients, 0)
		}
		d.runPlanner(d.now + int64(quarter))
	}
}

// transact executes a transaction and returns when it ends.
func (d *simulation) transact(at int64, keys []string) int64 {
	last := keys[0]
	for _, k := range keys {
		if d.heat[k] > d.heat[last] || d.heat[k] == d.heat[last] && d.shard(k) > d.shard(last) {
			last = k
		}
	}
	start := at
	for i, k := range keys {
		if d.shard(k) != d.shard(last) {
			if wait := d.lockedUntil[k] - start; wait > 0 {
				d.meters[d.shard(k)].RecordWait(at, []byte(k), LockWait, wait, kv.TxnRef{})
				d.waited += wait
				start += wait
			}
			d.lockedUntil[k] = start + roundTrip
		}
		for _, other := range keys[:i] {
			if d.heat[k] > 0 && d.heat[other] > 0 && d.shard(k) != d.shard(other) {
				d.pairs.Record(at, []byte(k), []byte(other))
			}
		}
	}
	for _, k := range keys {
		d.meters[d.shard(k)].Ran(at, []byte(k), roundTrip, start > at && d.shard(k) != d.shard(last))
	}
	d.done++
	return start + roundTrip
}

// runPlanner is the work of one period: reports, decisions, and the heat map.
func (d *simulation) runPlanner(now int64) {
	for _, s := range []kv.ShardID{1, 2, 3, 9} {
		report := &msg.LoadReport{Shard: s}
		for _, k := range d.meters[s].Top(now, LoadReportKeys, LeastHeat) {
			report.Keys = append(report.Keys, msg.KeyHeat{Key: k.Key, Shard: s, Heat: k.Conflicts, Waited: int64(k.Heat),
				EstimatedWait: int64(k.EstimatedWait)})
		}
		d.meters[s].Fade(now)
		d.p.ApplyLoadReport(now, report)
	}
	d.p.ApplyPairReport(now, &msg.PairReport{Gateway: 1, Pairs: d.pairs.Top(now, 32)})
	for _, m := range d.p.Decide(now) {
		d.moves = append(d.moves, m)
		if m.To == 9 {
			d.owned[string(m.Key)], d.arrivedAt[string(m.Key)] = now, now
			d.p.KeyArrived(now, m.Key, now)
		} else {
			delete(d.owned, string(m.Key))
			d.p.KeyLeft(now, m.Key)
		}
	}
	d.heat = map[string]float64{}
	if m := d.p.HeatMap(now); m != nil {
		for _, k := range m.Keys {
			d.heat[string(k.Key)] = k.Heat
		}
	}
}

// randomKey returns a key without contention.
func randomKey(rng *rand.Rand) string { return fmt.Sprintf("%c%d", 'a'+rng.Intn(3), rng.Intn(10_000)) }

// Three keys on three shards are written together. Every 30 s the hot spot moves to three other keys, some
// of them used before. Within 5 s all three are on the hot shard, and transactions no longer wait; the
// previous keys go home.
func TestPlannerFollowsMovingHotSpot(t *testing.T) {
	spot := func(i int64) []string { return []string{fmt.Sprint("a", i%4), fmt.Sprint("b", i), fmt.Sprint("c", i)} }
	d := newSimulation(10, func(rng *rand.Rand, now int64) []string {
		if rng.Intn(10) == 0 {
			return []string{randomKey(rng), randomKey(rng)}
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
		require.Less(t, d.waited, int64(d.done)*10_000, "less than 10 us per transaction")
		require.Len(t, d.owned, 3, "the previous keys are home")
	}
	t.Logf("%d moves", len(d.moves))
	require.LessOrEqual(t, len(d.moves), 40)
}

// No key moves under a uniform load, with a single hot key, or with a skewed load of single-key
// transactions.
func TestUniformLoadMovesNothing(t *testing.T) {
	for name, next := range map[string]func(rng *rand.Rand, now int64) []string{
		"uniform": func(rng *rand.Rand, _ int64) []string {
			return []string{randomKey(rng), randomKey(rng), randomKey(rng)}
		},
		"hot alone": func(rng *rand.Rand, _ int64) []string { return []string{"a", randomKey(rng)} },
		"one key":   func(rng *rand.Rand, _ int64) []string { return []string{"abcde"[:1+rng.Intn(5)]} },
	} {
		t.Run(name, func(t *testing.T) {
			d := newSimulation(20, next)
			d.run(20 * sec)
			require.Empty(t, d.moves)
			require.Greater(t, d.done, 50_000)
		})
	}
}

// Transactions write two keys with a Zipf distribution. The hottest keys move to the hot shard, four fifths
// of the waiting disappear, and after that keys hardly move any more.
func TestZipfWorkloadStabilizes(t *testing.T) {
	var zipf *rand.Zipf
	d := newSimulation(30, func(rng *rand.Rand, _ int64) []string {
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
	t.Logf("waited %v for each transaction before, %v after; %d keys, %d moves, then %d", time.Duration(before),
		time.Duration(after), len(d.owned), moves, len(d.moves)-moves)
	require.Contains(t, d.owned, "a0")
	require.Less(t, after, before/5)
	require.Less(t, len(d.moves)-moves, 10)
}

// Fifty keys are written together in all pairs. They move within seconds, by the burst, not at the long-run
// rate.
func TestLargeHotSpotMovesWithinBurst(t *testing.T) {
	const keys, within = 50, 2 * sec
	for _, burst := range []int{0, 10} {
		d := newSimulation(100, func(rng *rand.Rand, _ int64) []string {
			p := rng.Perm(keys)
			return []string{fmt.Sprintf("%c%d", 'a'+p[0]%3, p[0]), fmt.Sprintf("%c%d", 'a'+p[1]%3, p[1])}
		})
		if burst > 0 {
			opt := d.p.opt
			opt.Burst = burst
			d.p = NewPlanner(opt)
		}
		d.run(within)
		t.Logf("burst %d: %d keys within %v, %v waited for each transaction", d.p.opt.Burst, len(d.owned),
			time.Duration(within), time.Duration(d.waited/int64(d.done)))
		if burst > 0 { // a smaller burst: for comparison
			require.Less(t, len(d.owned), keys*2/3)
			continue
		}
		require.Greater(t, len(d.owned), keys*9/10)
		for i := range d.moves {
			require.Equal(t, kv.ShardID(9), d.moves[i].To)
		}
	}
}
