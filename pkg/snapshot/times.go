package snapshot

import (
	"math"
	"slices"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// retained is a retained snapshot. Its times of day follow from the clock, and change when a step is adopted.
type retained struct {
	msg.Snapshot
	// fixed and endsAt are when it was fixed and when it expires: by Now for one of this incarnation, as times
	// of day, as in its row, for one of an earlier incarnation.
	fixed, endsAt int64
	// earliest and latest bound the time of day at which a snapshot of the history was fixed. They differ only
	// if the clock was set between two incarnations.
	earliest, latest int64
	// age is a lower bound of its age when this incarnation began.
	age int64
}

// Observe processes the time of day at now; contradicted: other nodes, or the store, show another. It returns
// the snapshots whose rows are to be written again, because a step is adopted, or the time of day is certain
// now.
func (k *Registry) Observe(now, wall int64, contradicted bool) (changed []*msg.Snapshot) {
	was := k.day.isSure()
	set := k.day.observe(now, wall, contradicted)
	sure := k.day.isSure() && !was
	if !set && !sure {
		return nil
	}
	k.setTimes()
	for _, p := range k.snapshots {
		switch {
		case k.isOwn(p) && set:
			changed = append(changed, &p.Snapshot)
		case !k.isOwn(p) && sure && p.endsAt != p.Expires:
			p.endsAt = p.Expires
			changed = append(changed, &p.Snapshot)
		}
	}
	return changed
}

// Fixed is when a snapshot of this incarnation was fixed, by Now.
func (k *Registry) Fixed(number uint64) int64 {
	i, _ := k.indexOf(number)
	return k.snapshots[i].fixed
}

// isOwn reports whether a snapshot was retained in this incarnation.
func (k *Registry) isOwn(p *retained) bool { return p.Number >= k.firstOwn }

// setTimes sets the times of day of all snapshots. Those of earlier incarnations were set by the clocks of
// that time. If one is later than the start of this incarnation, or than a newer snapshot, one of the two
// clocks was wrong.
func (k *Registry) setTimes() {
	start := k.day.at(k.day.start)
	shown := start
	var history []*retained // those of earlier incarnations
	for _, p := range slices.Backward(k.snapshots) {
		switch {
		case k.isOwn(p):
			k.setOwnTimes(p)
			continue
		case p.Name == "":
			history = append(history, p)
		default: // older versions have retained some by a clock that was years ahead
			p.Expires = min(p.endsAt, start+int64(MaxTTL))
		}
		shown = min(shown, p.fixed)
		p.Time = shown
	}
	slices.Reverse(history)
	boundTimes(history, start)
}

// boundTimes computes the bounds of the times of earlier incarnations. A time that is later than that of a
// newer snapshot, or than the start, may be too late; one that is earlier than that of an older snapshot may
// be too early.
//
//	snapshot        1      2      3      4      start
//	time in its row 12:00  15:00  12:02  12:03  12:10     2 was fixed by a clock that was ahead
//	bounds          12:00  12:00-12:02 ...
func boundTimes(history []*retained, start int64) {
	highest := int64(math.MinInt64)
	for _, p := range history {
		highest = max(highest, p.fixed)
		p.latest = highest
	}
	lowest, latest := start, start
	age := int64(0)
	for i, p := range slices.Backward(history) {
		if p.latest == p.fixed { // no older one shows a later time
			latest = min(latest, p.fixed)
		}
		p.latest = latest
		lowest = min(lowest, p.fixed)
		p.earliest = lowest
		p.age = age
		if i > 0 { // a larger difference may be due to a clock step
			age += min(max(p.fixed-history[i-1].fixed, 0), maxCorrection)
		}
	}
	earliest := int64(math.MinInt64)
	for _, p := range history {
		if p.earliest == p.fixed { // no newer one shows an earlier time
			earliest = p.fixed
		}
		p.earliest = earliest
	}
}

// setOwnTimes sets the times of day of a snapshot of this incarnation.
func (k *Registry) setOwnTimes(p *retained) {
	p.Time = k.day.at(p.fixed)
	p.earliest, p.latest = p.Time, p.Time
	if p.Name != "" {
		p.Expires = k.day.at(p.endsAt)
	}
}

// isExpired reports whether a named snapshot has expired. For one of an earlier incarnation this is known
// when the time of day is certain, or when this incarnation alone has lasted for its time to live.
func (k *Registry) isExpired(p *retained, now int64) bool {
	switch {
	case p.Name == "":
		return false
	case k.isOwn(p), k.day.isSure():
		return p.Expires <= k.day.at(now)
	}
	return p.fixed <= k.day.at(k.day.start) && p.endsAt-p.fixed <= now-k.day.start
}

// isBeyondHistory reports whether the snapshot of the history after another one is so old that the other does
// not belong to the history any more.
func (k *Registry) isBeyondHistory(next *retained, now int64) bool {
	if k.isOwn(next) || k.day.isSure() {
		return next.latest <= k.day.at(now)-k.history
	}
	return next.age+now-k.day.start >= k.history
}
