package exec

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
)

// view is the state that the operations of the task in execution see (mvcc.View).
type view struct {
	x *Executor
	t *Task
}

// Value returns the visible value of a key, or a redirect if the key has moved.
//
// A redirect depends on the visible value: a move tombstone at the home shard, or, on the hot shard, absence.
func (v *view) Value(key []byte) (entry.Value, error) {
	it := v.x.Find(v.t, key)
	if it == nil || !it.Loaded {
		return entry.Value{}, kv.Errorf(kv.KindInternal, "key %q is not in memory", key)
	}
	// The check happens under the lock of the key, so a waiter or a blind write that arrived before the key
	// moved is redirected as well.
	to, moved := v.redirect(key, it)
	if moved {
		return it.Value, mvcc.OnOtherShard{Shard: to}
	}
	adt.CacheState(&it.Value)
	return *v.x.planner.visibleTo(v.t, it), nil
}

// Pending bounds the sum of the undecided adds of other transactions to a counter.
//
// An add is granted together with others that are undecided. It must not overflow whichever of them commit.
func (v *view) Pending(key []byte) (low, high int64) {
	it := v.x.Find(v.t, key)
	if it == nil {
		return 0, 0
	}
	return mvcc.PendingAdds(it.Intents, v.t.Txn)
}

// Clock returns the time that decides whether a key has expired.
func (v *view) Clock() int64 { return v.x.Expiry.Clock() }

// Calls returns what the calls of the task see beyond values.
func (v *view) Calls() *mvcc.Calls { return v.x.calls.of(v.t) }

// Rows returns the rows of the range of an operation.
func (v *view) Rows(seq uint32) mvcc.RangeRows { return v.t.rows[seq] }

// calls is what the calls of the task in execution see beyond values. All tasks share its scratch.
type calls struct {
	x       *Executor
	task    *Task
	scratch mvcc.Calls
	// held and intents are closures, allocated once.
	held    func(key []byte, mode adt.Mode) bool
	intents func(key []byte) []mvcc.Intent
}

func (c *calls) init(x *Executor) {
	c.x = x
	c.held = func(key []byte, mode adt.Mode) bool { return x.isCovered(c.task, key, mode) }
	c.intents = func(key []byte) []mvcc.Intent {
		it := x.Find(c.task, key)
		if it == nil {
			return nil
		}
		return x.planner.intentsOf(it)
	}
}

// of returns what the calls of a task see. Calls of readers need no locks: conflicting writers wait for them.
//
// An optimistic read and a reader hold no locks. What they compute is validated later, or protected by the
// registration.
func (c *calls) of(t *Task) *mvcc.Calls {
	// An execution requests this several times for the same task.
	if c.task == t {
		return &c.scratch
	}
	c.task, c.scratch = t, mvcc.Calls{Txn: t.Txn, Ahead: c.x.planner.respondsEarly(t), Mutants: c.x.Env.Mutants}
	if t.Kind.isLockless() {
		return &c.scratch
	}
	c.scratch.Intents, c.scratch.Held = c.intents, c.held
	if c.x.planner.planned == t {
		c.scratch.Plans = &c.x.planner.plans
	}
	return &c.scratch
}

// needs reports whether the lock set of a task covers a mode on a key.
func (t *Task) needs(key []byte, mode adt.Mode) bool {
	return slices.ContainsFunc(t.Request.Needs, func(n locktable.Need) bool {
		return n.Span.Contains(key) && adt.Covers(n.Mode, mode)
	})
}

// staleRead is the failure of a transaction whose optimistic read is not current.
func staleRead(key []byte) *msg.Failure {
	f := msg.Fail(msg.ReasonStaleRead, kv.KindAborted, "a value that the transaction read has changed")
	f.Key = key
	f.Conflict = &msg.Receipt{Cause: msg.CauseChanged, Key: key, Mode: uint64(adt.ModeRead),
		Methods: uint64(adt.MethodGet.Set()), HolderMode: uint64(adt.ModeWrite)}
	return f
}
