package hotshard

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

const (
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
	day = 24 * 3600 * sec
	all = math.MaxInt
)

func txn(n int64) kv.TxnRef { return kv.TxnRef{TxnID: kv.TxnID{Time: n}, Attempt: 1} }

// heatOf is the heat of nanoseconds of waiting that were just recorded.
func heatOf(nanos float64) float64 { return nanos * math.Ln2 }

// keysOf returns the keys of a top list in order.
func keysOf(top []KeyHeat) (out []string) {
	for _, k := range top {
		out = append(out, string(k.Key))
	}
	return out
}

func TestKeyHeatListsCauses(t *testing.T) {
	m := newMetered(MeterOptions{})
	key := []byte("k")
	m.RecordWait(-5, key, LockWait, 100, txn(1))
	m.RecordWait(-5, key, Held, 200, txn(2))
	m.RecordWait(3, key, ReadWait, 300, kv.TxnRef{})
	m.RecordWait(4, key, Retry, 400, txn(4))
	m.RecordWait(4, key, Retry, 0, txn(5))
	m.RecordWait(4, key, Retry, -1, txn(6))
	m.RecordWait(4, key, NumCauses, 1, txn(7))
	m.RecordWait(4, key, EstimatedWait, 50, kv.TxnRef{})
	key[0] = 'x'

	top := m.Top(4, all, 0)
	require.Len(t, top, 1)
	require.InDelta(t, heatOf(1000), top[0].Heat, 1e-3)
	require.InDelta(t, heatOf(50), top[0].EstimatedWait, 1e-3)
	for i, nanos := range []float64{100, 200, 300, 400, 50} {
		require.InDelta(t, heatOf(nanos), top[0].Causes[i], 1e-3)
	}
	require.InDelta(t, heatOf(1e9)/1e9, top[0].Holds, 1e-3)
	top[0].Heat, top[0].EstimatedWait, top[0].Causes, top[0].Holds = 0, 0, [NumCauses]float64{}, 0
	require.Equal(t, KeyHeat{Key: []byte("k"), Nanos: 1000, Count: 4,
		Holder: txn(4), Since: -5, Last: 4}, top[0])

	top[0].Key[0] = 'y'
	require.Equal(t, []string{"k"}, keysOf(m.Top(4, all, 0)), "the keys are copies")
}

func TestCausesHaveNames(t *testing.T) {
	require.Equal(t, "lock wait held read wait retry estimated wait Cause(5)",
		fmt.Sprint(LockWait, " ", Held, " ", ReadWait, " ", Retry, " ", EstimatedWait, " ", NumCauses))
}

// The causes decay like their sum, also across moves of the origin.
func TestCausesSumToHeat(t *testing.T) {
	m := newMetered(MeterOptions{})
	now := int64(0)
	for i := range 2000 {
		now += int64(i%7) * sec / 3
		if i%500 == 0 {
			now += 20 * sec
		}
		m.RecordWait(now, []byte("k"), Cause(i%int(NumCauses)), int64(i%11)*ms, txn(1))
		m.RecordWait(now, []byte("held"), Held, ms, txn(1))
		for _, k := range m.Top(now+sec/5, all, 0) {
			sum := 0.0
			for c := range EstimatedWait {
				sum += k.Causes[c]
			}
			require.InEpsilon(t, k.Heat+1, sum+1, 1e-9)
			require.Equal(t, k.EstimatedWait, k.Causes[EstimatedWait])
			if string(k.Key) == "held" {
				require.InEpsilon(t, k.Causes[Held]/float64(ms), k.Holds, 1e-9, "a millisecond each")
			}
		}
	}
}

func TestWaitingDecays(t *testing.T) {
	for _, test := range []struct {
		half  time.Duration
		after int64
		want  float64 // of 1e9 ns of waiting
	}{
		{0, 0, math.Ln2 * 1e9},
		{time.Second, sec, math.Ln2 * 1e9 / 2},
		{time.Second, 10 * sec, math.Ln2 * 1e9 / 1024},
		{2 * time.Second, 2 * sec, math.Ln2 * 1e9 / 4},
		{time.Second, 100 * sec, 0},
		{time.Second, math.MaxInt64, 0},
		{time.Nanosecond, 1, math.Ln2 * 1e18 / 2},
		{math.MaxInt64, day, math.Ln2 * 1e18 / math.MaxInt64},
	} {
		for _, start := range []int64{0, math.MinInt64, -77, 1_700_000_000 * sec} {
			m := newMetered(MeterOptions{HalfLife: test.half})
			m.RecordWait(start, []byte("k"), LockWait, sec, txn(1))
			now := start + test.after
			if now < start {
				now = math.MaxInt64
			}
			require.InEpsilon(t, test.want+1, m.Top(now, 1, 0)[0].Heat+1, 1e-4, "%v after %d from %d", test.half, test.after,
				start)
			require.Equal(t, m.Top(start, 1, 0), m.Top(math.MinInt64, 1, 0), "an older time counts as the newest")
		}
	}
}

