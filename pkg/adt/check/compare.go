package check

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// orders visits every order of every subset of transactions that may commit,
// those that have committed included, until visit is done.
func (c *checker) orders(all []*standing, visit func([]*standing) bool) {
	for set := range 1 << len(all) {
		var some []*standing
		decided := true
		for i, s := range all {
			if set>>i&1 == 1 {
				some = append(some, s)
			} else if s.fate == committed {
				decided = false
			}
		}
		if decided && !permute(some, 0, visit) {
			return
		}
	}
}

// permute visits the orders in which nobody comes before what was decided when
// it was planned.
func permute(some []*standing, fixed int, visit func([]*standing) bool) bool {
	if fixed == len(some) {
		for i, s := range some {
			for _, later := range some[i+1:] {
				if slices.Contains(s.after, later.number) {
					return true
				}
			}
		}
		return visit(some)
	}
	for i := fixed; i < len(some); i++ {
		next := slices.Clone(some)
		next[fixed], next[i] = next[i], next[fixed]
		if !permute(next, fixed+1, visit) {
			return false
		}
	}
	return true
}

// everyOrder compares every order of every subset: the changes as they were
// logged, and the transactions as if each were alone in its place.
func (c *checker) everyOrder(all []*standing, base entry.Value) (r *refutation) {
	first := map[string]string{} // by who commits
	firstOrder := map[string]string{}
	c.orders(all, func(order []*standing) bool {
		v, err := c.replay(order, base)
		if err != nil {
			r = &refutation{all: all, says: fmt.Sprintf("Applied as planned, %s: %v.", sequence(order), err)}
			return false
		}
		r = c.alone(order, base, v, all)
		if r != nil {
			return false
		}
		key := ""
		for _, s := range all {
			if slices.Contains(order, s) {
				key += s.name()
			}
		}
		form := c.form(&v)
		if was, ok := first[key]; ok && was != form {
			r = &refutation{all: all, says: fmt.Sprintf("Different values come of %s (stored as %q) and %s (%q).", firstOrder[key], was, sequence(order), form)}
			return false
		}
		first[key], firstOrder[key] = form, sequence(order)
		return true
	})
	return r
}

// replay applies what transactions have planned.
func (c *checker) replay(order []*standing, v entry.Value) (entry.Value, error) {
	for _, s := range order {
		if len(s.logged) == 0 {
			continue
		}
		var err error
		v, err = c.apply(&v, s.logged)
		if err != nil {
			return v, fmt.Errorf("%s fails: %w", s.name(), err)
		}
	}
	return v, nil
}

// alone runs transactions one after another, and compares what they are told
// with what they were, and the value with what was logged.
func (c *checker) alone(order []*standing, base, logged entry.Value, all []*standing) *refutation {
	v := base
	for _, s := range order {
		plain := v
		o, after := c.perform(v, s.calls, s.number, false, nil)
		if !o.same(&s.outcome) {
			return &refutation{all: all, says: fmt.Sprintf("%s was %s. In this order it would be %s: %s.", s.name(), s.outcome.words(), o.words(), sequence(order))}
		}
		v = after
		if len(s.plain) == len(s.logged) {
			continue
		}
		apart, err := c.apply(&plain, s.plain)
		both, err2 := c.apply(&plain, s.logged)
		if err == nil && (err2 != nil || c.form(&apart) != c.form(&both)) {
			return &refutation{all: all, says: fmt.Sprintf("%s changes %s, which Combine has made %s of. It is not the same: %q, and %q combined (error %v).",
				s.name(), c.words(s.plain), c.words(s.logged), c.form(&apart), c.form(&both), err2)}
		}
	}
	if a, b := c.form(&v), c.form(&logged); a != b {
		return &refutation{all: all, says: fmt.Sprintf("What was planned beside the others is not what it would have been alone, in the order %s: the value is stored as %q, and would be as %q.",
			sequence(order), b, a)}
	}
	return nil
}

// readers: what a reader was told is not altered by changes that its locks, which
// are those of the method, go together with.
func (c *checker) readers(reader *step, all []*standing, base entry.Value) (r *refutation) {
	if reader == nil {
		return nil
	}
	modes := c.t.Modes(reader.method, reader.method.Kind, reader.args)
	all = slices.DeleteFunc(slices.Clone(all), func(s *standing) bool {
		return !c.together(modes, c.t.ChangeModes(s.logged))
	})
	was, _ := c.perform(base, []step{*reader}, 99, false, nil)
	for _, s := range all {
		s.fate, s.after = undecided, nil // each of them may be the one that it sees
		c.met(modes, c.t.ChangeModes(s.logged))
	}
	c.orders(all, func(order []*standing) bool {
		v, err := c.replay(order, base)
		if err != nil {
			return true // one that needs another one before it
		}
		is, _ := c.perform(v, []step{*reader}, 99, false, nil)
		if !is.same(&was) {
			r = &refutation{all: all, reader: reader, says: fmt.Sprintf("A read-only transaction receives %s before %s, and %s after it, although its lock, %s, goes together with the change.",
				was.words(), sequence(order), is.words(), c.names(modes))}
		}
		return r == nil
	})
	return r
}

// clash notes whether two calls that the locks keep apart would have clashed.
func (c *checker) clash(tr *trial) {
	if len(tr.txns) < 2 {
		return
	}
	base := c.build(tr.setup)
	a, b := &tr.txns[0], &tr.txns[1]
	x, y := a.calls[:1], b.calls[:1]
	ox, afterX := c.perform(base, x, 0, a.ahead, nil)
	oy, afterY := c.perform(base, y, 1, b.ahead, nil)
	if ox.err != nil || oy.err != nil || !oneKind(ox.modes) || !oneKind(oy.modes) || c.together(ox.modes, oy.modes) {
		return
	}
	yLater, xy := c.perform(afterX, y, 1, b.ahead, nil)
	xLater, yx := c.perform(afterY, x, 0, a.ahead, nil)
	clashed := !yLater.same(&oy) || !xLater.same(&ox) || c.form(&xy) != c.form(&yx)
	p, q := ox.modes[0], oy.modes[0]
	pair := [2]adt.Kind{min(p.Kind(), q.Kind()), max(p.Kind(), q.Kind())}
	s := c.seen[pair]
	if s == nil {
		s = &clashes{}
		c.seen[pair] = s
	}
	s.tried++
	if clashed {
		s.clashed++
	}
	if otherParts(ox.modes, oy.modes) {
		s.triedOthers++
		if clashed {
			s.clashedOthers++
		}
	}
}

func oneKind(modes []adt.Mode) bool {
	for _, m := range modes {
		if m.Kind() != modes[0].Kind() {
			return false
		}
	}
	return len(modes) > 0
}

func otherParts(a, b []adt.Mode) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Part() == 0 || y.Part() == 0 || x.Part() == y.Part() {
				return false
			}
		}
	}
	return true
}
