package exec

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
)

// plansLocks reports whether the lock set of a task depends on what keys hold, so that it is
// planned when locks are asked for.
func (t *Task) plansLocks() bool {
	if t.Kind.lockless() {
		return false
	}
	for i := range t.Ops {
		op := &t.Ops[i]
		if op.IsCall() && adt.NeedsPlan(op) {
			return true
		}
	}
	return false
}

// fixedLocks lists the lock set of a task that does not plan, in the task's room if that is
// enough. For one that plans there is only the room; planLocks fills it.
func (x *Executor) fixedLocks(t *Task) (needs []locktable.Need, ranges bool) {
	needs = t.usual.need[:0]
	n := len(t.Ops) + len(t.Seen)
	if n > cap(needs) {
		needs = make([]locktable.Need, 0, n)
	}
	for i := range t.Ops {
		op := &t.Ops[i]
		switch {
		case t.plans:
			ranges = ranges || op.IsRange()
		case op.IsCall():
			needs = x.anyLocks(needs, op)
		default:
			var ranged bool
			needs, ranged = x.opLocks(needs, op)
			ranges = ranges || ranged
		}
	}
	if t.plans {
		return needs, ranges
	}
	return locktable.Normalize(seenLocks(needs, t.Seen)), ranges
}

// seenLocks adds the locks of optimistic reads that are not executed again.
func seenLocks(needs []locktable.Need, seen []msg.Seen) []locktable.Need {
	for i := range seen {
		if seen[i].Digest != 0 {
			continue
		}
		needs = append(needs, locktable.Need{Span: kv.Point(seen[i].Key), Mode: adt.ModeRead, Methods: adt.MethodGet.Set()})
	}
	return needs
}

// opLocks adds the locks of an operation that is no call; ranged: it is on a range.
func (x *Executor) opLocks(needs []locktable.Need, op *msg.Op) (_ []locktable.Need, ranged bool) {
	span := op.Span()
	ranged = !span.IsPoint()
	if ranged && span.IsEmpty() || op.Kind == msg.OpRequire && x.Env.Mutants.Has(mutant.ConditionUnlocked) {
		return needs, ranged
	}
	return append(needs, locktable.Need{Span: span, Mode: x.modeOf(op), Methods: adt.MethodsOf(op)}), ranged
}

// anyLocks adds the locks that a call of a data type needs whatever its key holds.
func (x *Executor) anyLocks(needs []locktable.Need, op *msg.Op) []locktable.Need {
	if x.cfg.Sharing.Locks == RWLocks {
		return append(needs, locktable.Need{Span: kv.Point(op.Key), Mode: x.modeOf(op), Methods: adt.MethodsOf(op)})
	}
	x.modes = adt.Modes(x.modes[:0], op)
	return modeLocks(needs, op, x.modes, nil)
}

func modeLocks(needs []locktable.Need, op *msg.Op, modes []adt.Mode, short *adt.Shortage) []locktable.Need {
	for _, mode := range modes {
		needs = append(needs, locktable.Need{Span: kv.Point(op.Key), Mode: mode, Methods: adt.MethodsOf(op), Short: short})
	}
	return needs
}

// planLocks plans the lock set of a task that calls methods of data types, by what their keys hold
// now, with the locks that an execution has shown to be missing. While the task waits for them the
// values may change, so that the set is a guess which the execution checks (docs/protocol.md,
// section 3). A task that need not wait is executed by these plans (mvcc.Plans), which are in
// room that the next task has.
func (x *Executor) planLocks(t *Task) {
	x.planned = nil
	if x.cfg.Sharing.Locks == RWLocks || !t.plans && len(t.more) == 0 {
		return
	}
	x.plans.Reset(len(t.Ops))
	if len(t.Ops) > fewOps {
		x.earlier = map[string]earlier{}
	}
	needs := append(t.Request.Needs[:0], t.more...)
	for i := range t.Ops {
		if t.Ops[i].IsCall() {
			needs = x.likelyLocks(needs, t, i)
		} else {
			needs, _ = x.opLocks(needs, &t.Ops[i])
		}
		if x.earlier != nil {
			x.note(t, i)
		}
	}
	t.Request.Needs = locktable.Normalize(seenLocks(needs, t.Seen))
	x.earlier = nil
	if !t.ranges {
		x.planned = t
	}
}

