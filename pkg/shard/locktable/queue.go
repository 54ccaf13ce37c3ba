package locktable

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// overtakes reports whether a is a later attempt of the transaction that b is an attempt of. Through
// another gateway it may count as begun later than b (kv.Age), and must not wait for what b has left.
func (t *Table) overtakes(a, b kv.TxnRef) bool {
	return a.TxnID == b.TxnID && a.Attempt > b.Attempt && !t.opt.Mutants.Has(mutant.AttemptsEqualAge)
}

func (t *Table) older(a, b kv.Age) bool {
	if t.opt.Mutants.Has(mutant.AttemptsEqualAge) && a.TxnID == b.TxnID {
		return false
	}
	return a.Older(b)
}

// grantable tells whether nothing stands in r's way. With note set, it also
// writes down there what did.
func (t *Table) grantable(now int64, r, note *Request) bool {
	o := t.owners[r.Txn]
	for i := range r.Needs {
		n := &r.Needs[i]
		if o != nil && t.covered(o, *n) {
			continue
		}
		by, ok := t.blocker(now, r, o, n)
		if ok {
			continue
		}
		if note != nil && note.wait.Cause == msg.CauseNone {
			by.fill(&note.wait, n)
		}
		return false
	}
	return true
}

// blocker names one transaction that stands in the way of one need.
func (t *Table) blocker(now int64, r *Request, o *owner, n *Need) (by blocker, free bool) {
	if !n.Span.IsPoint() {
		return t.rangeBlocker(r, o, n)
	}
	if h := t.rangeConflict(o, n); h != nil && !t.slipsPast(r, n) {
		return h.blocks(msg.CauseRange), false
	}
	upgrade := false
	if e := t.keys[string(n.Span.Start)]; e != nil {
		for i := range e.holders {
			h := &e.holders[i]
			if h.owner == o {
				upgrade = true
			} else if !t.compatible(h.mode, n.Mode) {
				return h.blocks(msg.CauseLock), false
			}
		}
		if r.Instant || upgrade {
			return by, true
		}
		if w := t.olderWaiter(e.waiters, r, n); w != nil && !t.mayJoin(now, e) {
			return w.blocks(n), false
		}
		if t.opt.Mutants.Has(mutant.CapStopsOlder) && len(e.waiters) > 0 && len(e.holders) > 0 && !t.mayJoin(now, e) {
			return e.waiters[0].blocks(n), false
		}
	}
	if r.Instant || upgrade {
		return by, true
	}
	if w := t.olderWaiter(t.rangeWaiters, r, n); w != nil {
		return w.blocks(n), false
	}
	return by, true
}

// mayJoin reports whether a running phase still takes operations that are
// younger than its oldest waiter.
func (t *Table) mayJoin(now int64, e *entry) bool {
	return len(e.holders) > 0 && !t.opt.NoPhasing && (t.opt.Mutants.Has(mutant.NoPhaseCap) ||
		e.phaseCount < t.opt.MaxPhaseCount && now-e.phaseSince < int64(t.opt.MaxPhaseTime))
}

// olderWaiter finds a request in a queue that waits for something
// incompatible and is older than r. Queues are by age, so it ends at r.
func (t *Table) olderWaiter(queue []*Request, r *Request, n *Need) *Request {
	for _, w := range queue {
		if w == r || !t.older(w.age(), r.age()) {
			return nil
		}
		if w.Txn == r.Txn {
			continue
		}
		for i := range w.Needs {
			if !t.compatible(w.Needs[i].Mode, n.Mode) && w.Needs[i].Span.Overlaps(n.Span) {
				return w
			}
		}
	}
	return nil
}

// rangeConflict finds a held range that excludes the need.
func (t *Table) rangeConflict(o *owner, n *Need) *holder {
	for _, rh := range t.ranges {
		if rh.owner != o && !t.compatible(rh.mode, n.Mode) && rh.span.Overlaps(n.Span) {
			return &rh.holder
		}
	}
	return nil
}

