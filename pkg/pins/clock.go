package pins

// evenness is by how much a time of day may be corrected without having been set, in
// nanoseconds. Somewhat arbitrary: the grain of the history.
const evenness = int64(1e9)

// dayClock is the time of day by which states are kept. It goes on as Now does, and does
// not jump: a time of day that was set is followed when it has gone on evenly for long
// enough, and then by all that was kept in this life. So a clock that is wrong for seconds
// changes nothing.
type dayClock struct {
	// doubt is for how long a time of day that was set must have gone on evenly to be
	// believed, and any to be sure of, in nanoseconds.
	doubt int64
	// offset is the time of day less Now, as it is believed. start is Now when this life
	// began.
	offset, start int64
	// seen is the time of day less Now as it was last seen, apart what it was at since;
	// it has been as even as that from then on.
	seen, apart, since int64
	// held is the longest time for which it was seen at offset, doubt at the most. Until
	// it is that, the clock may have been wrong when the life began.
	held int64
}

func newDayClock(doubt, now, wall int64) dayClock {
	d := wall - now
	return dayClock{doubt: doubt, offset: d, start: now, seen: d, apart: d, since: now}
}

func near(a, b int64) bool { return a-b <= evenness && b-a <= evenness }

// observe takes a time of day, and reports whether another one is believed from now on.
// Until one has been even for long, that is the one that was so for the longest. One that is
// contradicted does not become even.
func (c *dayClock) observe(now, wall int64, contradicted bool) bool {
	c.seen = wall - now
	if contradicted || !near(c.seen, c.apart) {
		c.since, c.apart = now, c.seen
	}
	even := min(now-c.since, c.doubt)
	set := !near(c.seen, c.offset)
	switch {
	case !set:
		c.held = max(c.held, even)
		return false
	case even < c.doubt && even <= c.held:
		return false
	}
	c.offset, c.held = c.seen, even
	return true
}

// at is the time of day.
func (c *dayClock) at(now int64) int64 { return now + c.offset }

// sure reports whether the clock has been even for so long that it is believed of what
// was kept before this life, too.
func (c *dayClock) sure() bool { return c.held >= c.doubt }

// inDoubt reports whether there are two times of day, and neither has been even for long.
func (c *dayClock) inDoubt() bool { return !c.sure() && !near(c.seen, c.offset) }
