package hotshard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Decide says which moves to make now. The operator's wishes come first, then
// what relieves the hot shard, then what spares waiting, and last what is
// merely no longer of use there.
func (p *Planner) Decide(now int64) []Move {
	p.advance(now)
	p.expire()
	r := &round{Planner: p, on: p.load()}
	r.obey()
	r.pin()
	r.relieve()
	r.gather()
	r.tidy()
	p.forget()
	return r.moves
}

// expire forgets what has not been repeated, and the moves that took too long.
func (p *Planner) expire() {
	old := p.ago(digestLasts * p.opt.Every)
	maps.DeleteFunc(p.pairs, func(_ uint32, d pairDigest) bool { return d.at < old })
	for _, k := range p.keys {
		if k.at < old {
			k.cool()
		}
		if k.move != nil && k.move.began <= p.ago(p.opt.Timeout) {
			p.giveUp(k)
		}
	}
	// What is not used is saved up, but no more than Burst.
	p.spent = max(p.spent, p.now-int64(p.opt.Burst)*p.cost())
}

// cost is for how long a move uses the budget.
func (p *Planner) cost() int64 { return int64(time.Second) / int64(p.opt.Moves) }

// round is one decision.
type round struct {
	*Planner
	moves []Move
	on    load
}

// load is what is on the hot shard, or on its way there.
type load struct{ count, bytes int }

func (l *load) add(k *plannedKey) {
	l.count++
	l.bytes += len(k.key)
}

func (p *Planner) load() (l load) {
	for _, k := range p.keys {
		if k.owned || k.move != nil && k.move.hot {
			l.add(k)
		}
	}
	return l
}

// fits reports whether there is room for keys on the hot shard. They are bounded
// by their length, too, as gateways are told of them all.
func (p *Planner) fits(l load, keys ...*plannedKey) bool {
	for _, k := range keys {
		l.add(k)
	}
	return l.count <= p.opt.MaxKeys && l.bytes <= maxMapBytes
}

// budget is how many moves may begin.
func (r *round) budget() int { return int((r.now - r.spent) / r.cost()) }

// start begins a move.
func (r *round) start(k *plannedKey, hot bool, why Why, reason string) {
	r.spent += r.cost()
	r.counters.Begun[why]++
	k.move = &underway{hot, r.now, reason}
	k.last.ordered = why == WhyOrdered
	if k.heat > 0 {
		k.last.rate = k.heat
	}
	m := Move{Key: []byte(k.key), From: k.home, To: r.opt.Hot, Reason: reason}
	if hot {
		r.on.add(k)
	} else {
		m.From, m.To = m.To, m.From
	}
	r.moves = append(r.moves, m)
}

// pick lists the keys for which something is true.
func (r *round) pick(is func(*plannedKey) bool, order func(a, b *plannedKey) int) (list []*plannedKey) {
	for _, k := range r.keys {
		if is(k) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b *plannedKey) int {
		if order != nil {
			if c := order(a, b); c != 0 {
				return c
			}
		}
		return strings.Compare(a.key, b.key)
	})
	return list
}

// sendHome moves keys home, as far as the budget goes.
func (r *round) sendHome(list []*plannedKey, why Why, reason func(*plannedKey) string) {
	for _, k := range list[:max(0, min(len(list), r.budget()))] {
		r.start(k, false, why, reason(k))
	}
}

// obey sends home what the operator does not want on the hot shard.
func (r *round) obey() {
	mode := r.opt.Mode
	r.sendHome(r.pick(func(k *plannedKey) bool {
		ordered := mode == ModeOff || k.rule.Order == Ban || mode == ModePinned && k.rule.Order != Pin
		return ordered && k.owned && k.move == nil && r.now >= k.until
	}, nil), WhyOrdered, func(k *plannedKey) string {
		switch {
		case k.rule.Order == Ban:
			return k.rule.String()
		case mode == ModeOff:
			return "the planner is off"
		}
		return "mode pinned: only pinned keys are moved"
	})
}

// pin fetches what the operator wants there. Keys that are there for their heat
// make room, if they have been there for long enough.
func (r *round) pin() {
	if r.opt.Mode == ModeOff {
		return
	}
	lacking := 0
	for _, k := range r.pick(func(k *plannedKey) bool {
		return k.rule.Order == Pin && !r.there(k) && k.home != r.opt.Hot && k.move == nil && r.now >= k.until
	}, nil) {
		switch {
		case !r.fits(r.on, k):
			lacking++
		case r.budget() > 0:
			r.start(k, true, WhyPinned, k.rule.String())
		}
	}
	// Moves that were given up may have taken place after all.
	lacking += max(0, len(r.owned)-r.opt.MaxKeys)
	for _, k := range r.owned {
		if k.move != nil && !k.move.hot {
			lacking--
		}
	}
	if lacking > 0 {
		idle := r.leastUseful()
		r.sendHome(idle[:min(len(idle), lacking)], WhyRoom, func(*plannedKey) string {
			return "it saves least waiting, and the hot shard needs its slot"
		})
	}
}

// leastUseful lists the keys that may go home, those first that save least
// waiting for each write that the hot shard has with them.
func (r *round) leastUseful() []*plannedKey {
	return r.pick(func(k *plannedKey) bool { return r.idle(k) && k.since <= r.ago(r.opt.Relief) }, func(a, b *plannedKey) int {
		return cmp.Or(cmp.Compare(a.saved(), b.saved()), cmp.Compare(b.heat, a.heat))
	})
}

// settling is how long it takes until moves show in how busy the hot shard is.
const settling = time.Second

// relieve sends home as many keys as make the hot shard less busy than Over, if
// it is busy in proportion to the clashes of its keys; at least one at a time.
func (r *round) relieve() {
	if r.busy <= r.opt.Over || len(r.owned) == 0 || r.shed > r.ago(settling) {
		return
	}
	all, leaving := 0.0, 0.0
	going := false
	for _, k := range r.pick(func(k *plannedKey) bool { return k.owned }, nil) {
		all += k.heat
		if k.move != nil && !k.move.hot {
			leaving += k.heat
			going = true
		}
	}
	goal := all*(r.busy-r.opt.Over)/r.busy - leaving
	for _, k := range r.leastUseful() {
		if r.budget() <= 0 || going && goal <= 0 {
			return
		}
		goal -= k.heat
		going = true
		r.shed = r.now
		k.barred = r.now + int64(doubled(r.opt.Stay, k.sheds))
		k.sheds++
		r.start(k, false, WhyBusy, fmt.Sprintf("the hot shard is busy %.0f%% of the time, and this key saves the least waiting: %v per write",
			100*r.busy, k.saved().Round(time.Microsecond)))
	}
}

// tidy sends home what has been quiet for long.
func (r *round) tidy() {
	quiet := r.ago(r.opt.Quiet)
	r.sendHome(r.pick(func(k *plannedKey) bool {
		return r.idle(k) && k.since <= r.ago(r.stay(k)) && k.warm <= quiet
	}, func(a, b *plannedKey) int { return cmp.Compare(a.warm, b.warm) }), WhyQuiet, func(k *plannedKey) string {
		return fmt.Sprintf("its wait rate at home would have been less than %v/s for %v",
			r.opt.Down, time.Duration(r.now-k.warm).Round(time.Second))
	})
}
