package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// sumBounds are bounds for the sum that an observer of a counter can have read: the sum of the increments that precede
// it, and the increments that may or may not precede it.
type sumBounds struct {
	least, most int64
	open        []int32
}

// inferCounter infers an order from a counter's sums. An observer reads the sum of the increments before it. Therefore
//
//   - the increments that certainly precede it, and some choice of those
//     that may, must yield the sum;
//   - an increment that would make the sum unreachable if it were included
//     (or left out) follows (or precedes) the observer;
//   - if all increments have one sign, an observer of less precedes an
//     observer of more, and two observers that also added cannot have read
//     the same sum.
//
// A counter that is absent has had no increment yet.
func (j *checker) inferCounter(k int32) {
	if j.h.Incomplete {
		return
	}
	ks := &j.keys[k]
	var adds, observers []int32 // accesses
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
			observers = append(observers, i)
		}
	}
	if len(observers) == 0 {
		return
	}
	nodes := make([]int32, len(adds))
	for i, a := range adds {
		nodes[i] = j.acc[a].node
	}
	ks.writers = newIntervals(j.g.lo, j.g.hi, nodes)
	sums := make([]int64, len(nodes)+1) // of the first increments by hi
	for n, v := range ks.writers.byHi {
		sums[n+1] = addSaturating(sums[n], j.effect(v, k).delta)
	}
	for _, i := range ks.reads { // absences
		if j.stir.near(j.acc[i].node) {
			j.orderBeforeNewer(i, -1, 0)
		}
	}
	if j.h.InitialUnknown {
		j.boundInitial(k, observers, sums)
	}
	for _, i := range observers {
		if j.stir.near(j.acc[i].node) || j.h.InitialUnknown {
			j.inferSum(i, j.sumBoundsOf(i, sums))
		}
	}
	if sign[0] != sign[1] && j.verdict.OK() {
		j.inferRising(k, observers, sign[0])
	}
}

// effect returns the access of a node to a key; there must be one.
func (j *checker) effect(node, k int32) *access {
	for i := j.first[node]; ; i++ {
		if a := &j.acc[i]; a.key == k {
			return a
		}
	}
}

// sumBoundsOf sorts the increments into those before, open and after the observer i.
func (j *checker) sumBoundsOf(i int32, sums []int64) sumBounds {
	a := &j.acc[i]
	ks := &j.keys[a.key]
	g, r := j.g, a.node
	sum := sums[ks.writers.endedBefore(g.lo[r])]
	t := sumBounds{least: sum, most: sum}
	may := func(v int32) {
		d := j.effect(v, a.key).delta
		t.open = append(t.open, v)
		t.least, t.most = addSaturating(t.least, min(d, 0)), addSaturating(t.most, max(d, 0))
	}
	j.found = ks.writers.overlapping(g.lo[r], g.hi[r], j.found[:0])
	for _, v := range j.found {
		switch {
		case v == r || j.after.reach(r).has(v):
		case j.before.reach(r).has(v):
			d := j.effect(v, a.key).delta
			t.least, t.most = addSaturating(t.least, d), addSaturating(t.most, d)
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

// boundInitial bounds the initial number of a counter. If a transaction found the counter absent it was absent
// initially, since no transaction deletes it.
func (j *checker) boundInitial(k int32, observers []int32, sums []int64) {
	b := &j.keys[k].initial
	for _, i := range observers {
		a, t := &j.acc[i], j.sumBoundsOf(i, sums)
		if a.obs == obsAbsent {
			b[0], b[1] = max(b[0], 0), min(b[1], 0)
		}
		b[0] = max(b[0], addSaturating(a.num, -t.most))
		b[1] = min(b[1], addSaturating(a.num, -t.least))
		if b[0] > b[1] {
			j.verdict.add(WrongSum, fmt.Sprintf("%s saw %q at %d before its own increments. "+
				"Together with the reads of other transactions, no initial number explains it.",
				describeTxn(j.nodes[a.node]), j.names[k], a.num))
			return
		}
	}
}

// inferSum compares the sum of one observer with its bounds.
func (j *checker) inferSum(i int32, t sumBounds) {
	a := &j.acc[i]
	b := j.keys[a.key].initial
	least, most := addSaturating(b[0], t.least), addSaturating(b[1], t.most)
	if a.num < least || a.num > most {
		j.verdict.add(WrongSum, fmt.Sprintf("%s saw %q at %d before its own increments; "+
			"the increments that come before it, or may, make %d to %d.",
			describeTxn(j.nodes[a.node]), j.names[a.key], a.num, least, most))
		return
	}
	for _, v := range t.open {
		d := j.effect(v, a.key).delta
		if d > 0 && addSaturating(least, d) > a.num || d < 0 && addSaturating(most, d) < a.num {
			if j.certain[v] {
				j.orderBefore(i, v, -1)
			}
		}
		if d > 0 && addSaturating(most, -d) < a.num || d < 0 && addSaturating(least, -d) > a.num {
			j.promote(v)
			if !j.g.hasEdge(v, a.node) {
				j.edge(edge{from: v, to: a.node, key: a.key, kind: depWR, why: -1})
			}
		}
	}
}

// inferRising orders the observers of a counter whose increments have one sign: the observers of one sum that did not
// add, then the one that did, then those of the next sum.
func (j *checker) inferRising(k int32, observers []int32, falling bool) {
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
	rank := func(x, y int32) int { // same rank: no order follows
		sx, ax := level(x)
		sy, ay := level(y)
		return cmp.Or(cmp.Compare(sx, sy), cmp.Compare(min(ax, 1), min(ay, 1)))
	}
	slices.SortFunc(observers, func(x, y int32) int {
		return cmp.Or(rank(x, y), -cmp.Compare(j.g.hi[j.acc[x].node], j.g.hi[j.acc[y].node]), cmp.Compare(x, y))
	})
	var last []int32
	for len(observers) > 0 {
		n := 1
		for n < len(observers) && rank(observers[0], observers[n]) == 0 {
			n++
		}
		group := observers[:n]
		observers = observers[n:]
		report := func(x, y int32) {
			j.verdict.add(LostUpdate, fmt.Sprintf("%s added to %q when it was %d, and %s saw it at %d, without that.",
				describeTxn(j.nodes[j.acc[x].node]), j.names[k], j.acc[x].num, describeTxn(j.nodes[j.acc[y].node]), j.acc[y].num))
		}
		if _, added := level(group[0]); added > 0 && n > 1 {
			report(group[0], group[1])
			return
		}
		if len(last) > 0 {
			was, added := level(last[0])
			if now, _ := level(group[0]); added > 0 && now < addSaturating(was, added) {
				report(last[0], group[0])
				return
			}
		}
		j.orderLevels(last, group)
		last = group
	}
}

// orderLevels orders the observers of one level before those of the next. lower is sorted by falling hi, so those that
// precede in real time are at its end.
func (j *checker) orderLevels(lower, higher []int32) {
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
				return // one contradiction is enough
			}
		}
	}
}

// addSaturating adds, and returns the end of the range on overflow.
func addSaturating(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}
