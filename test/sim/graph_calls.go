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

// Dependencies between calls of data types, for the graph checker. They are derived by executing the calls on the
// model's objects, at the versions that the shards made, in both orders. Neither the order of the decisions nor the
// code's own table of commuting calls is used.
//
// The order of two changes of one key matters if they have other results in reverse order, in the state in which the
// first of them became visible. If both were undecided at one time, the lock plans of both hold in that state, since
// their locks protect them. If they were not, the second followed the first anyway. So a correct store never produces a
// cycle.

// chain lists the versions of one key in their order, with the state after each.
type chain struct {
	key      string
	versions []keyVersion
}

// keyVersion is one version of a key. before is the state it was made from; it is nil if the key was absent or held a
// value of no data type.
type keyVersion struct {
	t             *txnRecord
	e             *visibleEffect
	steps         []step
	before, after object
}

// chainsOf returns the chains of all keys on which methods were called.
func (w *sim) chainsOf() map[string]*chain {
	chains := map[string]*chain{}
	for _, n := range w.log.events {
		if e := n.visible; e != nil && !n.Lost {
			c := chains[e.key]
			if c == nil {
				c = &chain{key: e.key}
				chains[e.key] = c
			}
			t := w.log.find(e.txn)
			c.versions = append(c.versions, keyVersion{t: t, e: e, steps: stepsOf(t, e.key)})
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
		slices.SortFunc(c.versions, func(a, b keyVersion) int {
			if later(a.e.value.Version, a.e.csn, b.e.value.Version, b.e.csn) {
				return 1
			}
			return -1
		})
	}
	return chains
}

// computeStates computes the state after each version, and compares the recorded results of the transaction that made
// it.
func (c *chain) computeStates() error {
	var now object
	for i := range c.versions {
		l := &c.versions[i]
		l.before = now
		after, got := applySteps(now, l.steps)
		if l.e.kind == entry.EffectChange {
			if err := got.checkKnown(); err != nil {
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

// maxDistance bounds the number of versions back that a version is compared with. More would only take more time.
const maxDistance = 12

// conflictsBefore lists the versions of the same run of changes with which a change does not commute.
func (c *chain) conflictsBefore(i int) (out []kv.Version) {
	for j := i - 1; j >= max(0, i-maxDistance) && c.versions[j].e.kind == entry.EffectChange; j-- {
		a := &c.versions[j]
		if !commuteAt(a.before, a.steps, c.versions[i].steps) {
			out = append(out, a.e.value.Version)
		}
	}
	return out
}

// commuteAt reports whether two lists of calls have the same results and final state in both orders.
func commuteAt(s object, a, b []step) bool {
	s1, firstA := applySteps(s, a)
	s1, firstB := applySteps(s1, b)
	s2, secondB := applySteps(s, b)
	s2, secondA := applySteps(s2, a)
	return firstA.equals(secondA) && firstB.equals(secondB) && (reflect.DeepEqual(s1, s2) ||
		dumpObject(s1) == dumpObject(s2))
}

// positionsOf lists the positions in the version order at which a transaction that did not change the key can have got
// its results.
func (c *chain) positionsOf(t *txnRecord) (out []history.Position) {
	steps := stepsOf(t, c.key)
	var last, got transcript
	var after []kv.Version
	in := false
	for i := 0; i <= len(c.versions); i++ {
		var s object
		if i > 0 {
			s = c.versions[i-1].after
		}
		made, is := applySteps(s, steps)
		got = is
		if i > 0 && !got.equals(last) {
			after = append(after, c.versions[i-1].e.value.Version)
		}
		last = got
		fits := got.checkKnown() == nil && (reflect.DeepEqual(made, s) || dumpObject(made) == dumpObject(s))
		if fits && !in {
			out = append(out, history.Position{After: slices.Clone(after)})
		}
		if !fits && in {
			out[len(out)-1].Before = c.versions[i-1].e.value.Version
		}
		in = fits
	}
	return slices.DeleteFunc(out, func(p history.Position) bool { return !c.isPossible(t, &p) })
}

// isPossible reports whether real time allows a position.
func (c *chain) isPossible(t *txnRecord, p *history.Position) bool {
	for _, l := range c.versions {
		if l.t != t && slices.Contains(p.After, l.e.value.Version) && l.t.start > t.end || l.e.value.Version == p.Before &&
			l.t.end < t.start {
			return false
		}
	}
	return true
}

// conflictsOf is conflictsBefore for a version.
func (c *chain) conflictsOf(e *visibleEffect) []kv.Version {
	if e.kind != entry.EffectChange {
		return nil
	}
	return c.conflictsBefore(slices.IndexFunc(c.versions, func(l keyVersion) bool { return l.e == e }))
}

// answersOf lists the results of a transaction on keys that it did not change.
func answersOf(t *txnRecord, chains map[string]*chain) (out []history.SeenResult) {
	if t.outcome != committed && !t.observed {
		return nil
	}
	for _, key := range calledKeys(t) {
		c := chains[key]
		if slices.ContainsFunc(c.versions, func(l keyVersion) bool { return l.t == t }) ||
			slices.ContainsFunc(t.calls, writesKey(key, t.rolledBack)) {
			continue
		}
		out = append(out, history.SeenResult{Key: key, Positions: c.positionsOf(t)})
	}
	return out
}

// writesKey returns a predicate for calls in which the key was written by another operation than a method, or by a
// method if the transaction rolled back.
func writesKey(key string, rolledBack bool) func(*callRecord) bool {
	return func(c *callRecord) bool {
		return slices.ContainsFunc(c.ops, func(op msg.Op) bool {
			return c.failure == nil && op.Writes() && (!op.IsCall() || rolledBack) && op.Span().Contains([]byte(key))
		})
	}
}
