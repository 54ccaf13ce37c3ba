package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// A dumb twin: all latencies in a sorted slice.
func TestPercentilesAreThoseOfASortedList(t *testing.T) {
	begin := time.Now()
	m := newMeter(window{begin: begin}, 3, ownKinds())
	r := rand.New(rand.NewPCG(1, 2))
	var all []time.Duration
	for i := range 20_000 {
		d := time.Duration(r.ExpFloat64() * float64(5*time.Millisecond))
		all = append(all, d)
		m.add(i%7, sample{kind: Kind(i % int(kinds)), measured: true, intended: begin, sent: begin, ended: begin.Add(d)})
	}
	slices.Sort(all)
	l := m.sum().all().result("all", time.Second).Latency
	at := func(q float64) float64 { return float64(all[int(q*float64(len(all)))].Microseconds()) / 1000 }
	for q, got := range map[float64]float64{0.5: l.P50, 0.9: l.P90, 0.99: l.P99, 0.999: l.P999} {
		require.InEpsilon(t, at(q), got, 0.01, "quantile %v", q)
	}
	require.InDelta(t, float64(all[len(all)-1].Microseconds())/1000, l.Max, 0.001)
	require.InEpsilon(t, 5, l.Mean, 0.03)
}

func TestWhatIsOutsideTheWindowIsNotThroughput(t *testing.T) {
	begin := time.Now()
	w := window{begin: begin, end: begin.Add(10 * time.Second)}
	at := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	m := newMeter(w, 1, ownKinds())
	for _, c := range []struct {
		from, to float64
	}{{-2, -1}, {-1, 1}, {1, 2}, {9, 11}} {
		m.add(0, sample{measured: c.from >= 0, intended: at(c.from), sent: at(c.from), ended: at(c.to)})
	}
	r := m.sum().all().result("all", 10*time.Second)
	require.Equal(t, uint64(2), r.Committed, "those that began inside")
	require.Equal(t, 0.2, r.ThroughputPer, "those that were answered inside")
	require.Equal(t, uint64(4), m.sum().done)
}

func TestLatenciesBeyondTheRangeAreKeptAtItsEnd(t *testing.T) {
	begin := time.Now()
	m := newMeter(window{begin: begin}, 1, ownKinds())
	m.add(0, sample{measured: true, intended: begin, sent: begin, ended: begin.Add(2 * MaxTimeout)})
	m.add(0, sample{measured: true, intended: begin, sent: begin.Add(-1), ended: begin})
	r := m.sum().all().result("all", time.Second)
	require.Equal(t, uint64(2), r.Committed)
	require.InEpsilon(t, MaxTimeout.Milliseconds(), r.Latency.P99, 0.001)
	require.Equal(t, float64(2*MaxTimeout.Milliseconds()), r.Latency.Max, "the maximum is exact")
}

func TestReasonsAreBounded(t *testing.T) {
	begin := time.Now()
	m := newMeter(window{begin: begin}, 8, ownKinds())
	for i := range 1000 {
		m.add(i, sample{measured: true, intended: begin, sent: begin, ended: begin,
			reply: Reply{Attempts: 2, Aborts: []string{fmt.Sprint("reason ", i)}}})
	}
	aborts := m.sum().aborts
	require.LessOrEqual(t, len(aborts), maxReasons+1)
	sum := uint64(0)
	for _, n := range aborts {
		sum += n
	}
	require.Equal(t, uint64(1000), sum)
	require.NotZero(t, aborts[OtherReasons])
}

func TestMoreReasonsThanRetriesAreNotCounted(t *testing.T) {
	begin := time.Now()
	m := newMeter(window{begin: begin}, 1, ownKinds())
	m.add(0, sample{measured: true, intended: begin, sent: begin, ended: begin, outcome: Failed,
		err: kv.Errorf(kv.KindAborted, "x"), reply: Reply{Attempts: 2, Aborts: []string{"a", "b", "c"}}})
	require.Equal(t, map[string]uint64{"a": 1}, m.sum().aborts)
}

// However long the run, the memory is that of the histograms.
func TestMemoryDoesNotGrowWithTheRun(t *testing.T) {
	begin := time.Now()
	m := newMeter(window{begin: begin}, 64, ownKinds())
	require.LessOrEqual(t, len(m.parts), 8)
	i := 0
	add := func() {
		i++
		d := time.Duration(i) * 7919 * time.Microsecond % MaxTimeout
		m.add(i, sample{kind: Kind(i % int(kinds)), measured: true, intended: begin, sent: begin, ended: begin.Add(d)})
	}
	for range 1000 {
		add()
	}
	require.Zero(t, testing.AllocsPerRun(10_000, add))
}

// A histogram knows its values to three digits, and what is reported must not
// contradict itself for that.
func TestTheMeanIsNotAboveTheMaximum(t *testing.T) {
	begin := time.Now()
	for _, d := range []time.Duration{5 * time.Millisecond, 8192 * time.Microsecond, 100_000 * time.Microsecond} {
		m := newMeter(window{begin: begin}, 1, ownKinds())
		for range 3 {
			m.add(0, sample{measured: true, intended: begin, sent: begin, ended: begin.Add(d)})
		}
		l := m.sum().all().result("all", time.Second).Latency
		want := float64(d.Microseconds()) / 1000
		require.Equal(t, Latency{Mean: want, P50: want, P90: want, P99: want, P999: want, Max: want}, l)
	}
}

func TestThinkTimesAreRoundNumbers(t *testing.T) {
	for micros := range 20_000 {
		w := describe(Options{Readers: Readers{ThinkTime: time.Duration(micros) * time.Microsecond}})
		require.LessOrEqual(t, len(fmt.Sprint(w.ThinkTimeMs)), len("19.999"), "%d us", micros)
	}
}
