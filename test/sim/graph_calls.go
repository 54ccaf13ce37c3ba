package sim

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/history"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// What the graph judge has to know of calls of data types is found out here: by
// doing them to the model's things, at the versions that the shards made, in one
// order and in the other. Neither the order of decisions nor what the code holds
// for commuting has a part in it.
//
// Two changes of one key depend on each other's order if they come out differently
// the other way round at the state where the first of them became visible. There
// the plans of both hold, if they were undecided at one time, since their locks
// protect them; if they were not, the second came after the first anyway. So what
// a correct store does never makes a cycle.

// chain is the versions of one key, in their order, with what each left.
type chain struct {
	key   string
	links []link
}

// link is one version. before is what it was made of: what was there, nil if that
// was nothing or of no data type.
type link struct {
	t             *txnRecord
	e             *shownEffect
	steps         []step
	before, after thing
}

// chainsOf finds the chains of all keys on which methods were called.
func (w *world) chainsOf() map[string]*chain {
	chains := map[string]*chain{}
	for _, n := range w.log.notes {
		if e := n.shown; e != nil && !n.lost {
			c := chains[e.key]
			if c == nil {
				c = &chain{key: e.key}
				chains[e.key] = c
			}
			t := w.log.find(e.txn)
			c.links = append(c.links, link{t: t, e: e, steps: stepsOf(t, e.key)})
		}
	}
	for _, t := range w.log.txns {
		for _, key := range calledKeys(t) {
			if chains[key] == nil {
				chains[key] = &chain{key: key}
			}
		}
	}
	for _, c := range chains {
		slices.SortFunc(c.links, func(a, b link) int {
			if later(a.e.value.Version, a.e.index, b.e.value.Version, b.e.index) {
				return 1
			}
			return -1
		})
	}
	return chains
}

// follow finds what each version left, and holds the answers of those who made it
// against what it was made of.
func (c *chain) follow() error {
	var now thing
	for i := range c.links {
		l := &c.links[i]
		l.before = now
		after, told := carry(now, l.steps)
		if l.e.kind == entry.EffectChange {
			if err := told.agree(); err != nil {
				return fmt.Errorf("%s (%s), by the versions of %q: %w", name(l.t.ref), l.t.outcomeText(), c.key, err)
			}
		}
		switch {
		case !l.e.value.Exists(), l.e.value.Type == adt.Value, l.e.value.Type == adt.Counter:
			after = nil
		}
		l.after, now = after, after
	}
	return nil
}

// mostBack is up to how many versions back one is compared with. More only cost
// time.
const mostBack = 12

// behind lists the versions of the same run with which a change does not commute.
func (c *chain) behind(i int) (out []kv.Version) {
	for j := i - 1; j >= max(0, i-mostBack) && c.links[j].e.kind == entry.EffectChange; j-- {
		a := &c.links[j]
		if !commuteAt(a.before, a.steps, c.links[i].steps) {
			out = append(out, a.e.value.Version)
		}
	}
	return out
}

// commuteAt reports whether two lists of calls come out the same both ways round.
func commuteAt(s thing, a, b []step) bool {
	s1, toldA := carry(s, a)
	s1, toldB := carry(s1, b)
	s2, thenB := carry(s, b)
	s2, thenA := carry(s2, a)
	return toldA.same(thenA) && toldB.same(thenB) && (reflect.DeepEqual(s1, s2) || shown(s1) == shown(s2))
}

// places lists where a transaction that changed nothing of a key was answered.
func (c *chain) places(t *txnRecord) (out []history.Place) {
	steps := stepsOf(t, c.key)
	var last, told transcript
	var after []kv.Version
	in := false
	for i := 0; i <= len(c.links); i++ {
		var s thing
		if i > 0 {
			s = c.links[i-1].after
		}
		made, is := carry(s, steps)
		told = is
		if i > 0 && !told.same(last) {
			after = append(after, c.links[i-1].e.value.Version)
		}
		last = told
		fits := told.agree() == nil && (reflect.DeepEqual(made, s) || shown(made) == shown(s))
		if fits && !in {
			out = append(out, history.Place{After: slices.Clone(after)})
		}
		if !fits && in {
			out[len(out)-1].Before = c.links[i-1].e.value.Version
		}
		in = fits
	}
	return slices.DeleteFunc(out, func(p history.Place) bool { return !c.possible(t, &p) })
}

// possible reports whether a place is not ruled out by the clock alone.
func (c *chain) possible(t *txnRecord, p *history.Place) bool {
	for _, l := range c.links {
		if l.t != t && slices.Contains(p.After, l.e.value.Version) && l.t.start > t.end || l.e.value.Version == p.Before && l.t.end < t.start {
			return false
		}
	}
	return true
}

// behindOf is behind for a version.
func (c *chain) behindOf(e *shownEffect) []kv.Version {
	if e.kind != entry.EffectChange {
		return nil
	}
	return c.behind(slices.IndexFunc(c.links, func(l link) bool { return l.e == e }))
}

// answersOf lists what a transaction was answered about keys that it did not
// change.
func answersOf(t *txnRecord, chains map[string]*chain) (out []history.SeenAnswer) {
	if t.outcome != committed && !t.observed {
		return nil
	}
	for _, key := range calledKeys(t) {
		c := chains[key]
		if slices.ContainsFunc(c.links, func(l link) bool { return l.t == t }) || slices.ContainsFunc(t.calls, writing(key, t.rolledBack)) {
			continue
		}
		out = append(out, history.SeenAnswer{Key: key, Places: c.places(t)})
	}
	return out
}

// writing is for calls in which the key was written otherwise, or by methods if
// nothing came of that.
func writing(key string, rolledBack bool) func(*callRecord) bool {
	return func(c *callRecord) bool {
		return slices.ContainsFunc(c.ops, func(op msg.Op) bool {
			return c.failure == nil && op.Writes() && (!op.IsCall() || rolledBack) && op.Span().Contains([]byte(key))
		})
	}
}
