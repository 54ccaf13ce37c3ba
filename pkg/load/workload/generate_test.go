package workload

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func testPlan(t *testing.T, o Options, run string) *plan {
	t.Helper()
	o = o.WithDefaults()
	require.NoError(t, o.Validate())
	p, err := newPlan(o, run)
	require.NoError(t, err)
	return p
}

func TestKindsComeInTheSharesOfTheMix(t *testing.T) {
	const draws = 40_000
	for _, m := range []Mix{
		DefaultMix,
		{ReadOnly: 1}, {WriteOnly: 0.001}, {ReadModifyWrite: 7}, {Increment: 1e300},
		{ReadOnly: 1, Increment: 3}, {WriteOnly: 1, ReadModifyWrite: 1},
	} {
		g := testPlan(t, Options{Mix: m, Keys: 10, Ops: 1}, "test").generator(0)
		var count [kinds]float64
		for range draws {
			count[g.next(0).Kind]++
		}
		sum := m.ReadOnly + m.WriteOnly + m.ReadModifyWrite + m.Increment
		for k, share := range m.shares() {
			want := share / sum
			if want == 0 || want == 1 {
				require.Equal(t, want*draws, count[k], "%v %v", m, Kind(k))
				continue
			}
			require.InDelta(t, want, count[k]/draws, 5*math.Sqrt(want*(1-want)/draws), "%v %v", m, Kind(k))
		}
	}
}

func TestTheLastNumberBelowOnePicksAKindWithAShare(t *testing.T) {
	almost := math.Nextafter(1, 0)
	require.Equal(t, WriteOnly, Mix{WriteOnly: 0.1}.pick(almost))
	require.Equal(t, ReadModifyWrite, Mix{ReadOnly: 0.1, ReadModifyWrite: 0.7}.pick(almost))
	require.Equal(t, Increment, Mix{WriteOnly: 1. / 3, Increment: 1. / 3}.pick(almost))
}

func TestATransactionDoesWhatItsKindSays(t *testing.T) {
	g := testPlan(t, Options{Keys: 5, Ops: 6, ValueBytes: 64, Prefix: "p/", Readers: Readers{InteractiveReads: 40}},
		"test").generator(3)
	seen := map[Kind]bool{}
	for n := uint64(1); n <= 300; n++ {
		txn := g.next(0)
		seen[txn.Kind] = true
		require.Equal(t, n, txn.Number)
		require.Equal(t, 3, txn.Client)
		want := map[Kind][]OpKind{
			ReadOnly: {Read}, InteractiveRead: {Read}, WriteOnly: {Write}, ReadModifyWrite: {ReadForUpdate, Write},
			Increment: {Add},
		}[txn.Kind]
		require.Len(t, txn.Ops, 6*len(want))
		for i, o := range txn.Ops {
			require.Equal(t, want[i%len(want)], o.Kind)
			if o.Kind == Write {
				require.Len(t, o.Value, 64)
			}
			if i%len(want) == 1 {
				require.Equal(t, txn.Ops[i-1].Key, o.Key, "it writes the key it has read")
			}
			if o.Kind == Add {
				require.True(t, bytes.HasPrefix(o.Key, []byte("p/c/00000000")), "%s", o.Key)
			} else if !txn.Kind.Reads() {
				require.True(t, bytes.HasPrefix(o.Key, []byte("p/r/00000000")), "%s", o.Key)
			}
		}
	}
	require.Len(t, seen, int(kinds))
}

func TestReadsLookAtCountersInProportionToIncrements(t *testing.T) {
	counters := func(m Mix) (part float64) {
		g := testPlan(t, Options{Keys: 5, Ops: 1, Mix: m}, "test").generator(0)
		reads, ofCounters := 0.0, 0.0
		for range 20_000 {
			txn := g.next(0)
			if txn.Kind == ReadOnly {
				reads++
				if bytes.HasPrefix(txn.Ops[0].Key, []byte("zeta/c/")) {
					ofCounters++
				}
			}
		}
		return ofCounters / reads
	}
	require.Zero(t, counters(Mix{ReadOnly: 1, WriteOnly: 1}))
	require.Equal(t, 1.0, counters(Mix{ReadOnly: 1, Increment: 1}))
	require.InDelta(t, 0.25, counters(Mix{ReadOnly: 4, WriteOnly: 1, ReadModifyWrite: 2, Increment: 1}), 0.03)
}

func TestValuesAreUniqueOverClientsAndRuns(t *testing.T) {
	seen := map[string]bool{}
	for _, run := range []string{NewRunTag(), NewRunTag()} {
		require.Len(t, run, 6)
		p := testPlan(t, Options{Keys: 2, Mix: Mix{WriteOnly: 1, ReadModifyWrite: 1}, ValueBytes: MinValueBytes, Seed: 9},
			run)
		for client := range 3 {
			g := p.generator(client)
			for range 300 {
				for _, o := range g.next(0).Ops {
					if o.Kind == Write {
						require.Len(t, o.Value, MinValueBytes)
						require.False(t, seen[string(o.Value)], "%s", o.Value)
						seen[string(o.Value)] = true
					}
				}
			}
		}
	}
	require.Greater(t, len(seen), 2*3*300)
}

func TestTheLongestTagFitsTheSmallestValue(t *testing.T) {
	v := newValues("abcdef", MaxClients-1, MinValueBytes, newFiller(1, MinValueBytes))
	require.Len(t, v.append(nil, 9_999_999_999, 9999, 5), MinValueBytes)
	longer := v.append(nil, math.MaxUint64, 9999, 5)
	require.Equal(t, "abcdef.65535.18446744073709551615.9999", string(longer), "a tag is never cut")
}

