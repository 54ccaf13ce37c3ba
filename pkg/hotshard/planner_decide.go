package hotshard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Decide returns the moves to start now. If the budget is short, the operator's rules have priority, then
// moves that relieve the hot shard, then moves that avoid waiting; last, idle keys go home.
func (p *Planner) Decide(now int64) []Move {
	p.advance(now)
	p.expire()
	d := &decision{Planner: p, on: p.load()}
	d.enforceRules()
	d.moveInPinned()
	d.shedLoad()
	d.moveInContended()
	d.moveOutIdle()
	p.forgetKeys()
	return d.moves
}

// expire removes outdated reports and times out pending moves.
func (p *Planner) expire() {
	old := p.ago(reportPeriods * p.opt.Every)
	maps.DeleteFunc(p.pairs, func(_ uint32, d pairReport) bool { return d.at < old })
	for _, k := range p.keys {
		if k.at < old {
			k.clearHeat()
		}
		if k.move != nil && k.move.began <= p.ago(p.opt.Timeout) {
			p.failMove(k)
		}
	}
	// Unused budget accumulates up to Burst.
	p.spent = max(p.spent, p.now-int64(p.opt.Burst)*p.cost())
}

// cost is the time after which the budget of one move is available again.
func (p *Planner) cost() int64 { return int64(time.Second) / int64(p.opt.Moves) }

// decision is one call of Decide.
type decision struct {
	*Planner
	moves []Move
	on    load
}

// load is the keys that are on the hot shard or moving there.
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

// fits reports whether the hot shard has space for more keys. The total length of the keys is bounded too,
// since the heat map lists them all.
func (p *Planner) fits(l load, keys ...*plannedKey) bool {
	for _, k := range keys {
		l.add(k)
	}
	return l.count <= p.opt.MaxKeys && l.bytes <= maxMapBytes
}

// budget is the number of moves that may start now.
func (d *decision) budget() int { return int((d.now - d.spent) / d.cost()) }

// start begins a move.
func (d *decision) start(k *plannedKey, hot bool, why MoveCause, reason string) {
	d.spent += d.cost()
	d.counters.Begun[why]++
	k.move = &pendingMove{hot, d.now, reason}
	k.last.ordered = why == CauseOrdered
	if k.heat > 0 {
		k.last.rate = k.heat
	}
	m := Move{Key: []byte(k.key), From: k.home, To: d.opt.Hot, Reason: reason}
	if hot {
		d.on.add(k)
	} else {
		m.From, m.To = m.To, m.From
	}
	d.moves = append(d.moves, m)
}

