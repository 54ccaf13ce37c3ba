package shard_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A contest measures by how much the steps of one variant of a machine take longer than those of another.
// Pairs of machines, one of each variant, receive the same messages, step by step in turn. b.N is the
// number of steps; there should be 20,000. Causes of differences between equal machines, and the remedies:
//
//   - Other processes, and changes of the processor's speed. Time is that of the thread. The machines
//     alternate after each step. Steps at which the ratio of their times is among the extremes are dropped.
//   - Order. It is drawn for each step.
//   - Position in memory, which makes up to 2 % for as long as a machine exists. New machines are created
//     all the time, in random order, and the interval is that of the ratios of pairs.
//   - Garbage collection. It runs between steps only. Its cost depends on the allocations, which are
//     reported.
//   - Caches, which the other machine has just used. That is the same for both.
//
// A contest reports the median of the ratios of pairs and its 95 % confidence interval. BenchmarkAgainstItself
// shows the error. What a machine does in fewer than one of fifty steps is dropped with the extremes, and
// shows in the mean times only.
type contest struct {
	variant, base func(seed uint64) *driven
}

const (
	// couples is how many pairs of machines there are.
	couples = 20
	// collectEvery is after how many steps memory is collected.
	collectEvery = 250
	// extremes is the part of the steps that is left out at either end.
	extremes = 0.02
	// countedSteps is for how many steps allocations are counted.
	countedSteps = 100
)

func (c contest) run(b *testing.B) {
	runtime.LockOSThread() // its clock is read
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	order := rand.New(rand.NewPCG(3, 4))
	n := b.N/couples + 1
	var ratios []float64
	var spent [2]time.Duration
	var pair [2]*driven
	for seed := range uint64(couples) {
		pair = [2]*driven{}
		runtime.GC()
		for _, i := range order.Perm(2) {
			pair[i] = [...]func(uint64) *driven{c.variant, c.base}[i](seed)
		}
		times := race(pair, n, order)
		for _, t := range times {
			spent[0], spent[1] = spent[0]+t[0], spent[1]+t[1]
		}
		ratios = append(ratios, ratioOf(times))
	}
	low, middle, high := interval(ratios)
	b.ReportMetric(100*(middle-1), "%more")
	b.ReportMetric(100*(low-1), "%low")
	b.ReportMetric(100*(high-1), "%high")
	for i, suffix := range []string{"", "-base"} {
		b.ReportMetric(float64(spent[i])/float64(n*couples), "ns/Step"+suffix)
		objects, bytes := pair[i].allocated()
		b.ReportMetric(objects, "allocs/Step"+suffix)
		b.ReportMetric(bytes, "B/Step"+suffix)
	}
}

// race has two machines execute n steps each, and returns the times.
func race(pair [2]*driven, n int, order *rand.Rand) (times [][2]time.Duration) {
	for i := range n {
		if i%collectEvery == 0 {
			runtime.GC()
			pair[0].step(nil) // into the caches, again
			pair[1].step(nil)
		}
		var took [2]time.Duration
		for _, j := range order.Perm(2) {
			took[j] = pair[j].timed()
		}
		times = append(times, took)
	}
	return times
}

// ratioOf returns the ratio of the times of the first and the second machine.
func ratioOf(times [][2]time.Duration) float64 {
	slices.SortFunc(times, func(a, b [2]time.Duration) int {
		return cmp.Compare(int64(a[0])*int64(b[1]),
			int64(b[0])*int64(a[1]))
	})
	out := int(extremes * float64(len(times)))
	var sum [2]time.Duration
	for _, t := range times[out : len(times)-out] {
		sum[0], sum[1] = sum[0]+t[0], sum[1]+t[1]
	}
	return float64(sum[0]) / float64(sum[1])
}

// interval returns a 95 % confidence interval of the median; middle is the median of the sample.
func interval(of []float64) (low, middle, high float64) {
	slices.Sort(of)
	n := len(of)
	at := int(max(float64(n)/2-1.96*math.Sqrt(float64(n))/2, 0))
	return of[at], (of[(n-1)/2] + of[n/2]) / 2, of[n-1-at]
}

// timed executes a step and returns how long it took.
func (d *driven) timed() (took time.Duration) {
	d.step(func(step func()) {
		begin := threadClock()
		step()
		took = threadClock() - begin
	})
	return took
}

// allocated returns how many objects, and bytes, a step allocates.
func (d *driven) allocated() (objects, bytes float64) {
	for range countedSteps {
		d.step(func(step func()) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			step()
			runtime.ReadMemStats(&after)
			objects += float64(after.Mallocs - before.Mallocs)
			bytes += float64(after.TotalAlloc - before.TotalAlloc)
		})
	}
	return objects / countedSteps, bytes / countedSteps
}

// threadClock returns the processor time of the thread.
func threadClock() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
