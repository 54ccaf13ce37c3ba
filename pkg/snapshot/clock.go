package snapshot

// maxCorrection is the largest correction of the time of day that does not count as a step, in nanoseconds.
// The value is somewhat arbitrary: the interval of the history.
const maxCorrection = int64(1e9)

// dayClock is the time of day by which snapshots are retained. It advances with Now and does not jump. A
// clock step is adopted when the time of day has been steady since for long enough; then it applies to all
// snapshots of this incarnation. So a clock that is wrong for seconds changes nothing.
//
//	                 step            adopted
//	time of day  ────┐               ┌──────      steady for doubt after the step
//	dayClock     ────────────────────┘
type dayClock struct {
	// doubt is for how long the time of day must have been steady after a step to be adopted, and after a start
	// to be certain, in nanoseconds.
	doubt int64
	// offset is the adopted time of day minus Now. start is Now when this incarnation began.
	offset, start int64
	// seen is the last observed time of day minus Now. It has been steady at candidate since the time since.
	seen, candidate, since int64
	// steadiest is the longest time for which the time of day was steady at offset, at most doubt. Until it is
	// doubt, the clock may have been wrong when the incarnation began.
	steadiest int64
}

func newDayClock(opt *Options, now, wall int64) dayClock {
	d, doubt, steady := wall-now, opt.doubt(), int64(opt.Steady)
	return dayClock{doubt: doubt, offset: d, start: now, seen: d, candidate: d, since: now - steady,
		steadiest: min(steady, doubt)}
}

// isNear reports whether two offsets differ by a correction only.
func isNear(a, b int64) bool { return a-b <= maxCorrection && b-a <= maxCorrection }

// observe processes a time of day, and reports whether another one is adopted. Until a time of day has been
// steady for doubt, the one that was steady for longest is used. A contradicted time of day never counts as
// steady.
func (c *dayClock) observe(now, wall int64, contradicted bool) bool {
	c.seen = wall - now
	if contradicted || !isNear(c.seen, c.candidate) {
		c.since, c.candidate = now, c.seen
	}
	even := min(now-c.since, c.doubt)
	set := !isNear(c.seen, c.offset)
	switch {
	case !set:
		c.steadiest = max(c.steadiest, even)
		return false
	case even < c.doubt && even <= c.steadiest:
		return false
	}
	c.offset, c.steadiest = c.seen, even
	return true
}

// at returns the time of day at now.
func (c *dayClock) at(now int64) int64 { return now + c.offset }

// isSure reports whether the clock has been steady for so long that it applies to snapshots of earlier
// incarnations, too.
func (c *dayClock) isSure() bool { return c.steadiest >= c.doubt }

// isAmbiguous reports whether there are two times of day, neither of which has been steady for long.
func (c *dayClock) isAmbiguous() bool { return !c.isSure() && !isNear(c.seen, c.offset) }
