package admission

import "time"

// ServiceRate is the service rate of a queue and the turns of refused requests. The zero value has no measurement.
type ServiceRate struct {
	// completions is the number of requests that have ended since since.
	completions int
	since       int64
	// interval is the time between two completions in the last period, in nanoseconds; 0 if there is none.
	interval int64
	// nextTurn is the retry time of the last refusal.
	nextTurn int64
}

const (
	// ratePeriod is the time over which a rate is measured. The value is somewhat arbitrary: long enough for slow
	// keys, short enough to follow a change.
	ratePeriod = int64(100 * time.Millisecond)
	// MinRetry and MaxRetry bound the retry time. An immediate retry would cost more than it gains, and a late one
	// would miss a change of the rate.
	MinRetry = time.Millisecond
	MaxRetry = time.Second
	// firstRetry is the retry time before the first completion.
	firstRetry = 10 * time.Millisecond
)

// Begin begins a measurement when a queue is no longer empty.
func (p *ServiceRate) Begin(now int64) { p.since, p.completions = now, 0 }

// End counts a completion. A measurement over ten periods is discarded: it does not show the current rate.
func (p *ServiceRate) End(now int64) {
	p.completions++
	if passed := now - p.since; passed >= ratePeriod {
		p.interval = passed / int64(p.completions)
		if passed >= 10*ratePeriod {
			p.interval = 0
		}
		p.Begin(now)
	}
}

// currentInterval is the expected time between two completions, in nanoseconds.
//
//	no completion yet            10 ms, and more the longer there is none
//	none in this period          the last interval, or the time without one, if longer
//	some, after half a period    this period's average
func (p *ServiceRate) currentInterval(now int64) int64 {
	passed := now - p.since
	switch {
	case p.completions == 0 && p.interval == 0:
		return max(passed, int64(firstRetry))
	case p.completions == 0:
		return max(passed, p.interval)
	case p.interval == 0, passed >= ratePeriod/2:
		return passed / int64(p.completions)
	}
	return p.interval
}

// Retry reserves the next turn for a refused request, and returns the time until then.
//
// Example: a key serves 1,000 transactions per second. Three are refused at once: they get 1, 2 and 3 ms.
func (p *ServiceRate) Retry(now int64) time.Duration {
	p.nextTurn = min(max(p.nextTurn, now)+p.currentInterval(now), now+int64(MaxRetry))
	return max(time.Duration(p.nextTurn-now), MinRetry)
}

// queue counts the transactions in flight of one key, shard or kind.
type queue struct {
	ServiceRate
	n int
}

func (l *queue) add(now int64) {
	if l.n == 0 {
		l.Begin(now)
	}
	l.n++
}

func (l *queue) remove(now int64, unserved bool) {
	l.n--
	if !unserved {
		l.End(now)
	}
}
