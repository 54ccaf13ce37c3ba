package shard

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn/lock"
)

// callNeeds lists the locks of a call of a data type that it needs whatever its
// key holds.
func (m *Machine) callNeeds(needs []lock.Need, op *msg.Op) []lock.Need {
	if m.cfg.Sharing.Locks == RWLocks {
		return append(needs, lock.Need{Span: kv.Point(op.Key), Mode: m.modeOf(op), Methods: adt.MethodsOf(op)})
	}
	m.modes = adt.Modes(m.modes[:0], op)
	return m.asNeeds(needs, op, m.modes)
}

func (m *Machine) asNeeds(needs []lock.Need, op *msg.Op, modes []adt.Mode) []lock.Need {
	for _, mode := range modes {
		needs = append(needs, lock.Need{Span: kv.Point(op.Key), Mode: mode, Methods: adt.MethodsOf(op)})
	}
	return needs
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

// seeing is what the calls of the task that is executed see beyond values, in room
// that all tasks share.
type seeing struct {
	task  *task
	calls mvcc.Calls
	// held and intents are those of the task.
	held    func(key []byte, mode adt.Mode) bool
	intents func(key []byte) []mvcc.Intent
}

func (m *Machine) initSeeing() {
	m.seeing.held = func(key []byte, mode adt.Mode) bool { return m.seeing.task.holds(key, mode) }
	m.seeing.intents = func(key []byte) []mvcc.Intent {
		if it := (*view)(m.seeing.task).item(key); it != nil {
			return m.intentsOf(it)
		}
		return nil
	}
}

// see gives what a task's calls see. Those of readers need no locks: who would
// change what they see waits for them.
func (m *Machine) see(t *task) *mvcc.Calls {
	s := &m.seeing
	if s.task == t {
		return &s.calls
	}
	s.task, s.calls = t, mvcc.Calls{Txn: t.txn, Ahead: t.ahead(m), Mutants: m.cfg.Mutants}
	if t.lockless() {
		return &s.calls
	}
	s.calls.Intents = s.intents
	if !m.cfg.Mutants.Has(mutant.PlanUnlocked) {
		s.calls.Held = s.held
	}
	if m.plansOf == t {
		s.calls.Plans = &m.plans
	}
	return &s.calls
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
// or for pages, and be executed again under them. It reports whether there are any.
func (m *Machine) lacks(t *task, x *mvcc.Execution) bool {
	if m.lacksPages(t, x) {
		return true
	}
	if len(x.Missing) == 0 {
		return false
	}
	m.stats.Replanned++
	for _, n := range x.Missing {
		t.more = append(t.more, lock.Need{Span: kv.Point(n.Key), Mode: n.Mode, Methods: n.Methods})
	}
	t.round++
	m.acquire(t)
	return true
}
