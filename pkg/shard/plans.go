package shard

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn/lock"
)

// lockless reports whether the task is that of a reader that takes no locks.
func (t *task) lockless() bool {
	return t.kind == taskRead || t.kind == taskOptimistic || t.kind == taskPark && t.rec.Park.Snapshot
}

// plansLocks reports whether what the task needs depends on what keys hold, so
// that it is planned when locks are asked for.
func (t *task) plansLocks() bool {
	if t.lockless() {
		return false
	}
	for i := range t.ops {
		if op := &t.ops[i]; op.IsCall() && adt.NeedsPlan(op) {
			return true
		}
	}
	return false
}

// replan lists the locks of a task anew if it calls methods of data types: by
// what their keys hold now they may need less, or something else, and what
// executing it has shown to be missing comes with it. While it waits for them
// the values may change. So they are only what it will probably need: executing
// it tells whether they were enough (docs/protocol.md, section 3).
//
// If it need not wait it is executed at once, and by these plans
// (mvcc.Plans). They are in room of the machine that the next task has.
func (m *Machine) replan(t *task) {
	m.plansOf = nil
	if m.cfg.Sharing.Locks == RWLocks || !t.plans && len(t.more) == 0 {
		return
	}
	m.plans.Reset(len(t.ops))
	if len(t.ops) > fewOps {
		m.places = map[string]before{}
	}
	needs := append(t.req.Needs[:0], t.more...)
	for i := range t.ops {
		if t.ops[i].IsCall() {
			needs = m.likelyNeeds(needs, t, i)
		} else {
			needs, _ = m.opNeeds(needs, &t.ops[i])
		}
		if m.places != nil {
			m.placed(t, i)
		}
	}
	t.req.Needs = lock.Normalize(seenNeeds(needs, t.seen))
	m.places = nil
	if !t.ranges {
		m.plansOf = t
	}
}

// before is what a piece has done with a key before some operation: the place of
// its last call, -1 for none; mixed: after that, or without one, something else.
type before struct {
	call  int
	mixed bool
}

// fewOps is up to how many operations are looked at one by one. Somewhat
// arbitrary.
const fewOps = 16

// before tells of the operation at a place. In a long piece that has been noted.
func (m *Machine) before(t *task, place int) before {
	key := t.ops[place].Key
	if m.places != nil {
		if b, ok := m.places[string(key)]; ok {
			return b
		}
		return before{call: -1}
	}
	b := before{call: -1}
	for i := place - 1; i >= 0; i-- {
		switch op := &t.ops[i]; {
		case !bytes.Equal(op.Key, key):
		case op.IsCall():
			b.call = i
			return b
		default:
			b.mixed = true
		}
	}
	return b
}

// placed notes the operation at a place for those after it.
func (m *Machine) placed(t *task, place int) {
	op := &t.ops[place]
	if op.IsCall() {
		m.places[string(op.Key)] = before{call: place}
		return
	}
	b := m.before(t, place)
	b.mixed = true
	m.places[string(op.Key)] = b
}

// likelyNeeds are those of the call at a place, as far as the visible value of its
// key tells, and what the task has made of it.
func (m *Machine) likelyNeeds(needs []lock.Need, t *task, place int) []lock.Need {
	op := &t.ops[place]
	method, err := adt.Find(op)
	it := m.pinned(t, place)
	if err != nil || it == nil || !it.Loaded {
		return m.callNeeds(needs, op)
	}
	if m.cfg.Mutants.Has(mutant.FirstPlanKept) {
		t.looked(it)
	}
	v, earlier := &it.Value, m.before(t, place)
	var own *entry.Value
	if earlier.call >= 0 {
		if own = m.plans.Made(earlier.call); own != nil {
			v = own
		}
	}
	if v.Exists() && v.Type != method.Type.ID {
		return m.callNeeds(needs, op)
	}
	r := adt.Request{Method: method, Args: op.Args, Value: v, Ahead: t.ahead(m), Unique: mvcc.Unique(t.txn, op.Seq)}
	if len(it.Intents) > 0 {
		r.Others = func(visit func([]msg.Call)) { mvcc.Others(m.intentsOf(it), t.txn, visit) }
	}
	plan, modes := r.Plan(m.modes[:0])
	m.modes = modes
	m.stats.Planned++
	if plan.Err != nil && len(modes) == 0 {
		return m.callNeeds(needs, op)
	}
	switch {
	case earlier.mixed || len(it.Intents) > 0:
	case earlier.call < 0:
		m.plans.Keep(place, &r, &plan, modes)
	case own != nil:
		m.plans.KeepAfter(place, earlier.call, &r, &plan, modes)
	}
	if m.cfg.Mutants.Has(mutant.RefusalUnlocked) {
		modes = slices.DeleteFunc(modes, refuses)
	}
	return m.asNeeds(needs, op, modes)
}

// pinned is the item of the operation at a place, nil if it has none. Without
// ranges each operation has pinned one.
func (m *Machine) pinned(t *task, place int) *mvcc.Item {
	if !t.ranges {
		return t.pins[place]
	}
	return m.store.Get(t.ops[place].Key)
}

// opNeeds lists the locks of an operation that is no call; ranged: it is on a
// range.
func (m *Machine) opNeeds(needs []lock.Need, op *msg.Op) (_ []lock.Need, ranged bool) {
	span := op.Span()
	ranged = !span.IsPoint()
	if ranged && span.IsEmpty() || op.Kind == msg.OpRequire && m.cfg.Mutants.Has(mutant.ConditionUnlocked) {
		return needs, ranged
	}
	return append(needs, lock.Need{Span: span, Mode: m.modeOf(op), Methods: adt.MethodsOf(op)}), ranged
}
