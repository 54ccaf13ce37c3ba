package shard

import (
	"math"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn/lock"
)

// unborn stands for the version of what has none yet.
var unborn = kv.Version{Moves: math.MaxUint32}

// callNeeds lists the locks of a call of a data type that it needs whatever its
// key holds.
func (m *Machine) callNeeds(needs []lock.Need, op *msg.Op) []lock.Need {
	if m.cfg.Sharing.Locks == RWLocks {
		return append(needs, lock.Need{Span: kv.Point(op.Key), Mode: m.modeOf(op), Methods: adt.MethodOf(op).Set()})
	}
	m.modes = adt.Modes(m.modes[:0], op)
	return m.asNeeds(needs, op, m.modes)
}

func (m *Machine) asNeeds(needs []lock.Need, op *msg.Op, modes []adt.Mode) []lock.Need {
	for _, mode := range modes {
		needs = append(needs, lock.Need{Span: kv.Point(op.Key), Mode: mode, Methods: adt.MethodOf(op).Set()})
	}
	return needs
}

// replan lists the locks of a task anew if it calls methods of data types: by
// what their keys hold now they may need less, or something else, and what
// executing it has shown to be missing comes with it. While it waits for them
// the values may change. So they are only what it will probably need: executing
// it tells whether they were enough (docs/protocol.md, section 3).
func (m *Machine) replan(t *task) {
	t.planned = nil
	if m.cfg.Sharing.Locks == RWLocks || !t.plans && len(t.more) == 0 {
		return
	}
	var plain []msg.Op
	var own map[string]entry.Value // what its calls so far make of keys
	if len(t.ops) > 1 {
		own = map[string]entry.Value{}
	}
	needs := append(t.req.Needs[:0], t.more...)
	for i := range t.ops {
		op := &t.ops[i]
		if !op.IsCall() {
			plain = append(plain, *op)
			continue
		}
		needs = m.likelyNeeds(needs, t, op, own)
	}
	if len(plain)+len(t.seen) > 0 {
		rest, _ := m.needsOf(nil, plain, t.seen, false)
		needs = append(needs, rest...)
	}
	t.req.Needs = lock.Normalize(needs)
}

// plansLocks reports whether what the task needs depends on what keys hold, so
// that it is planned when locks are asked for. Readers ask for none.
func (t *task) plansLocks() bool {
	if t.kind == taskRead || t.kind == taskOptimistic || t.kind == taskPark && t.rec.Park.Snapshot {
		return false
	}
	for i := range t.ops {
		if op := &t.ops[i]; op.IsCall() && adt.NeedsPlan(op) {
			return true
		}
	}
	return false
}

// likelyNeeds are those of one call, as far as the visible value of its key
// tells, and what the task has made of it.
func (m *Machine) likelyNeeds(needs []lock.Need, t *task, op *msg.Op, own map[string]entry.Value) []lock.Need {
	method, err := adt.Find(op)
	it := m.store.Get(op.Key)
	if err != nil || it == nil || !it.Loaded {
		return m.callNeeds(needs, op)
	}
	if m.cfg.Mutants.Has(mutant.FirstPlanKept) {
		t.looked(it)
	}
	v := &it.Value
	if mine, ok := own[string(op.Key)]; ok {
		v = &mine
	}
	if v.Exists() && v.Type != method.Type.ID {
		return m.callNeeds(needs, op)
	}
	r := adt.Request{Method: method, Args: op.Args, Value: v, Ahead: t.ahead(m), Unique: mvcc.Unique(t.txn, op.Seq)}
	if len(it.Intents) > 0 {
		r.Others = func(visit func(uint32, adt.Args)) { mvcc.Others(m.intentsOf(it), t.txn, visit) }
	}
	plan, modes := r.Plan(m.modes[:0])
	m.modes = modes
	if plan.Err != nil && len(modes) == 0 {
		return m.callNeeds(needs, op)
	}
	if own == nil && len(it.Intents) == 0 {
		t.planned = adt.NewPlanned(plan, modes, v)
	}
	if own != nil && len(plan.Calls) > 0 {
		if after, err := adt.Apply(method.Type.ID, v, plan.Calls); err == nil {
			after.Version = unborn
			own[string(op.Key)] = after
		}
	}
	if m.cfg.Mutants.Has(mutant.RefusalUnlocked) {
		modes = slices.DeleteFunc(modes, refuses)
	}
	return m.asNeeds(needs, op, modes)
}

// ahead reports whether the task's answers are given before what it changes is
// prepared.
func (t *task) ahead(m *Machine) bool {
	return t.kind == taskLock && !m.cfg.Mutants.Has(mutant.AheadIgnored)
}

// intentsOf are the undecided writes of a key, as calls see them.
func (m *Machine) intentsOf(it *mvcc.Item) []mvcc.Intent {
	switch {
	case m.cfg.Mutants.Has(mutant.OthersIgnored):
		return nil
	case m.cfg.Mutants.Has(mutant.OthersTwice):
		return append(slices.Clone(it.Intents), it.Intents...)
	}
	return it.Intents
}

// refuses reports whether a mode is that of a refusal of a bounded counter, for a
// mutant.
func refuses(mode adt.Mode) bool {
	return mode.KindName() == "bounded-counter.none-left" || mode.KindName() == "bounded-counter.no-room"
}

// looked keeps what a task found first at a key, for a mutant.
func (t *task) looked(it *mvcc.Item) {
	if _, ok := t.first[string(it.Key)]; !ok {
		if t.first == nil {
			t.first = map[string]entry.Value{}
		}
		t.first[string(it.Key)] = it.Value
	}
}

// calls is what the task's calls see beyond values. Those of readers need no
// locks: who would change what they see waits for them.
func (t *task) calls() *mvcc.Calls {
	c := &mvcc.Calls{Txn: t.txn, Ahead: t.ahead(t.m), Mutants: t.m.cfg.Mutants}
	if t.kind == taskRead || t.kind == taskOptimistic || t.kind == taskPark && t.rec.Park.Snapshot {
		return c
	}
	c.Planned = t.planned
	if c.Held = t.holds; t.m.cfg.Mutants.Has(mutant.PlanUnlocked) {
		c.Held = nil
	}
	c.Intents = func(key []byte) []mvcc.Intent {
		if it := t.m.store.Get(key); it != nil {
			return t.m.intentsOf(it)
		}
		return nil
	}
	return c
}

// holds reports whether the task runs under a lock.
func (t *task) holds(key []byte, mode adt.Mode) bool {
	if t.m.cfg.Mutants.Has(mutant.RefusalUnlocked) && refuses(mode) {
		return true
	}
	for i := range t.req.Needs {
		if n := &t.req.Needs[i]; n.Span.Contains(key) && adt.Covers(n.Mode, mode) {
			return true
		}
	}
	return t.m.locks.Covered(t.txn, lock.Need{Span: kv.Point(key), Mode: mode})
}

// lacks has a task wait for the locks that executing it has shown to be missing,
// and be executed again under them. It reports whether there are any.
func (m *Machine) lacks(t *task, x *mvcc.Execution) bool {
	if len(x.Missing) == 0 {
		return false
	}
	m.stats.Replanned++
	for _, n := range x.Missing {
		t.more = append(t.more, lock.Need{Span: kv.Point(n.Key), Mode: n.Mode, Methods: adt.MethodChangeAsk.Set()})
	}
	t.round++
	m.acquire(t)
	return true
}
