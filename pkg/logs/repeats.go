package logs

import (
	"log/slog"
	"sync"
	"time"
)

// repeats bounds how often the same is said.
type repeats struct {
	burst  int
	window time.Duration

	mu   sync.Mutex
	seen map[repeatKey]*repeat
}

type repeatKey struct {
	component string
	level     slog.Level
	message   string
}

// repeat is one message in its current window.
type repeat struct {
	since               time.Time
	written, suppressed int
}

// maxRepeats bounds the table. There are fewer messages than that in the code; if
// there ever are more, counting begins anew.
const maxRepeats = 1000

// take reports whether a line may be written now, and how many of its kind have
// not been since the last that was.
func (r *repeats) take(k repeatKey, now time.Time) (suppressed int, ok bool) {
	if r.burst < 0 {
		return 0, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.seen[k]
	if s == nil {
		if len(r.seen) >= maxRepeats {
			clear(r.seen)
		}
		s = &repeat{since: now}
		r.seen[k] = s
	}
	// A clock that was set back begins a window, too.
	if d := now.Sub(s.since); d >= r.window || d < 0 {
		suppressed = s.suppressed
		*s = repeat{since: now}
	}
	if s.written >= r.burst {
		s.suppressed++
		return 0, false
	}
	s.written++
	return suppressed, true
}
