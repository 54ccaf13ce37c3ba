package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// tally is what a counter's observer may have counted: bounds of the sum of
// the increments before it, and those that may be among them or not.
type tally struct {
	least, most int64
	open        []int32
}

// inferCounter infers from a counter's sums. An observer saw the sum of the
// increments before it, so
//
//   - those that certainly come before, and any choice of those that may,
//     must be able to make up the sum;
//   - an increment whose inclusion (or omission) would put the sum out of
//     reach comes after (or before) the observer;
//   - if all increments go one way, who saw less comes before who saw more,
//     and two that both added cannot have seen the same.
//
// An absent counter was not yet added to by anybody.
func (j *judge) inferCounter(k int32) {
	if j.h.Incomplete {
		return
	}
	ks := &j.keys[k]
	var adds, seers []int32 // accesses
	ks.maybe = ks.maybe[:0]
	sign := [2]bool{}
	for _, i := range j.byKey[k] {
		a := &j.acc[i]
		if a.eff == effAdd && a.delta != 0 {
			sign[min(max(a.delta, 0), 1)] = true
			if j.certain[a.node] {
				adds = append(adds, i)
			} else {
				ks.maybe = append(ks.maybe, i)
			}
		}
		if j.certain[a.node] && (a.obs == obsNumber || a.obs == obsBase || a.obs == obsAbsent) {
			seers = append(seers, i)
		}
	}
	if len(seers) == 0 {
		return
	}
	nodes := make([]int32, len(adds))
	for i, a := range adds {
		nodes[i] = j.acc[a].node
	}
	ks.writers = newIntervals(j.g.lo, j.g.hi, nodes)
	sums := make([]int64, len(nodes)+1) // of the first increments by hi
	for n, v := range ks.writers.byHi {
		sums[n+1] = plus64(sums[n], j.effect(v, k).delta)
	}
	for _, i := range ks.reads { // absences
		if j.stir.at(j.acc[i].node) {
			j.overtaken(i, -1, 0)
		}
	}
	if j.h.InitialUnknown {
		j.boundInitial(k, seers, sums)
	}
	for _, i := range seers {
		if j.stir.at(j.acc[i].node) || j.h.InitialUnknown {
			j.inferSum(i, j.tallyUp(i, sums))
		}
	}
	if sign[0] != sign[1] && j.verdict.OK() {
		j.inferRising(k, seers, sign[0])
	}
}

// effect is what a node has to do with a key; it must have something.
func (j *judge) effect(node, k int32) *access {
	for i := j.first[node]; ; i++ {
		if a := &j.acc[i]; a.key == k {
			return a
		}
	}
}

// tallyUp sorts the increments into before, open and after the observer i.
func (j *judge) tallyUp(i int32, sums []int64) tally {
	a := &j.acc[i]
	ks := &j.keys[a.key]
	g, r := j.g, a.node
	sum := sums[ks.writers.endedBefore(g.lo[r])]
	t := tally{least: sum, most: sum}
	may := func(v int32) {
		d := j.effect(v, a.key).delta
		t.open = append(t.open, v)
		t.least, t.most = plus64(t.least, min(d, 0)), plus64(t.most, max(d, 0))
	}
	j.found = ks.writers.overlapping(g.lo[r], g.hi[r], j.found[:0])
	for _, v := range j.found {
		switch {
		case v == r || j.after.reach(r).has(v):
		case j.before.reach(r).has(v):
			d := j.effect(v, a.key).delta
			t.least, t.most = plus64(t.least, d), plus64(t.most, d)
		default:
			may(v)
		}
	}
	for _, e := range ks.maybe {
		if v := j.acc[e].node; v != r && !g.inTime(r, v) {
			may(v)
		}
	}
	return t
}

// boundInitial narrows what the counter can have been before the history. It
// was nothing if somebody found none, as nobody deletes it.
func (j *judge) boundInitial(k int32, seers []int32, sums []int64) {
	b := &j.keys[k].initial
	for _, i := range seers {
		a, t := &j.acc[i], j.tallyUp(i, sums)
		if a.obs == obsAbsent {
			b[0], b[1] = max(b[0], 0), min(b[1], 0)
		}
		b[0] = max(b[0], plus64(a.num, -t.most))
		b[1] = min(b[1], plus64(a.num, -t.least))
		if b[0] > b[1] {
			j.verdict.add(WrongSum, fmt.Sprintf("%s saw %q at %d before its own increments. Together with the reads of other transactions, no initial number explains it.",
				who(j.nodes[a.node]), j.names[k], a.num))
			return
		}
	}
}

