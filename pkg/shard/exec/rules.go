package exec

// The rules that tests break, each with its mutant.

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
)

// redirect returns the shard of a key that is not here. moved is false if it is.
func (v *view) redirect(key []byte, it *mvcc.Item) (to kv.ShardID, moved bool) {
	to, here := v.x.Heat.Redirect(key, it)
	return to, !here && !v.ignoresMove(key)
}

// ignoresMove reports whether a mutant executes the task although the key has moved.
func (v *view) ignoresMove(key []byte) bool {
	switch has := v.x.Env.Mutants.Has; {
	case has(mutant.MovedKeysUnchecked):
		comes := func(op msg.Op) bool { return op.Kind == msg.OpMoveIn }
		return v.x.Heat.Home(key) != v.x.Env.ID && !slices.ContainsFunc(v.t.Ops, comes)
	case has(mutant.BlindWritesIgnoreMove):
		return v.isBlindWrite(key)
	}
	return false
}

// isBlindWrite reports whether the only operations on a key are unconditional puts.
func (v *view) isBlindWrite(key []byte) bool {
	return !slices.ContainsFunc(v.t.Ops, func(op msg.Op) bool {
		return bytes.Equal(op.Key, key) && (op.Kind != msg.OpPut || op.Expect != msg.ExpectNothing)
	})
}

// respondsEarly reports whether results are returned to the client before the changes are prepared.
//
// Example: an interactive transaction calls try-subtract on a bounded counter, which is answered now. The change is
// reserved only by a lock, since nothing is prepared before the commit.
func (x *planner) respondsEarly(t *Task) bool {
	return t.Kind == Lock && !x.Env.Mutants.Has(mutant.AheadIgnored)
}

// intentsOf returns the undecided writes of a key as calls see them.
func (x *planner) intentsOf(it *mvcc.Item) []mvcc.Intent {
	switch {
	case x.Env.Mutants.Has(mutant.OthersIgnored):
		return nil
	case x.Env.Mutants.Has(mutant.OthersTwice):
		return append(slices.Clone(it.Intents), it.Intents...)
	}
	return it.Intents
}

// isCovered reports whether a lock of the task covers a mode on a key. A lock of the piece that is executed
// in this step counts although it is not in the table.
//
// Both sources are needed: locks of an earlier request of an interactive transaction are only in the table, and those
// of a last agent's piece only in the request.
func (x *Executor) isCovered(t *Task, key []byte, mode adt.Mode) bool {
	return t.needs(key, mode) || x.Locks.Covered(t.Txn, locktable.Need{Span: kv.Point(key), Mode: mode}) ||
		x.Env.Mutants.Has(mutant.PlanUnlocked) || x.Env.Mutants.Has(mutant.RefusalUnlocked) && isRefusal(mode)
}

// changeModes returns the modes of an effect as the snapshot-queues compare them with reads.
//
// A move changes the place of a key, not its value; readers must hold it nevertheless, since they would register on
// the wrong shard.
func (x *planner) changeModes(e *entry.Effect) ([]adt.Mode, adt.Methods) {
	switch m := &x.Env.Mutants; {
	case e.IsMove() && m.Has(mutant.MovesIgnoreReaders),
		e.Kind == entry.EffectChange && m.Has(mutant.ChangeIgnoredByReaders):
		return nil, adt.MethodUpdate.Set()
	case len(e.Calls) > 1 && m.Has(mutant.OnlyFirstChangeConflicts):
		e = &entry.Effect{Key: e.Key, Kind: e.Kind, Type: e.Type, Calls: e.Calls[:1]}
	}
	modes, method := adt.ChangeOf(x.modes[:0], e)
	x.modes = modes
	if x.sharing.Locks == RWLocks {
		modes = append(modes[:0], adt.ModeWrite)
	}
	return modes, method
}

// modesToLock returns those of the planned modes of a call that are locked: all, also that of a refusal.
func (x *planner) modesToLock(planned []adt.Mode) []adt.Mode {
	if x.Env.Mutants.Has(mutant.RefusalUnlocked) {
		return slices.DeleteFunc(planned, isRefusal)
	}
	return planned
}

// isRefusal reports whether a mode is that of a refused call of a bounded counter, for a mutant.
func isRefusal(mode adt.Mode) bool {
	return mode.KindName() == "bounded-counter.none-left" || mode.KindName() == "bounded-counter.no-room"
}

// isUnlocked reports whether an operation needs no lock: its range is empty.
func (x *planner) isUnlocked(op *msg.Op, span *kv.Span) bool {
	return !span.IsPoint() && span.IsEmpty() || op.Kind == msg.OpRequire && x.Env.Mutants.Has(mutant.ConditionUnlocked)
}

// hasDigest reports whether an optimistic read has had the result that it has now.
func (x *Executor) hasDigest(s *msg.Seen, now *msg.Result) bool {
	return now.Digest() == s.Digest ||
		x.Env.Mutants.Has(mutant.UnlockedUnchecked) || x.Env.Mutants.Has(mutant.SeenUnchecked)
}

// hasVersion reports whether an optimistic read has returned the version that is visible now.
func (x *Executor) hasVersion(s *msg.Seen, now kv.Version) bool {
	return now == s.Version || x.Env.Mutants.Has(mutant.SeenUnchecked)
}

// completeRequest sets what the lock request of a task contains beside its needs.
func (x *Executor) completeRequest(t *Task) {
	// The caller may have learned since Begin that other shards have voted for the transaction.
	t.Request.Admitted = t.isExempt()
	if x.Env.Mutants.Has(mutant.RangeLocksPresentOnly) {
		t.Request.Absent = x.isAbsent
	}
}

// isAbsent reports whether a key is known not to exist, for a mutant.
func (x *Executor) isAbsent(key []byte) bool {
	it := x.Store.Get(key)
	return it != nil && it.Loaded && !it.Value.Exists()
}

// firstPlans are the values that the first plans of tasks have used, for FirstPlanKept.
type firstPlans struct{ values map[firstPlan]*entry.Value }

type firstPlan struct {
	txn  kv.TxnRef
	task *Task
	key  string
}

// valueToPlan returns the value from which a call is planned: the visible one.
func (x *planner) valueToPlan(t *Task, it *mvcc.Item) *entry.Value {
	if x.Env.Mutants.Has(mutant.FirstPlanKept) {
		x.recordFirst(t, it)
	}
	return &it.Value
}

func (x *planner) recordFirst(t *Task, it *mvcc.Item) {
	if x.values == nil {
		x.values = map[firstPlan]*entry.Value{}
	}
	p, v := firstPlan{t.Txn, t, string(it.Key)}, it.Value
	if x.values[p] == nil {
		x.values[p] = &v
	}
}

// visibleTo returns the value with which a task is executed: the visible one, not that of its plan.
func (x *planner) visibleTo(t *Task, it *mvcc.Item) *entry.Value {
	if x.Env.Mutants.Has(mutant.FirstPlanKept) {
		return cmp.Or(x.values[firstPlan{t.Txn, t, string(it.Key)}], &it.Value)
	}
	return &it.Value
}
