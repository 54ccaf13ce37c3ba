package admission

import "time"

// line is those who want one thing, and how fast they are served.
type line struct {
	n int
	// ends is how many have ended since since.
	ends  int
	since int64
	// interval is the time between two ends, as measured before that, 0 if it
	// never was.
	interval int64
	// turn is when the last who was refused was told to come back.
	turn int64
}

const (
	// rateOver is the time over which a rate is measured. Somewhat arbitrary:
	// long enough for what is slow, short enough to follow a change.
	rateOver = int64(100 * time.Millisecond)
	// MinRetry and MaxRetry bound what a refusal says. Nobody is told to come
	// back at once, which would cost more than it brings, or so late that a
	// change would go unnoticed.
	MinRetry = time.Millisecond
	MaxRetry = time.Second
	// firstRetry is said as long as nothing has ended and not much time has
	// passed.
	firstRetry = 10 * time.Millisecond
)

// gap is the time between two ends.
func (l *line) gap(now int64) int64 {
	passed := now - l.since
	switch {
	case l.ends == 0 && l.interval == 0:
		return max(passed, int64(firstRetry))
	case l.ends == 0:
		return max(passed, l.interval)
	case l.interval == 0, passed >= rateOver/2:
		return passed / int64(l.ends)
	}
	return l.interval
}

// retry gives the next turn to one who is refused: how long to stay away.
func (l *line) retry(now int64) time.Duration {
	l.turn = min(max(l.turn, now)+l.gap(now), now+int64(MaxRetry))
	return max(time.Duration(l.turn-now), MinRetry)
}

// enter counts one more. What was measured before everything was idle counts
// for less than what is to come.
func (l *line) enter(now int64) {
	if l.n == 0 {
		l.since, l.ends = now, 0
	}
	l.n++
}

// leave counts one that has ended. What is measured over an idle time counts
// for nothing.
func (l *line) leave(now int64) {
	l.n--
	l.ends++
	if passed := now - l.since; passed >= rateOver {
		if l.interval = passed / int64(l.ends); passed >= 10*rateOver {
			l.interval = 0
		}
		l.since, l.ends = now, 0
	}
}