// inferSum holds one observer's sum against its tally.
func (j *judge) inferSum(i int32, t tally) {
	a := &j.acc[i]
	b := j.keys[a.key].initial
	least, most := plus64(b[0], t.least), plus64(b[1], t.most)
	if a.num < least || a.num > most {
		j.verdict.add(WrongSum, fmt.Sprintf("%s saw %q at %d before its own increments; the increments that come before it, or may, make %d to %d.",
			who(j.nodes[a.node]), j.names[a.key], a.num, least, most))
		return
	}
	for _, v := range t.open {
		d := j.effect(v, a.key).delta
		if d > 0 && plus64(least, d) > a.num || d < 0 && plus64(most, d) < a.num {
			if j.certain[v] {
				j.precede(i, v, -1)
			}
		}
		if d > 0 && plus64(most, -d) < a.num || d < 0 && plus64(least, -d) > a.num {
			j.promote(v)
			if !j.g.hasEdge(v, a.node) {
				j.edge(edge{from: v, to: a.node, key: a.key, kind: depWR, why: -1})
			}
		}
	}
}

// inferRising orders the observers of a counter that goes only one way: those
// of one sum that did not add, then the one that did, then those of the next.
func (j *judge) inferRising(k int32, seers []int32, falling bool) {
	level := func(i int32) (seen, added int64) {
		a := &j.acc[i]
		if a.eff == effAdd {
			added = a.delta
		}
		if falling {
			return -a.num, -added
		}
		return a.num, added
	}
	rank := func(x, y int32) int { // same rank: not ordered by this
		sx, ax := level(x)
		sy, ay := level(y)
		return cmp.Or(cmp.Compare(sx, sy), cmp.Compare(min(ax, 1), min(ay, 1)))
	}
	slices.SortFunc(seers, func(x, y int32) int {
		return cmp.Or(rank(x, y), -cmp.Compare(j.g.hi[j.acc[x].node], j.g.hi[j.acc[y].node]), cmp.Compare(x, y))
	})
	var last []int32
	for len(seers) > 0 {
		n := 1
		for n < len(seers) && rank(seers[0], seers[n]) == 0 {
			n++
		}
		group := seers[:n]
		seers = seers[n:]
		clash := func(x, y int32) {
			j.verdict.add(LostUpdate, fmt.Sprintf("%s added to %q when it was %d, and %s saw it at %d, without that.",
				who(j.nodes[j.acc[x].node]), j.names[k], j.acc[x].num, who(j.nodes[j.acc[y].node]), j.acc[y].num))
		}
		if _, added := level(group[0]); added > 0 && n > 1 {
			clash(group[0], group[1])
			return
		}
		if len(last) > 0 {
			was, added := level(last[0])
			if now, _ := level(group[0]); added > 0 && now < plus64(was, added) {
				clash(last[0], group[0])
				return
			}
		}
		j.rise(last, group)
		last = group
	}
}

// rise puts the observers of one level before those of the next. Lower is by
// falling hi, so that those which come before in time are at its end.
func (j *judge) rise(lower, higher []int32) {
	for _, y := range higher {
		to := &j.acc[y]
		for _, x := range lower {
			from := &j.acc[x]
			if j.g.inTime(from.node, to.node) {
				break
			}
			kind := depSum
			if from.eff == effAdd {
				kind = depWR
			} else if to.eff == effAdd {
				kind = depRW
			}
			if !j.g.hasEdge(from.node, to.node) {
				j.edge(edge{from: from.node, to: to.node, key: to.key, kind: kind, why: -1})
			}
			if j.g.inTime(to.node, from.node) {
				return // a contradiction; one will do
			}
		}
	}
}

// plus64 adds, and stays at the end of the range when that is passed.
func plus64(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}
