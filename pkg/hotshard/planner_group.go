package hotshard

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// partner is a key that is written together with another, and how often.
type partner struct {
	*plannedKey
	rate float64
}

// group is a key that causes waiting, and what is to be moved for that.
type group struct {
	*plannedKey
	// partners occur with it in a fair share of its clashes, most often first.
	partners []partner
	// need are those that are not on the hot shard yet.
	need []*plannedKey
	// stuck is a partner without which it gains nothing, and why that may not be
	// moved.
	stuck string
}

// worth is the waiting that each move would spare.
func (g *group) worth() float64 { return float64(g.waited) / float64(len(g.need)) }

// together sums up what gateways tell. The order of summing is always the same,
// and so is the sum.
func (p *Planner) together() map[string]map[string]float64 {
	out := map[string]map[string]float64{}
	add := func(a, b string, rate float64) {
		if out[a] == nil {
			out[a] = map[string]float64{}
		}
		out[a][b] += rate
	}
	for _, n := range slices.Sorted(maps.Keys(p.pairs)) {
		for _, q := range p.pairs[n].pairs {
			add(string(q.A), string(q.B), q.Rate)
			add(string(q.B), string(q.A), q.Rate)
		}
	}
	return out
}

// partners are the keys that occur with a key in a fair share of its clashes,
// most often first. Where it is on the hot shard and still causes waiting, that
// is because of keys that are not: the share is of the clashes with those, so
// that the ones that matter are found even if each is with it but rarely.
func (p *Planner) partners(k *plannedKey, with map[string]float64, find func(string) *plannedKey) (list []partner) {
	of := k.heat
	if p.place(k) == p.opt.Hot {
		sum := 0.0
		for _, key := range slices.Sorted(maps.Keys(with)) {
			sum += with[key]
		}
		of = min(of, sum)
	}
	for key, rate := range with {
		if rate >= p.opt.Together*of && key != k.key {
			list = append(list, partner{find(key), rate})
		}
	}
	slices.SortFunc(list, func(a, b partner) int {
		return cmp.Or(cmp.Compare(b.rate, a.rate), strings.Compare(a.key, b.key))
	})
	return list[:min(len(list), p.opt.Moves)]
}

// group finds out what is to be moved so that nobody waits for a key.
func (p *Planner) group(k *plannedKey, with map[string]float64, find func(string) *plannedKey) *group {
	g := &group{plannedKey: k, partners: p.partners(k, with, find)}
	if !p.there(k) {
		g.stuck = p.blocked(k)
		if g.stuck != "" {
			return g
		}
		g.need = append(g.need, k)
	}
	joined := 0
	for _, q := range g.partners {
		switch why := p.blocked(q.plannedKey); {
		case p.there(q.plannedKey):
			joined++
		case why == "":
			joined++
			g.need = append(g.need, q.plannedKey)
		default:
			g.stuck = fmt.Sprintf("it is written with %q, which is not moved: %s", q.key, why)
		}
	}
	if joined > 0 || len(g.partners) == 0 {
		g.stuck = ""
	}
	g.need = g.need[:min(len(g.need), p.opt.Moves)]
	return g
}

// gather moves the keys that cause waiting, each with those that it is written
// together with. Groups go before single keys, and what spares more waiting for
// each move before what spares less.
func (r *round) gather() {
	if r.opt.Mode != ModeAuto || r.busy > r.opt.Full {
		return
	}
	hot := r.pick(func(k *plannedKey) bool { return k.streak >= r.opt.Surveys }, nil)
	if len(hot) == 0 {
		return
	}
	with := r.together()
	var groups []*group
	for _, k := range hot {
		if g := r.group(k, with[k.key], r.key); g.stuck == "" && len(g.need) > 0 {
			groups = append(groups, g)
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		single := func(g *group) int { return min(len(g.partners), 1) }
		return cmp.Or(cmp.Compare(single(b), single(a)), cmp.Compare(b.worth(), a.worth()))
	})
	for _, g := range groups {
		// Some may have been moved with a group before.
		g.need = slices.DeleteFunc(g.need, func(k *plannedKey) bool { return k.move != nil })
		if !r.fits(r.on, g.need...) {
			continue
		}
		if len(g.need) > r.budget() {
			return
		}
		for _, k := range g.need {
			why := WhyTogether
			if k == g.plannedKey {
				why = WhyWaiting
			}
			r.start(k, true, why, g.reason(k))
		}
	}
}

// reason is why a key of a group is moved.
func (g *group) reason(k *plannedKey) string {
	waited := time.Duration(g.waited).Round(time.Millisecond)
	if k != g.plannedKey {
		i := slices.IndexFunc(g.partners, func(q partner) bool { return q.plannedKey == k })
		return fmt.Sprintf("it was written %.3g/s together with %q, whose wait rate was %v/s", g.partners[i].rate, g.key, waited)
	}
	out := fmt.Sprintf("its wait rate was %v/s", waited)
	for i, q := range g.partners[:min(len(g.partners), 3)] {
		out += [...]string{", and it was written together with ", ", ", ", "}[i] + fmt.Sprintf("%q", q.key)
	}
	return out
}

var writtenWith = regexp.MustCompile(`: it was written [^ ]+ together with ("(?:[^"\\]|\\.)*"), whose`)

// Partner finds in what [Planner.Why] returned for a key on the hot shard the key with which that one
// is written, and because of which it was moved.
func Partner(why string) (key []byte, ok bool) {
	m := writtenWith.FindStringSubmatch(why)
	if m == nil {
		return nil, false
	}
	k, err := strconv.Unquote(m[1])
	return []byte(k), err == nil
}
