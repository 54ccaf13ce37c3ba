package exec

import (
	"bytes"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
)

// planner plans the lock sets of tasks.
//
// Example. The piece "contains(a) on s; add(b) on s; put k" has a plan for each call, the second one from the
// value after the first, and locks {s: present a or absent a}, {s: add b} and {k: write}.
type planner struct {
	Parts
	sharing Sharing
	stats   *Stats
	// modes is scratch for the modes of one operation.
	modes []adt.Mode
	// plans are the plans of the task planned, which is about to be executed without having waited; planned is
	// nil if there is none. precedingCalls is scratch of planLocks.
	plans          mvcc.Plans
	planned        *Task
	precedingCalls map[string]preceding
	firstPlans
}

// needsLockPlan reports whether the lock set of a task depends on values, so that it is planned when the
// locks are requested.
//
// Most tasks do not: their locks are known before their keys are in memory.
func (t *Task) needsLockPlan() bool {
	if t.Kind.isLockless() {
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

// staticLocks returns the lock set of a task without a plan, in the scratch of the task if that is large
// enough. For a task with a plan it only returns the scratch, which planLocks fills.
//
//	put k           k: write             add n 1 (blind)     n: add
//	get k           k: read              contains(x) on s    s: present(x) and absent(x), if not planned
//	scan [a, m)     [a, m): read
func (x *planner) staticLocks(t *Task) (needs []locktable.Need, ranges bool) {
	needs = t.scratch.need[:0]
	n := len(t.Ops) + len(t.Seen)
	// Most pieces have one key; they need no allocation.
	if n > cap(needs) {
		needs = make([]locktable.Need, 0, n)
	}
	for i := range t.Ops {
		op := &t.Ops[i]
		switch {
		// The locks of all operations are planned together; only whether there are ranges must be known now.
		case t.planned:
			ranges = ranges || op.IsRange()
		case op.IsCall():
			needs = x.appendStaticCallLocks(needs, op)
		default:
			var ranged bool
			needs, ranged = x.appendOpLocks(needs, op)
			ranges = ranges || ranged
		}
	}
	if t.planned {
		return needs, ranges
	}
	return locktable.Normalize(appendSeenLocks(needs, t.Seen)), ranges
}

// appendSeenLocks adds read locks for the optimistic reads that are validated by version. Reads with a digest
// are validated by executing them again.
//
// The lock keeps the key as it was validated until the decision; a read that was validated without it could become
// stale between the vote and F(T).
func appendSeenLocks(needs []locktable.Need, seen []msg.Seen) []locktable.Need {
	for i := range seen {
		if seen[i].Digest != 0 {
			continue
		}
		needs = append(needs, locktable.Need{Span: kv.Point(seen[i].Key), Mode: adt.ModeRead, Methods: adt.MethodGet.Set()})
	}
	return needs
}

// appendOpLocks adds the lock of an operation that is not a call. ranged reports whether it is on a range.
func (x *planner) appendOpLocks(needs []locktable.Need, op *msg.Op) (_ []locktable.Need, ranged bool) {
	span := op.Span()
	ranged = !span.IsPoint()
	if x.isUnlocked(op, &span) {
		return needs, ranged
	}
	return append(needs, locktable.Need{Span: span, Mode: x.modeOf(op), Methods: adt.MethodsOf(op)}), ranged
}

// appendStaticCallLocks adds the locks of a call that suffice whatever the value is.
func (x *planner) appendStaticCallLocks(needs []locktable.Need, op *msg.Op) []locktable.Need {
	if x.sharing.Locks == RWLocks {
		return append(needs, locktable.Need{Span: kv.Point(op.Key), Mode: x.modeOf(op), Methods: adt.MethodsOf(op)})
	}
	x.modes = adt.Modes(x.modes[:0], op)
	return appendModes(needs, op, x.modes, nil)
}

// appendModes adds a lock on the key of a call for each of modes.
func appendModes(needs []locktable.Need, op *msg.Op, modes []adt.Mode, short *adt.Shortage) []locktable.Need {
	for _, mode := range modes {
		needs = append(needs, locktable.Need{Span: kv.Point(op.Key), Mode: mode, Methods: adt.MethodsOf(op), Short: short})
	}
	return needs
}

// planLocks plans the lock set of a task with calls, from the visible values of its keys, and adds the locks
// that an execution has shown to be missing. While the task waits, the values may change, so the set is a
// prediction that the execution verifies (docs/protocol.md, section 3). If the task does not wait, the
// execution uses these plans (mvcc.Plans); they are in scratch that the next task overwrites.
func (x *planner) planLocks(t *Task) {
	x.planned = nil
	// Without calls the static lock set is final, unless an execution has found missing locks.
	if x.sharing.Locks == RWLocks || !t.planned && len(t.extraNeeds) == 0 {
		return
	}
	x.plans.Reset(len(t.Ops))
	// A piece may have thousands of calls; searching backwards for each would be quadratic.
	if len(t.Ops) > maxLinearOps {
		x.precedingCalls = map[string]preceding{}
	}
	needs := append(t.Request.Needs[:0], t.extraNeeds...)
	for i := range t.Ops {
		if t.Ops[i].IsCall() {
			needs = x.appendPlannedLocks(needs, t, i)
		} else {
			needs, _ = x.appendOpLocks(needs, &t.Ops[i])
		}
		if x.precedingCalls != nil {
			x.recordPreceding(t, i)
		}
	}
	t.Request.Needs = locktable.Normalize(appendSeenLocks(needs, t.Seen))
	x.precedingCalls = nil
	if !t.ranges {
		x.planned = t
	}
}

// preceding describes the operations on a key before some operation of the piece: the position of the last
// call, -1 if there is none. mixed: another operation follows that call, or there is none before it.
type preceding struct {
	call  int
	mixed bool
}

// maxLinearOps is the number of operations up to which a linear search is used. The value is somewhat
// arbitrary.
const maxLinearOps = 16

// precedingOf describes the operations before the one at a position on the same key. For a long piece,
// recordPreceding has recorded them.
//
//	piece                         for the last operation
//	add(x) s; contains(y) s       call 0: planned on the value after it
//	add(x) s; expire s; len s     call 0, mixed: planned on the visible value, and again in the execution
//	put k 1; add(x) s             none
func (x *planner) precedingOf(t *Task, position int) preceding {
	key := t.Ops[position].Key
	if x.precedingCalls != nil {
		b, ok := x.precedingCalls[string(key)]
		if ok {
			return b
		}
		return preceding{call: -1}
	}
	b := preceding{call: -1}
	for i := position - 1; i >= 0; i-- {
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

// recordPreceding records the operation at a position for the later ones of its key.
func (x *planner) recordPreceding(t *Task, position int) {
	op := &t.Ops[position]
	if op.IsCall() {
		x.precedingCalls[string(op.Key)] = preceding{call: position}
		return
	}
	b := x.precedingOf(t, position)
	b.mixed = true
	x.precedingCalls[string(op.Key)] = b
}

// appendPlannedLocks adds the locks of the call at a position, as far as the visible value of its key and the
// earlier calls of the task determine them. Otherwise it adds the static ones.
func (x *planner) appendPlannedLocks(needs []locktable.Need, t *Task, position int) []locktable.Need {
	op := &t.Ops[position]
	method, err := adt.Find(op)
	it := x.itemAt(t, position)
	// An unknown method or an unloaded key: the execution reports the error, under locks that make it final.
	if err != nil || it == nil || !it.Loaded {
		return x.appendStaticCallLocks(needs, op)
	}
	v, before := x.valueToPlan(t, it), x.precedingOf(t, position)
	var own *entry.Value
	if before.call >= 0 {
		// The value after the piece's own earlier call on the key. nil: it is not known, for example because that
		// call could not be planned.
		own = x.plans.ResultOf(before.call)
		if own != nil {
			v = own
		}
	}
	// A value of another type: the call fails, and the static locks keep the type from changing until then.
	if v.Exists() && v.Type != method.Type.ID {
		return x.appendStaticCallLocks(needs, op)
	}
	r := adt.Request{
		Method: method, Args: op.Args, Value: v, Ahead: x.respondsEarly(t), Unique: mvcc.UniqueOf(t.Txn, op.Seq),
	}
	// Undecided calls of others may commit or abort; the plan must hold in both cases.
	if len(it.Intents) > 0 {
		r.Others = func(visit func([]msg.Call)) { mvcc.VisitOtherCalls(x.intentsOf(it), t.Txn, visit) }
	}
	plan, modes := r.Plan(x.modes[:0])
	x.modes = modes
	x.stats.Planned++
	// The plan can neither grant nor refuse the call, for example since pages are absent.
	if plan.Err != nil && len(modes) == 0 {
		return x.appendStaticCallLocks(needs, op)
	}
	switch {
	// Another operation of the piece, or the decision of an intent, may change the value before this call runs:
	// its plan is made again then.
	case before.mixed || len(it.Intents) > 0:
	case before.call < 0:
		x.plans.Set(position, &r, &plan, modes)
	// The plan holds if the earlier one does; the execution checks both (mvcc.Plans).
	case own != nil:
		x.plans.SetAfter(position, before.call, &r, &plan, modes)
	}
	return appendModes(needs, op, x.modesToLock(modes), plan.Short)
}

// itemAt returns the item of the operation at a position, nil if it has none. In a task without ranges each
// operation has referenced one.
func (x *planner) itemAt(t *Task, position int) *mvcc.Item {
	if !t.ranges {
		return t.items[position]
	}
	return x.Store.Get(t.Ops[position].Key)
}
