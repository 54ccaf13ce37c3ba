package admission

import "time"

// Pace is how fast those who want one thing are served, and whose turn it is.
// The zero value knows nothing.
type Pace struct {
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

// Begin begins to measure, after a time in which there was nobody.
func (p *Pace) Begin(now int64) { p.since, p.ends = now, 0 }

// End counts one that has ended. What is measured over a long time counts for
// nothing.
func (p *Pace) End(now int64) {
	p.ends++
	if passed := now - p.since; passed >= rateOver {
		p.interval = passed / int64(p.ends)
		if passed >= 10*rateOver {
			p.interval = 0
		}
		p.Begin(now)
	}
}

// gap is the time between two ends.
func (p *Pace) gap(now int64) int64 {
	passed := now - p.since
	switch {
	case p.ends == 0 && p.interval == 0:
		return max(passed, int64(firstRetry))
	case p.ends == 0:
		return max(passed, p.interval)
	case p.interval == 0, passed >= rateOver/2:
		return passed / int64(p.ends)
	}
	return p.interval
}

// Retry gives the next turn to one who is refused: how long to stay away.
func (p *Pace) Retry(now int64) time.Duration {
	p.turn = min(max(p.turn, now)+p.gap(now), now+int64(MaxRetry))
	return max(time.Duration(p.turn-now), MinRetry)
}

// line is those who have one thing.
type line struct {
	Pace
	n int
}

func (l *line) enter(now int64) {
	if l.n == 0 {
		l.Begin(now)
	}
	l.n++
}

func (l *line) leave(now int64, unserved bool) {
	l.n--
	if !unserved {
		l.End(now)
	}
}
