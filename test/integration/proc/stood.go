package proc

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// A bound of seconds on what nodes do is about the nodes. On a machine with more to do
// than it can, whoever is to do something gets no processor for a while, or no answer of
// the disk. So beside the nodes runs a yardstick, which does nothing but what each of
// their transactions does as well: it wakes at a time, writes a few bytes, and has them
// synced. For as long as that takes much longer than usual the machine stands still.

const (
	// pulseEvery is the time between one pulse of the yardstick and the next.
	pulseEvery = 50 * time.Millisecond
	// pulseUsual is what a pulse may take; beyond that the machine stands still.
	pulseUsual = 20 * time.Millisecond
	// pulsesKept bounds the memory of when that was: an hour in which every pulse is slow.
	pulsesKept = 1 << 16
)

// span is a time in which the machine stood still.
type span struct{ from, till time.Time }

// yardstick tells when the machine stood still.
type yardstick struct {
	pulse func()

	mu sync.Mutex // guards what follows
	// due is when the pulse under way was to begin, zero when there is none.
	due   time.Time
	stood []span
}

// run makes pulses until stop is closed.
func (y *yardstick) run(stop <-chan struct{}) {
	for {
		due := time.Now().Add(pulseEvery)
		y.begin(due)
		select {
		case <-stop:
			return
		case <-time.After(pulseEvery):
		}
		y.pulse()
		y.end(due, time.Now())
	}
}

func (y *yardstick) begin(due time.Time) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.due = due
}

func (y *yardstick) end(due, now time.Time) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.due = time.Time{}
	if now.Sub(due) < pulseUsual {
		return
	}
	if len(y.stood) == pulsesKept {
		y.stood = append(y.stood[:0], y.stood[pulsesKept/2:]...)
	}
	y.stood = append(y.stood, span{due, now})
}

// between is for how long the machine stood still between two times.
func (y *yardstick) between(from, till time.Time) (sum time.Duration) {
	y.mu.Lock()
	defer y.mu.Unlock()
	all := y.stood
	if !y.due.IsZero() && till.Sub(y.due) >= pulseUsual {
		all = append(all[:len(all):len(all)], span{y.due, till})
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

// machine is the yardstick of this process; it runs from the first node on.
var machine = struct {
	yardstick
	once sync.Once
	file *os.File
}{}

// watchMachine starts the yardstick.
func watchMachine() error {
	var err error
	machine.once.Do(func() {
		machine.file, err = os.CreateTemp("", "linchpin-yardstick-")
		if err != nil {
			return
		}
		_ = os.Remove(machine.file.Name()) // it is open as long as this process lasts
		machine.pulse = func() {
			// A failure would be of the disk, and is seen by others.
			_, _ = machine.file.WriteAt([]byte(time.Now().String()), 0)
			_ = machine.file.Sync()
		}
		go machine.run(nil)
	})
	if err != nil {
		return fmt.Errorf("a yardstick: %w", err)
	}
	return nil
}

// Stood is for how long the machine stood still between two times, which are not before
// the first node was started.
func Stood(from, till time.Time) time.Duration { return machine.between(from, till) }

// Took is how long something has taken that began at a time, without that for which the
// machine stood still meanwhile. Where the machine has nothing else to do it is the time
// since.
func Took(begin time.Time) time.Duration {
	now := time.Now()
	return now.Sub(begin) - Stood(begin, now)
}
