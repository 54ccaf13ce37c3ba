package hotshard

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// referenceMeter is the reference model: it stores every wait.
type referenceMeter struct {
	half    time.Duration
	charges []charge
	ran     map[string]int64
}

type charge struct {
	key   string
	at    int64
	nanos int64
	would bool
}

func (w *referenceMeter) recordUse(now int64, key string, hold int64) {
	before, ok := w.ran[key]
	w.ran[key] = now
	if ok && now-before < hold {
		w.charges = append(w.charges, charge{key, now, hold - (now - before), true})
	}
}

// truth returns the exact heat of the keys, total and avoided part, and the sum.
func (w *referenceMeter) truth(now int64) (total, would map[string]float64, sum float64) {
	total, would = map[string]float64{}, map[string]float64{}
	for _, c := range w.charges {
		x := float64(c.nanos) * math.Exp2(-float64(now-c.at)/float64(w.half)) * math.Ln2 * 1e9 / float64(w.half)
		total[c.key] += x
		if c.would {
			would[c.key] += x
		}
		sum += x
	}
	return total, would, sum
}

// check compares a meter's ranking with the exact heat, up to slack.
func (w *referenceMeter) check(t require.TestingT, m *Meter, now int64, slack float64) {
	total, would, sum := w.truth(now)
	slack += 1e-9*sum + 1e-100
	ranked := map[string]bool{}
	reported := 0.0
	for _, k := range m.Top(now, all, 0) {
		key := string(k.Key)
		require.False(t, ranked[key])
		ranked[key] = true
		reported += k.Total()
		actual := total[key] - would[key]
		require.GreaterOrEqual(t, k.Total()+slack, total[key], "%q is not below the truth", key)
		require.LessOrEqual(t, k.Total(), total[key]+k.Error+slack, "%q is at most Error above the truth", key)
		require.GreaterOrEqual(t, k.Heat+slack, actual, "nor is the heat of %q below it", key)
		require.LessOrEqual(t, k.Heat, actual+k.Error+slack)
		require.LessOrEqual(t, k.EstimatedWait, would[key]+slack)
		require.LessOrEqual(t, k.Error, sum/float64(cap(m.byWeight))+slack)
	}
	for key, x := range total {
		require.True(t, ranked[key] || x <= sum/float64(cap(m.byWeight))+slack, "%q is missing: %v of %v", key, x, sum)
	}
	require.InDelta(t, sum, reported, slack, "the entries contain all waiting")
}

// checkShape checks the invariants of the heap and of the hash chains.
func checkShape(t require.TestingT, m *Meter) {
	for i, e := range m.byWeight {
		require.Equal(t, i, e.place)
		require.LessOrEqual(t, m.byWeight[max(i-1, 0)/2].weight(), e.weight()+1e-300)
		require.Same(t, e, m.find(xxhash.Sum64(e.key), e.key))
	}
	n := 0
	for _, e := range m.chains {
		for ; e != nil; e = e.next {
			n++
		}
	}
	require.Equal(t, m.Len(), n)
}

// metered is a Meter with a caller that stores when each key was last used. All uses conflict.
type metered struct {
	*Meter
	ran map[string]int64
}

func newMetered(o MeterOptions) *metered { return &metered{NewMeter(o), map[string]int64{}} }

func (m *metered) Ran(now int64, key []byte, hold int64, waited bool) {
	before, known := m.ran[string(key)]
	m.Meter.RecordUse(now, key, hold, waited, before, known)
	if known {
		now = max(now, before)
	}
	m.ran[string(key)] = now
}

func TestMeterMatchesReferenceModel(t *testing.T) {
	keys := make([][]byte, 24)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key:%d", i)
	}
	rapid.Check(t, func(t *rapid.T) {
		half := time.Duration(rapid.SampledFrom([]int64{1000, ms, sec}).Draw(t, "half"))
		m := newMetered(MeterOptions{HalfLife: half, Entries: rapid.IntRange(1, 10).Draw(t, "entries")})
		w := &referenceMeter{half: half, ran: map[string]int64{}}
		now := rapid.Int64Range(math.MinInt64, math.MaxInt64/2).Draw(t, "start")
		slack := 0.0
		nanos := rapid.OneOf(rapid.Int64Range(-2, 10), rapid.Int64Range(1, 1<<40))
		step := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, int64(half)), rapid.Int64Range(0, 200*int64(half)))
		pick := rapid.OneOf(rapid.IntRange(0, 2), rapid.IntRange(0, len(keys)-1))
		for range rapid.IntRange(1, 120).Draw(t, "waits") {
			key := keys[pick.Draw(t, "key")]
			now += step.Draw(t, "step")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				m.Fade(now)
				slack += math.Ln2 * 1e9 / float64(half)
			case 1, 2, 3, 4:
				hold := nanos.Draw(t, "hold")
				m.Ran(now, key, hold, false)
				w.recordUse(now, string(key), hold)
			default:
				n := nanos.Draw(t, "nanos")
				m.RecordWait(now, key, Held, n, txn(1))
				w.charges = append(w.charges, charge{string(key), now, max(n, 0), false})
			}
			w.check(t, m.Meter, now, slack*float64(len(keys)))
		}
		checkShape(t, m.Meter)
		w.check(t, m.Meter, now+int64(half)*3, slack*float64(len(keys)))
	})
}

// zipf generates a skewed stream of waits.
func zipf(seed int64, n int, do func(now int64, key []byte, nanos int64)) {
	r := rand.New(rand.NewSource(seed))
	z := rand.NewZipf(r, 1.2, 1, 99_999)
	for i := range n {
		do(int64(i)*100_000, fmt.Appendf(nil, "key:%d", z.Uint64()), 1+r.Int63n(2*ms))
	}
}

func TestTopOfSkewedStreamIsCorrect(t *testing.T) {
	for seed := range int64(5) {
		m := newMetered(MeterOptions{})
		w := &referenceMeter{half: time.Second}
		now := int64(0)
		zipf(seed, 100_000, func(at int64, key []byte, nanos int64) {
			now = at
			m.RecordWait(at, key, LockWait, nanos, txn(1))
			w.charges = append(w.charges, charge{string(key), at, nanos, false})
		})
		total, _, _ := w.truth(now)
		var want []string
		for k := range total {
			want = append(want, k)
		}
		slices.SortFunc(want, func(a, b string) int {
			if total[a] > total[b] {
				return -1
			}
			return 1
		})
		require.Equal(t, want[:10], keysOf(m.Top(now, 10, 0)), "seed %d", seed)
		w.check(t, m.Meter, now, 0)
		checkShape(t, m.Meter)
	}
}

func TestMeterIsDeterministic(t *testing.T) {
	run := func() (tops [][]KeyHeat) {
		m := newMetered(MeterOptions{Entries: 32})
		i := 0
		zipf(7, 50_000, func(now int64, key []byte, nanos int64) {
			m.RecordWait(now, key, Held, nanos>>16<<16, txn(int64(i))) // many equal weights
			m.Ran(now, key, ms, false)
			i++
			if i%5000 == 0 {
				m.Fade(now)
				tops = append(tops, m.Top(now, all, 0))
			}
		})
		return tops
	}
	require.Equal(t, run(), run())
}
