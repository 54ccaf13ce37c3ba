package pins

import (
	"math"
	"slices"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// pin is one that is kept. Its times of day follow from the clock, and change when that is
// set.
type pin struct {
	msg.Snapshot
	// fixed and over are when its state was the current one, and when its time is over. Of
	// this life they are by Now; of earlier ones they are times of day, as they are in its row.
	fixed, over int64
	// earliest and latest are between which times of day a state of the history was the
	// current one. They are the same unless the clock was set between two lives.
	earliest, latest int64
	// age is how old it was at the least when this life began.
	age int64
}

// Observe takes the time of day at now; contradicted: other nodes, or the store, show another. It
// returns the pins whose rows have to be written again, since a time of day that was set is
// believed, or the first one for certain.
func (k *Keeper) Observe(now, wall int64, contradicted bool) (changed []*msg.Snapshot) {
	was := k.day.sure()
	set := k.day.observe(now, wall, contradicted)
	sure := k.day.sure() && !was
	if !set && !sure {
		return nil
	}
	k.setTimes()
	for _, p := range k.pins {
		switch {
		case k.isOwn(p) && set:
			changed = append(changed, &p.Snapshot)
		case !k.isOwn(p) && sure && p.over != p.Expires:
			p.over = p.Expires
			changed = append(changed, &p.Snapshot)
		}
	}
	return changed
}

// Fixed is when the state of a pin of this life was the current one, by Now.
func (k *Keeper) Fixed(number uint64) int64 {
	i, _ := k.find(number)
	return k.pins[i].fixed
}

// isOwn reports whether a pin was kept in this life.
func (k *Keeper) isOwn(p *pin) bool { return p.Number >= k.first }

// setTimes sets the times of day of all pins. Those of earlier lives go by the clocks of
// then. If that shows a later time than the beginning of this life, or than that of a pin
// which is newer, one of the two was wrong.
func (k *Keeper) setTimes() {
	start := k.day.at(k.day.start)
	shown := start
	var history []*pin // that of earlier lives
	for _, p := range slices.Backward(k.pins) {
		switch {
		case k.isOwn(p):
			k.setOwn(p)
			continue
		case p.Name == "":
			history = append(history, p)
		default: // older versions have made some by a clock that was years ahead
			p.Expires = min(p.over, start+int64(MaxTTL))
		}
		shown = min(shown, p.fixed)
		p.Time = shown
	}
	slices.Reverse(history)
	bound(history, start)
}

// bound finds the times between which the states of earlier lives were the current ones. What
// is later than something newer shows, or than the start, may be too late; what is earlier than
// something older shows may be too early.
func bound(history []*pin, start int64) {
	highest := int64(math.MinInt64)
	for _, p := range history {
		highest = max(highest, p.fixed)
		p.latest = highest
	}
	lowest, latest := start, start
	age := int64(0)
	for i, p := range slices.Backward(history) {
		if p.latest == p.fixed { // none that is older shows a later time
			latest = min(latest, p.fixed)
		}
		p.latest = latest
		lowest = min(lowest, p.fixed)
		p.earliest = lowest
		p.age = age
		if i > 0 { // what is more than that may be due to a clock that was set
			age += min(max(p.fixed-history[i-1].fixed, 0), evenness)
		}
	}
	earliest := int64(math.MinInt64)
	for _, p := range history {
		if p.earliest == p.fixed { // none that is newer shows an earlier time
			earliest = p.fixed
		}
		p.earliest = earliest
	}
}

// setOwn sets the times of day of a pin of this life.
func (k *Keeper) setOwn(p *pin) {
	p.Time = k.day.at(p.fixed)
	p.earliest, p.latest = p.Time, p.Time
	if p.Name != "" {
		p.Expires = k.day.at(p.over)
	}
}

// isOver reports whether a named pin's time is over. Of one from an earlier life that is known
// when the time of day is, or when this life alone has been as long as it was to be kept.
func (k *Keeper) isOver(p *pin, now int64) bool {
	switch {
	case p.Name == "":
		return false
	case k.isOwn(p), k.day.sure():
		return p.Expires <= k.day.at(now)
	}
	return p.fixed <= k.day.at(k.day.start) && p.over-p.fixed <= now-k.day.start
}

// isPast reports whether the state of the history that was fixed next is so old that the one
// before it is no longer a part of it.
func (k *Keeper) isPast(next *pin, now int64) bool {
	if k.isOwn(next) || k.day.sure() {
		return next.latest <= k.day.at(now)-k.history
	}
	return next.age+now-k.day.start >= k.history
}