func TestHeatOfSteadyWaitingIsItsRate(t *testing.T) {
	m := newMetered(MeterOptions{HalfLife: 3 * time.Second})
	now := int64(0)
	for ; now < 60*sec; now += 10 * ms {
		m.RecordWait(now, []byte("k"), LockWait, ms, txn(1))
	}
	require.InEpsilon(t, 1e8, m.Top(now, 1, 0)[0].Heat, 0.01)
}

func TestAvoidedWaitIsRestOfHold(t *testing.T) {
	for _, test := range []struct {
		name  string
		gaps  []int64
		hold  int64
		would int64
	}{
		{"the first use does not wait", []int64{0}, 100, 0},
		{"within hold: the rest of it", []int64{0, 30}, 100, 70},
		{"at the same time: all of hold", []int64{0, 0}, 100, 100},
		{"after hold: nothing", []int64{0, 100}, 100, 0},
		{"each waits for the previous use", []int64{0, 90, 90, 200, 99}, 100, 21},
		{"hold is zero", []int64{0, 0, 0}, 0, 0},
		{"hold is negative", []int64{0, 0}, -5, 0},
		{"a time that goes back counts as the newest", []int64{0, -50}, 100, 100},
		{"gaps do not overflow", []int64{0, math.MaxInt64, math.MaxInt64 - 200}, math.MaxInt64 - 200, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, ranked := range []bool{false, true} {
				m := newMetered(MeterOptions{})
				now := int64(math.MinInt64 + 100)
				if ranked {
					m.RecordWait(now, []byte("k"), LockWait, 1, txn(1))
				}
				for _, gap := range test.gaps {
					now += gap
					m.Ran(now, []byte("k"), test.hold, false)
				}
				top := m.Top(now, all, 0)
				if !ranked && test.would == 0 {
					require.Empty(t, top)
					continue
				}
				require.InDelta(t, heatOf(float64(test.would)), top[0].EstimatedWait, 1e-3)
				require.Equal(t, top[0].EstimatedWait, top[0].Causes[EstimatedWait])
				require.Equal(t, ranked, top[0].Nanos == 1 && top[0].Count == 1, "avoided waits are not counted as waits")
			}
		})
	}
}

// Transactions wait for a key half of the time. After its shard has become the last agent they wait no
// more, and the key keeps its heat.
func TestKeyDecidedByLastAgentStaysHot(t *testing.T) {
	m := newMetered(MeterOptions{})
	now := int64(0)
	for ; now < 20*sec; now += 2 * ms {
		m.RecordWait(now, []byte("k"), LockWait, ms, txn(1))
	}
	for ; now < 60*sec; now += 2 * ms {
		m.Ran(now, []byte("k"), 3*ms, false)
	}
	top := m.Top(now, 1, 0)
	require.Less(t, top[0].Heat, 1.0)
	require.InEpsilon(t, 5e8, top[0].EstimatedWait, 0.01)
}

func TestNewKeyInheritsLeastEntry(t *testing.T) {
	m := newMetered(MeterOptions{Entries: 2})
	m.RecordWait(0, []byte("a"), LockWait, 100, txn(1))
	m.RecordWait(0, []byte("b"), LockWait, 10, txn(2))
	m.RecordWait(sec, []byte("c"), Held, 7, kv.TxnRef{})
	top := m.Top(sec, all, 0)
	require.Equal(t, []string{"a", "c"}, keysOf(top))
	require.InDelta(t, heatOf(12), top[1].Heat, 1e-9, "inherited: half of b's weight")
	require.InDelta(t, heatOf(5), top[1].Error, 1e-9)
	require.InDelta(t, heatOf(7), top[1].Causes[Held], 1e-9, "without the inherited weight")
	require.Zero(t, top[1].Causes[LockWait])
	top[1].Heat, top[1].Error, top[1].Causes, top[1].Holds = 0, 0, [NumCauses]float64{}, 0
	require.Equal(t, KeyHeat{Key: []byte("c"), Nanos: 7, Count: 1, Since: sec, Last: sec}, top[1])
}

