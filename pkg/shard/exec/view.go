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

// view is what the operations of the task under execution see (mvcc.View).
type view struct {
	x *Executor
	t *Task
}

func (v *view) Value(key []byte) (entry.Value, error) {
	it := v.x.Find(v.t, key)
	if it == nil || !it.Loaded {
		return entry.Value{}, kv.Errorf(kv.KindInternal, "key %q is not in memory", key)
	}
	to, here := v.x.Heat.Elsewhere(key, it)
	if !here && !v.mistaken(key) {
		return it.Value, mvcc.Elsewhere{Shard: to}
	}
	first, ok := v.x.first[v.t][string(key)]
	if ok && v.x.Env.Mutants.Has(mutant.FirstPlanKept) {
		return first, nil
	}
	adt.Remember(&it.Value)
	return it.Value, nil
}

// mistaken reports whether a mutant executes the task though the key is not here.
func (v *view) mistaken(key []byte) bool {
	switch has := v.x.Env.Mutants.Has; {
	case has(mutant.GuestsUnchecked):
		comes := func(op msg.Op) bool { return op.Kind == msg.OpMoveIn }
		return v.x.Heat.Home(key) != v.x.Env.ID && !slices.ContainsFunc(v.t.Ops, comes)
	case has(mutant.BlindWritesIgnoreMark):
		return v.blind(key)
	}
	return false
}

// blind reports whether the task only puts a key.
func (v *view) blind(key []byte) bool {
	return !slices.ContainsFunc(v.t.Ops, func(op msg.Op) bool {
		return bytes.Equal(op.Key, key) && (op.Kind != msg.OpPut || op.Expect != msg.ExpectNothing)
	})
}

func (v *view) Pending(key []byte) (low, high int64) {
	it := v.x.Find(v.t, key)
	if it == nil {
		return 0, 0
	}
	return mvcc.PendingAdds(it.Intents, v.t.Txn)
}

// Clock is the time by which keys expire here.
func (v *view) Clock() int64 { return v.x.Expiry.Clock() }

func (v *view) Calls() *mvcc.Calls { return v.x.calls.of(v.t) }

func (v *view) Rows(seq uint32) mvcc.RangeRows { return v.t.rows[seq] }

// calls is what the calls of the task under execution see beyond values, in room that all tasks
// share.
type calls struct {
	x    *Executor
	task *Task
	room mvcc.Calls
	// held and intents are those of the task.
	held    func(key []byte, mode adt.Mode) bool
	intents func(key []byte) []mvcc.Intent
}

func (c *calls) init(x *Executor) {
	c.x = x
	c.held = func(key []byte, mode adt.Mode) bool { return x.covered(c.task, key, mode) }
	c.intents = func(key []byte) []mvcc.Intent {
		it := x.Find(c.task, key)
		if it == nil {
			return nil
		}
		return x.intentsOf(it)
	}
}

// of gives what a task's calls see. Those of readers need no locks: writers of what they see wait
// for them.
func (c *calls) of(t *Task) *mvcc.Calls {
	if c.task == t {
		return &c.room
	}
	c.task, c.room = t, mvcc.Calls{Txn: t.Txn, Ahead: c.x.ahead(t), Mutants: c.x.Env.Mutants}
	if t.Kind.lockless() {
		return &c.room
	}
	c.room.Intents = c.intents
	if !c.x.Env.Mutants.Has(mutant.PlanUnlocked) {
		c.room.Held = c.held
	}
	if c.x.planned == t {
		c.room.Plans = &c.x.plans
	}
	return &c.room
}

// ahead reports whether the task's answers are given before what it changes is prepared.
func (x *Executor) ahead(t *Task) bool {
	return t.Kind == Lock && !x.Env.Mutants.Has(mutant.AheadIgnored)
}

// intentsOf are the undecided writes of a key, as calls see them.
func (x *Executor) intentsOf(it *mvcc.Item) []mvcc.Intent {
	switch {
	case x.Env.Mutants.Has(mutant.OthersIgnored):
		return nil
	case x.Env.Mutants.Has(mutant.OthersTwice):
		return append(slices.Clone(it.Intents), it.Intents...)
	}
	return it.Intents
}

// covered reports whether the task runs under a lock.
func (x *Executor) covered(t *Task, key []byte, mode adt.Mode) bool {
	if x.Env.Mutants.Has(mutant.RefusalUnlocked) && refuses(mode) {
		return true
	}
	for i := range t.Request.Needs {
		n := &t.Request.Needs[i]
		if n.Span.Contains(key) && adt.Covers(n.Mode, mode) {
			return true
		}
	}
	return x.Locks.Covered(t.Txn, locktable.Need{Span: kv.Point(key), Mode: mode})
}

// refuses reports whether a mode is that of a refusal of a bounded counter, for a mutant.
func refuses(mode adt.Mode) bool {
	return mode.KindName() == "bounded-counter.none-left" || mode.KindName() == "bounded-counter.no-room"
}

// changed is the failure of a transaction that has read what has changed since.
func changed(key []byte) *msg.Failure {
	f := msg.Fail(msg.ReasonStaleRead, kv.KindAborted, "a value that the transaction read has changed")
	f.Key = key
	f.Conflict = &msg.Receipt{Cause: msg.CauseChanged, Key: key, Mode: uint64(adt.ModeRead),
		Methods: uint64(adt.MethodGet.Set()), HolderMode: uint64(adt.ModeWrite)}
	return f
}
