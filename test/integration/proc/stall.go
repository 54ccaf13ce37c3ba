package proc

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// A time bound in a test is a statement about the nodes. On an overloaded machine a process may get no
// processor for a while, or its disk does not respond. The stall detector measures that: it repeatedly
// sleeps, writes a few bytes and syncs them, which every transaction of a node does too. If that takes much
// longer than usual, the machine is stalled.

const (
	// probeInterval is the time from the end of one probe to the beginning of the next.
	probeInterval = 50 * time.Millisecond
	// probeThreshold is the longest probe that counts as normal.
	probeThreshold = 20 * time.Millisecond
	// maxStalls bounds the memory: an hour in which every probe is slow.
	maxStalls = 1 << 16
)

// stall is a period in which the machine was stalled.
type stall struct{ from, till time.Time }

// stallDetector records when the machine was stalled.
type stallDetector struct {
	probe func()

	mu sync.Mutex // guards the fields below
	// probeDue is the time at which the current probe should begin, zero if there is none.
	probeDue time.Time
	stalls   []stall
}

// run makes probes until stop is closed.
func (d *stallDetector) run(stop <-chan struct{}) {
	for {
		due := time.Now().Add(probeInterval)
		d.onProbeBegin(due)
		select {
		case <-stop:
			return
		case <-time.After(probeInterval):
		}
		d.probe()
		d.onProbeEnd(due, time.Now())
	}
}

func (d *stallDetector) onProbeBegin(due time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.probeDue = due
}

func (d *stallDetector) onProbeEnd(due, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.probeDue = time.Time{}
	if now.Sub(due) < probeThreshold {
		return
	}
	if len(d.stalls) == maxStalls {
		d.stalls = append(d.stalls[:0], d.stalls[maxStalls/2:]...)
	}
	d.stalls = append(d.stalls, stall{due, now})
}

// stallTime returns for how long the machine was stalled between two times. A current probe that is already
// slow counts.
func (d *stallDetector) stallTime(from, till time.Time) (sum time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.stalls
	if !d.probeDue.IsZero() && till.Sub(d.probeDue) >= probeThreshold {
		all = append(all[:len(all):len(all)], stall{d.probeDue, till})
	}
	for _, s := range all {
		if s.from.Before(from) {
			s.from = from
		}
		if s.till.After(till) {
			s.till = till
		}
		sum += max(0, s.till.Sub(s.from))
	}
	return sum
}

// detector is the stall detector of this test binary. It starts with the first node.
var detector = struct {
	stallDetector
	once sync.Once
	file *os.File
}{}

// startStallDetector starts the detector, once.
func startStallDetector() error {
	var err error
	detector.once.Do(func() {
		detector.file, err = os.CreateTemp("", "linchpin-stalls-")
		if err != nil {
			return
		}
		_ = os.Remove(detector.file.Name()) // the open file remains usable
		detector.probe = func() {
			// Ignore errors: a failing disk fails the nodes too.
			_, _ = detector.file.WriteAt([]byte(time.Now().String()), 0)
			_ = detector.file.Sync()
		}
		go detector.run(nil)
	})
	if err != nil {
		return fmt.Errorf("stall detector: %w", err)
	}
	return nil
}

// StallTime returns for how long the machine was stalled between two times. Both must be after the launch
// of the first node.
func StallTime(from, till time.Time) time.Duration { return detector.stallTime(from, till) }

// Elapsed returns the time since begin without the time for which the machine was stalled. On an idle
// machine it is time.Since(begin).
func Elapsed(begin time.Time) time.Duration {
	now := time.Now()
	return now.Sub(begin) - StallTime(begin, now)
}