func (t *Table) rangeBlocker(r *Request, o *owner, n *Need) (by blocker, free bool) {
	if h := t.rangeConflict(o, n); h != nil {
		return h.blocks(msg.CauseRange), false
	}
	free = true
	note := func(b blocker, e *entry) {
		// The youngest and its first key, so that the choice is no accident of map
		// order.
		if free || by.txn.CompareAge(b.txn) < 0 || by.txn == b.txn && e.key < by.key {
			by, free = b, false
			by.key = e.key
		}
	}
	for _, e := range t.keys {
		if !n.Span.Contains([]byte(e.key)) {
			continue
		}
		for i := range e.holders {
			if h := &e.holders[i]; h.owner != o && !t.compatible(h.mode, n.Mode) {
				note(h.blocks(msg.CauseLock), e)
			}
		}
		if w := t.olderWaiter(e.waiters, r, n); w != nil && !r.Instant {
			note(w.blocks(n), e)
		}
	}
	if w := t.olderWaiter(t.rangeWaiters, r, n); free && w != nil && !r.Instant {
		return w.blocks(n), false
	}
	return by, free
}

func (t *Table) covered(o *owner, n Need) bool {
	if n.Span.IsPoint() {
		if e := t.keys[string(n.Span.Start)]; e != nil {
			for i := range e.holders {
				if h := &e.holders[i]; h.owner == o && adt.Covers(h.mode, n.Mode) {
					return true
				}
			}
		}
		return false
	}
	return slices.ContainsFunc(o.ranges, func(rh *rangeHold) bool {
		return adt.Covers(rh.mode, n.Mode) && sameRange(rh.span, n.Span)
	})
}

func sameRange(a, b kv.Span) bool {
	return string(a.Start) == string(b.Start) && string(a.End) == string(b.End)
}

// grant gives r what it needs, and marks it if it passed an older waiter.
func (t *Table) grant(now int64, r *Request) {
	t.counters.Granted++
	if r.Instant || len(r.Needs) == 0 {
		return
	}
	o := t.ownerOf(now, r)
	r.grants, r.after = make([]Grant, 0, len(r.Needs)), t.number
	for _, n := range r.Needs {
		if t.covered(o, n) {
			r.grants = append(r.grants, t.existing(o, n))
			continue
		}
		r.grants = append(r.grants, t.addGrant(now, o, n))
	}
	r.upTo = t.number
	if r.Lasting && r.User != 0 {
		t.shares.wantGranted(t, now, o, r)
	}
	if t.opt.Mutants.Has(mutant.NoMarkOnGrant) {
		return
	}
	if w := t.passed(r); w != nil {
		t.mark(now, o, w)
	}
}

// passed finds an older request that waits for something r was just granted.
func (t *Table) passed(r *Request) *Request {
	for i := range r.Needs {
		n := &r.Needs[i]
		if w := t.olderWaiter(t.rangeWaiters, r, n); w != nil {
			return w
		}
		if n.Span.IsPoint() {
			if e := t.keys[string(n.Span.Start)]; e != nil {
				if w := t.olderWaiter(e.waiters, r, n); w != nil {
					return w
				}
			}
			continue
		}
		for _, w := range t.waiters {
			if w.Txn != r.Txn && t.older(w.age(), r.age()) && slices.ContainsFunc(w.Needs, func(m Need) bool {
				return !t.compatible(m.Mode, n.Mode) && m.Span.Overlaps(n.Span)
			}) {
				return w
			}
		}
	}
	return nil
}

func (t *Table) existing(o *owner, n Need) Grant {
	g := Grant{Span: n.Span, Mode: n.Mode}
	if n.Span.IsPoint() {
		holders := t.keys[string(n.Span.Start)].holders
		for i := range holders {
			if h := &holders[i]; h.owner == o && adt.Covers(h.mode, n.Mode) {
				g.Number = h.number
				h.methods = h.methods.With(n.Methods)
			}
		}
		return g
	}
	for _, rh := range o.ranges {
		if adt.Covers(rh.mode, n.Mode) && sameRange(rh.span, n.Span) {
			g.Number = rh.number
			rh.methods = rh.methods.With(n.Methods)
			rh.uses++
			break
		}
	}
	return g
}

