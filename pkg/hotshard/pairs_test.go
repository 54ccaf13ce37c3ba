package hotshard

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/msg"
)

func pairsOf(list []msg.HeatPair) (out string) {
	for _, p := range list {
		out += fmt.Sprintf("%s+%s=%.3g ", p.A, p.B, p.Rate)
	}
	return out
}

func TestPairRates(t *testing.T) {
	p := NewPairs(PairOptions{})
	require.Empty(t, p.Top(0, all))
	now := int64(0)
	for i := range 4000 {
		now += 5 * ms
		p.Record(now, []byte("a"), []byte("b"))
		if i%2 == 0 {
			p.Record(now, []byte("c"), []byte("a"))
		}
		p.Record(now, []byte("a"), []byte("a"))
	}
	require.Equal(t, "a+b=200 a+c=100 ", pairsOf(p.Top(now, all)),
		"200 per second, in either order; equal keys are ignored")
	require.Equal(t, "a+b=200 ", pairsOf(p.Top(now, 1)))
	require.Equal(t, "a+b=100 a+c=50 ", pairsOf(p.Top(now+sec, all)))
	require.Equal(t, pairsOf(p.Top(now, all)), pairsOf(p.Top(math.MinInt64, all)), "an older time counts as the newest")
	require.Empty(t, p.Top(now, -1))

	top := p.Top(now, 1)
	top[0].A[0], top[0].B[0] = 'x', 'y'
	require.Equal(t, "a+b=200 a+c=100 ", pairsOf(p.Top(now, all)), "the keys are copies")
}

func TestPairsDistinguishKeyBoundaries(t *testing.T) {
	p := NewPairs(PairOptions{HalfLife: time.Hour})
	p.Record(0, []byte("a"), []byte("bc"))
	p.Record(0, []byte("ab"), []byte("c"))
	p.Record(0, nil, []byte("abc"))
	require.Equal(t, 3, p.Len())
	long := make([]byte, 4096)
	p.Record(0, long, []byte("x"))
	for _, top := range p.Top(0, all) {
		if len(top.A) == len(long) {
			require.Equal(t, msg.HeatPair{A: long, B: []byte("x"), Rate: top.Rate}, top)
			return
		}
	}
	t.Fatal("the pair with the long key is missing")
}

func TestFadeEmptiesPairs(t *testing.T) {
	p := NewPairs(PairOptions{})
	for range 3 {
		p.Record(0, []byte("a"), []byte("b"))
	}
	p.Record(0, []byte("a"), []byte("c"))
	p.Fade(7 * sec)
	require.Equal(t, 2, p.Len())
	p.Fade(8 * sec)
	require.Equal(t, 1, p.Len())
	p.Fade(9 * sec)
	require.Zero(t, p.Len())
	p.Record(200*sec, []byte("a"), []byte("b"))
	require.Equal(t, "a+b=0.693 ", pairsOf(p.Top(200*sec, all)), "after a move of the origin")
}

// A returned rate never exceeds the true one, and every pair with more than its share of all occurrences
// has an entry.
func TestPairRatesAreLowerBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const entries = 4
		p := NewPairs(PairOptions{Entries: entries})
		truth, sum, now := map[string]float64{}, 0.0, int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if d := rapid.Int64Range(0, 3*sec).Draw(t, "time"); d > 2*sec {
				now += d
				for k := range truth {
					truth[k] *= math.Exp2(-float64(d) / float64(sec))
				}
				sum *= math.Exp2(-float64(d) / float64(sec))
			}
			a, b := rapid.IntRange(0, 2).Draw(t, "a"), rapid.IntRange(3, 5).Draw(t, "b")
			p.Record(now, fmt.Append(nil, a), fmt.Append(nil, b))
			truth[fmt.Sprint(a, "+", b)]++
			sum++
			require.LessOrEqual(t, p.Len(), entries)
			for _, top := range p.Top(now, all) {
				exact := truth[fmt.Sprintf("%s+%s", top.A, top.B)] * math.Ln2
				require.LessOrEqual(t, top.Rate, exact*(1+1e-9))
				require.GreaterOrEqual(t, top.Rate, exact-sum*math.Ln2/entries-1e-9)
			}
		}
		for k, n := range truth {
			a, b := k[:1], k[len(k)-1:]
			counted := false
			for _, e := range p.byWeight {
				counted = counted || string(e.key) == "\x01"+a+b
			}
			require.True(t, counted || n <= sum/entries+1e-9, "%s has %v of %v", k, n, sum)
		}
	})
}

func TestPairsDoNotAllocate(t *testing.T) {
	p, keys := NewPairs(PairOptions{}), manyKeys(16)
	for i := range 15 {
		p.Record(0, keys[i], keys[i+1])
	}
	now := int64(0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now += ms
		p.Record(now, keys[now/ms%15], keys[now/ms%15+1])
	}))
}
