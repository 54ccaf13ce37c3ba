package workload

import (
	"fmt"
	"sync"
	"time"
)

// Phase is where a run is.
type Phase uint8

const (
	// Warmup: what starts is not measured.
	Warmup Phase = iota
	// Measuring: what starts is measured.
	Measuring
	// Draining: nothing starts any more, something is still in flight.
	Draining
	// Finished: the last snapshot.
	Finished
)

func (p Phase) String() string {
	return [...]string{"warm-up", "measuring", "draining", "finished"}[min(p, Finished)]
}

// Snapshot is the state of a run while it goes on.
type Snapshot struct {
	Phase Phase
	// Elapsed is the time since the start of the run, the warm-up included.
	Elapsed time.Duration
	// Done is which part of the run is over, 0 to 1: of its time, or of its
	// transactions if it ends with a number of those.
	Done float64
	// Rate is how many transactions ended in a second, since the last
	// snapshot; in the last one, over the whole run.
	Rate float64
	// The rest is of the measured part so far, all kinds together.
	Committed, Failed, Unknown, Retries uint64
	P50, P99                            time.Duration
	// Scanned counts the pairs that scanners have taken.
	Scanned uint64
}

// String is one line for people, at most 80 columns wide unless transactions fail.
func (s Snapshot) String() string {
	line := fmt.Sprintf("%3.0f%% %4.0fs %7.0f/s", 100*s.Done, s.Elapsed.Seconds(), s.Rate)
	switch {
	case s.Phase == Warmup:
		return fmt.Sprintf("%3.0f%% %4.0fs  warming up, %.0f/s", 100*s.Done, s.Elapsed.Seconds(), s.Rate)
	case s.Committed > 0:
		line += fmt.Sprintf("  p50 %s ms  p99 %s ms  committed %d", millis(s.P50), millis(s.P99), s.Committed)
	}
	switch {
	case s.Failed+s.Unknown > 0:
		line += fmt.Sprintf("  failed %d  unknown %d", s.Failed, s.Unknown)
	case s.Committed > 0:
		line += fmt.Sprintf("  retries %d", s.Retries)
	}
	if s.Scanned > 0 {
		line += fmt.Sprintf("  scanned %d", s.Scanned)
	}
	return line
}

func millis(d time.Duration) string { return digits(float64(d) / float64(time.Millisecond)) }

// progress calls Progress until the function it gives is called.
func (s *run) progress(begun time.Time) (stop func()) {
	if s.plan.Progress == nil {
		return func() {}
	}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(s.plan.ProgressEvery)
		defer ticker.Stop()
		var done uint64
		last := begun
		for {
			select {
			case <-ticker.C:
				now := time.Now()
				snap, total := s.snapshot(now)
				if d := now.Sub(last).Seconds(); d > 0 {
					snap.Rate = float64(total-done) / d
				}
				last, done = now, total
				s.plan.Progress(snap)
			case <-quit:
				now := time.Now()
				snap, total := s.snapshot(now)
				snap.Phase, snap.Done = Finished, 1
				if d := snap.Elapsed.Seconds(); d > 0 {
					snap.Rate = float64(total) / d
				}
				s.plan.Progress(snap)
				return
			}
		}
	})
	return func() {
		close(quit)
		wg.Wait()
	}
}

// share is which part of the run is over at now, when so many of its transactions are.
func (s *run) share(now time.Time, ended uint64) (done float64) {
	if n := s.plan.Count; n > 0 {
		done = float64(ended) / float64(n)
	}
	if !s.window.end.IsZero() {
		done = max(done, now.Sub(s.begun).Seconds()/s.window.end.Sub(s.begun).Seconds())
	}
	return min(done, 1)
}

// snapshot gives the state at now without its rate, and how many transactions
// have ended.
func (s *run) snapshot(now time.Time) (Snapshot, uint64) {
	t := s.meter.sum()
	all := t.all()
	snap := Snapshot{
		Phase: Measuring, Elapsed: now.Sub(s.begun),
		Committed: all.committed, Failed: all.failed, Unknown: all.unknown, Retries: all.retries,
		Scanned: s.scans.pairs.Load(),
	}
	snap.Done = s.share(now, all.committed+all.failed+all.unknown)
	switch {
	case now.Before(s.window.begin):
		snap.Phase = Warmup
	case s.window.over(now) || s.meter.cut.before(now):
		snap.Phase = Draining
	}
	if all.latency != nil {
		snap.P50 = time.Duration(all.latency.ValueAtQuantile(50)) * time.Microsecond
		snap.P99 = time.Duration(all.latency.ValueAtQuantile(99)) * time.Microsecond
	}
	return snap, t.done
}