func TestFillerIsTakenFromEveryOffset(t *testing.T) {
	filler := newFiller(4, 100)
	for _, offset := range []uint64{0, 1, fillerBytes - 1, fillerBytes, math.MaxUint64} {
		require.Len(t, pad([]byte("x"), 0, 100, filler, offset), 100)
	}
	require.NotEqual(t, pad(nil, 0, 100, filler, 0), pad(nil, 0, 100, filler, 1))
}

func TestOneSeedDrawsOneSequenceForEachClient(t *testing.T) {
	draw := func(seed uint64, client int) (all []Txn) {
		g := testPlan(t, Options{Keys: 1000, Skew: 0.9, Shuffle: true, Seed: seed}, "test").generator(client)
		for range 50 {
			all = append(all, g.next(uint64(len(all)/10)))
		}
		return all
	}
	require.Equal(t, draw(1, 0), draw(1, 0))
	require.NotEqual(t, draw(1, 0), draw(2, 0))
	other := draw(1, 1)
	for i := range other {
		other[i].Client = 0
	}
	require.NotEqual(t, draw(1, 0), other)
}

func TestKeysSortByTheirNumber(t *testing.T) {
	require.Equal(t, "zeta/r/000000042", string(RegisterKey("zeta/", 42)))
	require.Equal(t, "c/999999999", string(CounterKey("", MaxKeys-1)))
	require.Negative(t, bytes.Compare(RegisterKey("", 99), RegisterKey("", 100)))
}

func TestReadersHaveAsManyKeysAsTheyShall(t *testing.T) {
	for _, c := range []struct {
		keys      KeyCount
		low, high int
	}{{KeyCount{}, 4, 4}, {KeyCount{1, 1}, 1, 1}, {KeyCount{2, 16}, 2, 16}, {KeyCount{256, 256}, 256, 256}} {
		g := testPlan(t, Options{Readers: Readers{ReadKeys: c.keys, InteractiveReads: 50},
			Mix: Mix{ReadOnly: 1, WriteOnly: 1}},
			"test").generator(0)
		seen := map[int]bool{}
		for range 2000 {
			txn := g.next(0)
			if !txn.Kind.Reads() {
				require.Len(t, txn.Ops, 4, "updates have their own number")
				continue
			}
			require.GreaterOrEqual(t, len(txn.Ops), c.low)
			require.LessOrEqual(t, len(txn.Ops), c.high)
			seen[len(txn.Ops)] = true
		}
		require.Len(t, seen, c.high-c.low+1, "each number occurs")
	}
}

func TestKeyCountsAreReadBack(t *testing.T) {
	for text, want := range map[string]KeyCount{"1": {1, 1}, "10": {10, 10}, "2-16": {2, 16}, "1-256": {1, 256},
		"7-7": {7, 7}} {
		got, err := ParseKeyCount(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		again, err := ParseKeyCount(got.String())
		require.NoError(t, err)
		require.Equal(t, want, again)
	}
	for _, text := range []string{"", "0", "257", "16-2", "2-", "-2", "2-x", "1-2-3", "2..16", "1-257", "0-4"} {
		_, err := ParseKeyCount(text)
		require.ErrorContains(t, err, "want a number or a range, such as 10 or 2-16, from 1 to 256", "%q", text)
	}
	require.Empty(t, KeyCount{}.String())
}

// Also when nearly all draws go to one key, or all keys are taken.
func TestDistinctKeysDoNotRepeat(t *testing.T) {
	for _, o := range []Options{
		{Keys: 16, Skew: 0, Ops: 2, Readers: Readers{ReadKeys: KeyCount{16, 16}}},
		{Keys: 5000, Skew: 8, Ops: 5, Readers: Readers{ReadKeys: KeyCount{200, 256}}, Shuffle: true},
	} {
		o.Distinct = true
		g := testPlan(t, o, "test").generator(0)
		for moves := range uint64(50) {
			txn, seen := g.next(moves), map[string]int{}
			for _, op := range txn.Ops {
				seen[string(op.Key)]++
			}
			perKey := 1
			if txn.Kind == ReadModifyWrite {
				perKey = 2
			}
			require.Len(t, seen, len(txn.Ops)/perKey)
		}
	}
}

func TestSomeReadersAreInteractiveAndThinkBetweenReads(t *testing.T) {
	const draws = 20_000
	o := Options{Mix: Mix{ReadOnly: 1}, Readers: Readers{InteractiveReads: 25, ThinkTime: 3 * time.Millisecond}}
	for want, all := range map[float64]bool{0.25: false, 1: true} {
		o.Interactive = all
		g := testPlan(t, o, "test").generator(0)
		interactive := 0.0
		for range draws {
			txn := g.next(0)
			for i, op := range txn.Ops {
				thinks := txn.Kind == InteractiveRead && i > 0
				require.Equal(t, thinks, op.Pause == o.ThinkTime)
				require.Equal(t, !thinks, op.Pause == 0)
			}
			if txn.Kind == InteractiveRead {
				interactive++
			}
		}
		require.InDelta(t, want, interactive/draws, 0.02)
	}
}

// KeyOf is the register with a rank, from 0, after the hot spot has moved moves times.
func (r *Runner) KeyOf(rank, moves uint64) []byte {
	return RegisterKey(r.plan.Prefix, r.plan.picker.At(rank, moves))
}
