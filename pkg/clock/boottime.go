package clock

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A call of the kernel for CLOCK_BOOTTIME takes 0.3 us, six times as long as time.Now, which reads the other two
// clocks without a call, and a hot increment reads the time about 18 times. So Now is CLOCK_MONOTONIC plus the time for
// which the machine has been suspended, and the kernel is asked for that again
//
//   - when the last time is maxAge ago, and
//   - when the time of day and CLOCK_MONOTONIC have diverged since then, as they do in a suspend: the time of day goes
//     on, CLOCK_MONOTONIC does not.
//
// Example. A leader is suspended for 10 s, and others serve its shard meanwhile. It resumes between two reads of the
// time that are 20 us of CLOCK_MONOTONIC apart. The time of day is 10 s later, so the second read asks the kernel, and
// the lease has expired. This fails only if the time of day is also set back by 10 s, to 0.1 ms, within that
// millisecond.

const (
	maxAge = int64(time.Millisecond)
	// maxDivergence is more than passes between the reads of both clocks in time.Now, usually.
	maxDivergence = int64(100 * time.Microsecond)
)

// reading is what is known of CLOCK_BOOTTIME, in nanoseconds since start.
type reading struct {
	at         int64 // monotonic
	boot, wall int64 // minus monotonic; boot is a lower bound, which never decreases
}

var (
	start = time.Now()
	// last is nil before the first reading; refresh is held to replace it.
	last    atomic.Pointer[reading]
	refresh sync.Mutex
)

// now returns CLOCK_BOOTTIME; ok is false if the kernel has to be asked.
func (r *reading) now(wall, monotonic int64) (now int64, ok bool) {
	if r == nil || monotonic-r.at > maxAge {
		return 0, false
	}
	d := wall - monotonic - r.wall
	return monotonic + r.boot, -maxDivergence < d && d < maxDivergence
}

// next is the reading after r: of wall and monotonic, then boot, then CLOCK_MONOTONIC again, which is after. A suspend
// between any two of them makes wall too low, so that the kernel is asked once more.
func (r *reading) next(wall, monotonic, boot, after int64) *reading {
	n := &reading{at: monotonic, boot: boot - after, wall: wall - monotonic}
	if r != nil {
		n.boot = max(n.boot, r.boot)
	}
	return n
}

// attempts bounds how often the clocks are read again because the goroutine was interrupted between them.
const attempts = 5

func readBoottime() int64 {
	refresh.Lock()
	defer refresh.Unlock()
	t, r := time.Now(), last.Load()
	if now, ok := r.now(t.UnixNano(), int64(t.Sub(start))); ok {
		return now // another goroutine has asked
	}
	for i := 1; ; i++ {
		t = time.Now()
		boot, err := boottime()
		if err != nil {
			// NewReal has read it, and the call has no other reason to fail. A clock that stops would keep expired leases
			// alive.
			panic(err)
		}
		monotonic, after := int64(t.Sub(start)), int64(time.Since(start))
		r = r.next(t.UnixNano(), monotonic, boot, after)
		if after-monotonic < maxDivergence || i == attempts {
			last.Store(r)
			return after + r.boot
		}
	}
}

func boottime() (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, fmt.Errorf("clock: CLOCK_BOOTTIME cannot be read: %w", err)
	}
	return ts.Nano(), nil
}