func (t *Table) addGrant(now int64, o *owner, n Need) Grant {
	t.number++
	h := holder{owner: o, mode: n.Mode, methods: n.Methods, short: n.Short, number: t.number}
	if !n.Span.IsPoint() {
		rh := &rangeHold{span: n.Span, holder: h, uses: 1}
		t.ranges = append(t.ranges, rh)
		o.ranges = append(o.ranges, rh)
		return Grant{n.Span, n.Mode, t.number}
	}
	e := t.entryOf(n.Span.Start)
	opens := len(e.holders) == 0
	if opens {
		e.phaseSince, e.phaseCount = now, 0
		t.counters.Phases++
	} else {
		t.counters.Joins++
	}
	// Two kinds of waiters may be grantable now that were not before: those
	// who may join the new phase past an older one, and the owner's own, for
	// whom it is a change of mode from here on.
	if len(e.waiters) > 0 && (opens || waits(e.waiters, o.age())) {
		t.touch(e)
	}
	e.phaseCount++
	if !slices.ContainsFunc(e.holders, func(x holder) bool { return x.owner == o }) {
		o.points = append(o.points, e)
	}
	e.holders = append(e.holders, h)
	return Grant{n.Span, n.Mode, t.number}
}

func (t *Table) ownerOf(now int64, r *Request) *owner {
	o := t.owners[r.Txn]
	if o == nil {
		o = &owner{txn: r.Txn, begun: r.Begun, user: r.User, since: now}
		t.owners[r.Txn] = o
	}
	return o
}

func (t *Table) entryOf(key []byte) *entry {
	e := t.keys[string(key)]
	if e == nil {
		e = &entry{key: string(key)}
		t.keys[e.key] = e
	}
	return e
}

// byAge is the order of queues: age, then arrival.
func byAge(a, b *Request) int {
	if c := a.age().Compare(b.age()); c != 0 {
		return c
	}
	if a.sequence < b.sequence {
		return -1
	}
	return 1
}

func insertByAge(queue []*Request, r *Request) []*Request {
	i, _ := slices.BinarySearchFunc(queue, r, byAge)
	return slices.Insert(queue, i, r)
}

// waits reports whether a request of a transaction is in a queue.
func waits(queue []*Request, age kv.Age) bool {
	_, found := slices.BinarySearchFunc(queue, age, func(r *Request, age kv.Age) int { return r.age().Compare(age) })
	return found
}

func remove(queue []*Request, r *Request) []*Request {
	if len(queue) > 0 && queue[0] == r {
		queue[0] = nil
		return queue[1:]
	}
	if i := slices.Index(queue, r); i >= 0 {
		return slices.Delete(queue, i, i+1)
	}
	return queue
}

func (t *Table) enqueue(r *Request) {
	t.sequence++
	r.sequence, r.waiting = t.sequence, true
	t.waiters = append(t.waiters, r)
	hasRange := false
	for i, n := range r.Needs {
		if n.Span.IsPoint() {
			if r.again(i) {
				continue
			}
			e := t.entryOf(n.Span.Start)
			e.waiters = insertByAge(e.waiters, r)
		} else {
			hasRange = true
		}
	}
	if hasRange {
		t.rangeWaiters = insertByAge(t.rangeWaiters, r)
	}
}

// again reports whether a need is another mode on the key of the one before.
func (r *Request) again(i int) bool {
	return i > 0 && r.Needs[i-1].Span.IsPoint() && string(r.Needs[i-1].Span.Start) == string(r.Needs[i].Span.Start)
}

func (t *Table) unqueue(r *Request) {
	r.waiting = false
	t.waiters = remove(t.waiters, r)
	for i, n := range r.Needs {
		if n.Span.IsPoint() {
			if r.again(i) {
				continue
			}
			if e := t.keys[string(n.Span.Start)]; e != nil {
				e.waiters = remove(e.waiters, r)
				t.touch(e)
			}
		} else {
			t.touchSpan(n.Span)
		}
	}
	t.rangeWaiters = remove(t.rangeWaiters, r)
}

// touch has the waiters of an entry tried again by Next.
func (t *Table) touch(e *entry) {
	if len(t.rangeWaiters) > 0 {
		t.rangesDirty = true
	}
	if !e.dirty {
		e.dirty = true
		t.dirty = append(t.dirty, e)
	}
}

func (t *Table) touchSpan(span kv.Span) {
	if len(t.rangeWaiters) > 0 {
		t.rangesDirty = true
	}
	var hit []*entry
	for _, e := range t.keys {
		if len(e.waiters) > 0 && span.Contains([]byte(e.key)) {
			hit = append(hit, e)
		}
	}
	slices.SortFunc(hit, func(a, b *entry) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	for _, e := range hit {
		t.touch(e)
	}
}

func (t *Table) dropIfEmpty(e *entry) {
	if len(e.holders) == 0 && len(e.waiters) == 0 && !e.dirty {
		delete(t.keys, e.key)
	}
}