// earlier is what a piece has done with a key before some operation: the place of its last call,
// -1 for none; mixed: after that, or without one, something else.
type earlier struct {
	call  int
	mixed bool
}

// fewOps is up to how many operations are looked at one by one. Somewhat arbitrary.
const fewOps = 16

// earlierThan looks up what came before the operation at a place. In a long piece that was noted.
func (x *Executor) earlierThan(t *Task, place int) earlier {
	key := t.Ops[place].Key
	if x.earlier != nil {
		b, ok := x.earlier[string(key)]
		if ok {
			return b
		}
		return earlier{call: -1}
	}
	b := earlier{call: -1}
	for i := place - 1; i >= 0; i-- {
		op := &t.Ops[i]
		switch {
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

// note keeps the operation at a place for those after it.
func (x *Executor) note(t *Task, place int) {
	op := &t.Ops[place]
	if op.IsCall() {
		x.earlier[string(op.Key)] = earlier{call: place}
		return
	}
	b := x.earlierThan(t, place)
	b.mixed = true
	x.earlier[string(op.Key)] = b
}

// likelyLocks adds the locks of the call at a place, as far as the visible value of its key and
// the task's own earlier calls determine them.
func (x *Executor) likelyLocks(needs []locktable.Need, t *Task, place int) []locktable.Need {
	op := &t.Ops[place]
	method, err := adt.Find(op)
	it := x.itemAt(t, place)
	if err != nil || it == nil || !it.Loaded {
		return x.anyLocks(needs, op)
	}
	if x.Env.Mutants.Has(mutant.FirstPlanKept) {
		x.keepFirst(t, it)
	}
	v, before := &it.Value, x.earlierThan(t, place)
	var own *entry.Value
	if before.call >= 0 {
		own = x.plans.Made(before.call)
		if own != nil {
			v = own
		}
	}
	if v.Exists() && v.Type != method.Type.ID {
		return x.anyLocks(needs, op)
	}
	r := adt.Request{Method: method, Args: op.Args, Value: v, Ahead: x.ahead(t), Unique: mvcc.Unique(t.Txn, op.Seq)}
	if len(it.Intents) > 0 {
		r.Others = func(visit func([]msg.Call)) { mvcc.Others(x.intentsOf(it), t.Txn, visit) }
	}
	plan, modes := r.Plan(x.modes[:0])
	x.modes = modes
	x.stats.Planned++
	if plan.Err != nil && len(modes) == 0 {
		return x.anyLocks(needs, op)
	}
	switch {
	case before.mixed || len(it.Intents) > 0:
	case before.call < 0:
		x.plans.Keep(place, &r, &plan, modes)
	case own != nil:
		x.plans.KeepAfter(place, before.call, &r, &plan, modes)
	}
	if x.Env.Mutants.Has(mutant.RefusalUnlocked) {
		modes = slices.DeleteFunc(modes, refuses)
	}
	return modeLocks(needs, op, modes, plan.Short)
}

// itemAt is the item of the operation at a place, nil if it has none. Without ranges each operation
// has pinned one.
func (x *Executor) itemAt(t *Task, place int) *mvcc.Item {
	if !t.ranges {
		return t.items[place]
	}
	return x.Store.Get(t.Ops[place].Key)
}

// keepFirst keeps what a task has found first at a key, for a mutant.
func (x *Executor) keepFirst(t *Task, it *mvcc.Item) {
	if x.first == nil {
		x.first = map[*Task]map[string]entry.Value{}
	}
	if x.first[t] == nil {
		x.first[t] = map[string]entry.Value{}
	}
	_, ok := x.first[t][string(it.Key)]
	if !ok {
		x.first[t][string(it.Key)] = it.Value
	}
}
