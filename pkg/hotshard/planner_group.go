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

// partner is a key that is written together with another one, and the rate of that.
type partner struct {
	*plannedKey
	rate float64
}

// group is a key that causes waiting, and the moves that would end it.
type group struct {
	*plannedKey
	// partners occur in at least the share Together of its conflicts, most frequent first.
	partners []partner
	// need are the keys that are not on the hot shard yet.
	need []*plannedKey
	// stuck is why the group gains nothing: a required key cannot be moved.
	stuck string
}

// savedPerMove is the waiting that each move of the group avoids.
func (g *group) savedPerMove() float64 { return float64(g.waited) / float64(len(g.need)) }

// pairRates sums the pair reports of all gateways. It sums in a fixed order, since the sum of floats
// depends on it and the planner is deterministic.
func (p *Planner) pairRates() map[string]map[string]float64 {
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

// partners returns the keys that occur in at least the share Together of a key's conflicts, most frequent
// first.
//
// A key on the hot shard that still causes waiting does so because of partners that are not there. For such
// a key the share is of its conflicts with those partners, so that they are found even if each of them is
// rare.
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

// group determines which keys must move so that no transaction waits for k.
func (p *Planner) group(k *plannedKey, with map[string]float64, find func(string) *plannedKey) *group {
	g := &group{plannedKey: k, partners: p.partners(k, with, find)}
	if !p.isOnHotShard(k) {
		g.stuck = p.blockedReason(k)
		if g.stuck != "" {
			return g
		}
		g.need = append(g.need, k)
	}
	joined := 0
	for _, q := range g.partners {
		switch why := p.blockedReason(q.plannedKey); {
		case p.isOnHotShard(q.plannedKey):
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

// reason explains to the operator why a key of the group moves.
func (g *group) reason(k *plannedKey) string {
	waited := perSecond(time.Duration(g.waited))
	if k != g.plannedKey {
		i := slices.IndexFunc(g.partners, func(q partner) bool { return q.plannedKey == k })
		return fmt.Sprintf("it was written %.3g/s together with %q, whose wait rate was %s", g.partners[i].rate, g.key,
			waited)
	}
	out := fmt.Sprintf("its wait rate was %s", waited)
	for i, q := range g.partners[:min(len(g.partners), 3)] {
		out += [...]string{", and it was written together with ", ", ", ", "}[i] + fmt.Sprintf("%q", q.key)
	}
	return out
}

var writtenWith = regexp.MustCompile(`: it was written [^ ]+ together with ("(?:[^"\\]|\\.)*"), whose`)

// Partner extracts from the result of [Planner.Why] for a key on the hot shard the key together with which
// it was written and because of which it was moved.
func Partner(why string) (key []byte, ok bool) {
	m := writtenWith.FindStringSubmatch(why)
	if m == nil {
		return nil, false
	}
	k, err := strconv.Unquote(m[1])
	return []byte(k), err == nil
}