func TestTopIsSortedAndBounded(t *testing.T) {
	m := newMetered(MeterOptions{})
	for i, k := range []string{"d", "b", "c", "a"} {
		m.RecordWait(0, []byte(k), LockWait, []int64{5, 9, 5, 5}[i], txn(1))
	}
	m.RecordWait(0, []byte("e"), EstimatedWait, 7, txn(1))
	for _, test := range []struct {
		n     int
		least float64
		want  []string
	}{
		{all, 0, []string{"b", "e", "a", "c", "d"}},
		{3, 0, []string{"b", "e", "a"}},
		{all, heatOf(6), []string{"b", "e"}},
		{1, heatOf(6), []string{"b"}},
		{0, 0, nil}, {-1, 0, nil}, {all, math.Inf(1), nil},
	} {
		require.Equal(t, test.want, keysOf(m.Top(0, test.n, test.least)))
	}
	require.Empty(t, newMetered(MeterOptions{}).Top(9, all, 0))
}

func TestWritesWithoutConflictAreNotRanked(t *testing.T) {
	m := newMetered(MeterOptions{})
	keys := make([][]byte, 10_000)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "user:%d", i)
	}
	now := int64(0)
	for range 10 {
		for _, k := range keys {
			m.Ran(now, k, 9*ms, false) // each key is used every 10 ms
			now += 1000
		}
	}
	require.Zero(t, m.Len())
}

func TestMeterFollowsMovingHotSpot(t *testing.T) {
	m := newMetered(MeterOptions{})
	r := rand.New(rand.NewSource(1))
	run := func(from, to int64, hot string) {
		for now := from; now < to; now += ms {
			m.RecordWait(now, []byte(hot), LockWait, 10*ms, txn(1))
			m.RecordWait(now, fmt.Appendf(nil, "other-%d", r.Intn(100_000)), LockWait, ms, txn(1))
		}
	}
	run(0, 60*sec, "old")
	require.Equal(t, "old", string(m.Top(60*sec, 1, 0)[0].Key))
	run(60*sec, 61*sec+sec/10, "new")
	require.Equal(t, []string{"new", "old"}, keysOf(m.Top(61*sec+sec/10, 2, 0)), "after a half-life")
	run(61*sec+sec/10, 75*sec, "new")
	top := m.Top(75*sec, all, 1e9)
	require.Equal(t, []string{"new"}, keysOf(top))
	require.InEpsilon(t, 1e10, top[0].Heat, 0.01)
}

// A conflict counts once, whether the write waited or would have waited, for any duration.
func TestConflictsAreCountedOnce(t *testing.T) {
	const day = 24 * time.Hour // no decay
	perSecond := math.Ln2 / day.Seconds()
	m := newMetered(MeterOptions{HalfLife: day})
	k := []byte("k")
	conflicts := func() float64 {
		top := m.Top(0, 1, 0)
		if len(top) == 0 {
			return 0
		}
		return math.Round(top[0].Conflicts / perSecond)
	}
	m.Ran(0, k, 100, false)
	require.Zero(t, conflicts(), "first use")
	m.Ran(200, k, 100, false)
	require.Zero(t, conflicts(), "after hold")
	m.Ran(250, k, 100, false)
	require.Equal(t, 1.0, conflicts(), "within hold")
	m.RecordWait(250, k, LockWait, 1_000_000, kv.TxnRef{})
	require.Equal(t, 1.0, conflicts(), "a wait is not a conflict")
	m.Ran(900, k, 100, true)
	require.Equal(t, 2.0, conflicts(), "after hold, but it waited")
	require.InEpsilon(t, 50e9*math.Ln2/float64(day), m.Top(900, 1, 0)[0].EstimatedWait, 1e-3, "and avoided nothing")

	m = newMetered(MeterOptions{HalfLife: day})
	m.Ran(0, k, 100, true)
	require.Equal(t, 1.0, conflicts(), "a key without an entry")
}

// The key with four times the demand has four times the conflicts, although it never waits, because its
// shard is the last agent, and transactions wait for the other one in long queues.
func TestConflictRateIsIndependentOfPlacement(t *testing.T) {
	m := newMetered(MeterOptions{})
	frequent, queued := []byte("frequent"), []byte("queued")
	for now := int64(0); now < int64(3*time.Second); now += 50_000 {
		m.Ran(now, frequent, 60_000, false)
		if now%200_000 == 0 {
			m.RecordWait(now, queued, LockWait, int64(10*time.Millisecond), kv.TxnRef{})
			m.Ran(now, queued, 60_000, true)
		}
	}
	top := m.Top(int64(3*time.Second), 2, 0)
	require.Equal(t, "queued", string(top[0].Key), "it causes more waiting")
	require.InDelta(t, 4, top[1].Conflicts/top[0].Conflicts, 0.1)
}