// selectKeys returns the keys that satisfy a predicate, by order, then by key.
func (d *decision) selectKeys(is func(*plannedKey) bool, order func(a, b *plannedKey) int) (list []*plannedKey) {
	for _, k := range d.keys {
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

// moveHome moves keys home within the budget.
func (d *decision) moveHome(list []*plannedKey, why MoveCause, reason func(*plannedKey) string) {
	for _, k := range list[:max(0, min(len(list), d.budget()))] {
		d.start(k, false, why, reason(k))
	}
}

// enforceRules sends home keys that are banned or excluded by the mode.
func (d *decision) enforceRules() {
	mode := d.opt.Mode
	d.moveHome(d.selectKeys(func(k *plannedKey) bool {
		ordered := mode == ModeOff || k.rule.Order == Ban || mode == ModePinned && k.rule.Order != Pin
		return ordered && k.owned && k.move == nil && d.now >= k.until
	}, nil), CauseOrdered, func(k *plannedKey) string {
		switch {
		case k.rule.Order == Ban:
			return k.rule.String()
		case mode == ModeOff:
			return "the planner is off"
		}
		return "mode pinned: only pinned keys are moved"
	})
}

// moveInPinned moves pinned keys to the hot shard. If it is full, keys that are there because of their heat
// go home first, once they have stayed for Relief.
func (d *decision) moveInPinned() {
	if d.opt.Mode == ModeOff {
		return
	}
	missing := 0
	for _, k := range d.selectKeys(func(k *plannedKey) bool {
		return k.rule.Order == Pin && !d.isOnHotShard(k) && k.home != d.opt.Hot && k.move == nil && d.now >= k.until
	}, nil) {
		switch {
		case !d.fits(d.on, k):
			missing++
		case d.budget() > 0:
			d.start(k, true, CausePinned, k.rule.String())
		}
	}
	// More keys than MaxKeys can be there: a move that was given up may have happened after all.
	missing += max(0, len(d.owned)-d.opt.MaxKeys)
	for _, k := range d.owned {
		if k.move != nil && !k.move.hot {
			missing--
		}
	}
	if missing > 0 {
		least := d.leastUseful()
		d.moveHome(least[:min(len(least), missing)], CauseFull, func(*plannedKey) string {
			return "it saves least waiting, and the hot shard needs its slot"
		})
	}
}

// leastUseful returns the keys that may go home, sorted by the waiting that each of their writes on the hot
// shard saves, least first.
func (d *decision) leastUseful() []*plannedKey {
	return d.selectKeys(func(k *plannedKey) bool { return d.canGoHome(k) && k.since <= d.ago(d.opt.Relief) },
		func(a, b *plannedKey) int {
			return cmp.Or(cmp.Compare(a.savedPerWrite(), b.savedPerWrite()), cmp.Compare(b.heat, a.heat))
		})
}

// shedInterval is the time until moves have an effect on the busy share of the hot shard.
const shedInterval = time.Second

// shedLoad sends keys home until the hot shard is expected to be less busy than Over, assuming that its
// load is proportional to the conflicts of its keys. It sends at least one at a time.
func (d *decision) shedLoad() {
	if d.busy <= d.opt.Over || len(d.owned) == 0 || d.shed > d.ago(shedInterval) {
		return
	}
	all, leaving := 0.0, 0.0
	shedding := false
	for _, k := range d.selectKeys(func(k *plannedKey) bool { return k.owned }, nil) {
		all += k.heat
		if k.move != nil && !k.move.hot {
			leaving += k.heat
			shedding = true
		}
	}
	goal := all*(d.busy-d.opt.Over)/d.busy - leaving
	for _, k := range d.leastUseful() {
		if d.budget() <= 0 || shedding && goal <= 0 {
			return
		}
		goal -= k.heat
		shedding = true
		d.shed = d.now
		k.barred = d.now + int64(doubled(d.opt.Stay, k.sheds))
		k.sheds++
		d.start(k, false, CauseOverloaded, fmt.Sprintf("the hot shard is busy %.0f%% of the time, "+
			"and this key saves the least waiting: %v per write",
			100*d.busy, k.savedPerWrite().Round(time.Microsecond)))
	}
}

// moveOutIdle sends keys home that have caused no waiting for Quiet.
func (d *decision) moveOutIdle() {
	quiet := d.ago(d.opt.Quiet)
	d.moveHome(d.selectKeys(func(k *plannedKey) bool {
		return d.canGoHome(k) && k.since <= d.ago(d.minStay(k)) && k.usefulAt <= quiet
	}, func(a, b *plannedKey) int { return cmp.Compare(a.usefulAt, b.usefulAt) }), CauseIdle, func(k *plannedKey) string {
		return fmt.Sprintf("its wait rate at home would have been less than %s for %.0f s",
			perSecond(d.opt.Down), time.Duration(d.now-k.usefulAt).Seconds())
	})
}

// moveInContended moves the keys that cause waiting, each with its partners. Groups precede single keys;
// among both, moves that avoid more waiting come first.
func (d *decision) moveInContended() {
	if d.opt.Mode != ModeAuto || d.busy > d.opt.Full {
		return
	}
	hot := d.selectKeys(func(k *plannedKey) bool { return k.streak >= d.opt.Surveys }, nil)
	if len(hot) == 0 {
		return
	}
	with := d.pairRates()
	var groups []*group
	for _, k := range hot {
		if g := d.group(k, with[k.key], d.key); g.stuck == "" && len(g.need) > 0 {
			groups = append(groups, g)
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		single := func(g *group) int { return min(len(g.partners), 1) }
		return cmp.Or(cmp.Compare(single(b), single(a)), cmp.Compare(b.savedPerMove(), a.savedPerMove()))
	})
	for _, g := range groups {
		// An earlier group may have moved some of them.
		g.need = slices.DeleteFunc(g.need, func(k *plannedKey) bool { return k.move != nil })
		if !d.fits(d.on, g.need...) {
			continue
		}
		if len(g.need) > d.budget() {
			return
		}
		for _, k := range g.need {
			why := CauseColocated
			if k == g.plannedKey {
				why = CauseContended
			}
			d.start(k, true, why, g.reason(k))
		}
	}
}
