package exec

import (
	"bytes"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// Run executes a task that is Ready. If the step returned is Ready, the execution is valid. Otherwise locks
// or pages were missing, or a key was unreadable, and the execution is void. The effects of a last agent's
// piece belong to the caller until RecycleEffects.
//
// The loop ends: each round either acquires locks that cover more of the value, at last the whole value, or waits.
func (x *Executor) Run(t *Task) (mvcc.Execution, Step) {
	for {
		// If the execution needs more locks or pages, acquireMore or waitForPages sets another stage.
		t.stage = done
		if t.Err != nil {
			return mvcc.Execution{}, t.refuse(msg.FailureOf(t.Err))
		}
		e := x.execute(t)
		if x.waitForPages(t, &e) {
			return e, Waiting
		}
		if len(e.Missing) == 0 {
			return e, Ready
		}
		step := x.acquireMore(t, &e)
		if step != Ready {
			return e, step
		}
	}
}

// execute runs the operations once.
//
// The effects are computed from the values that are visible now; they become visible later, for a participant after the
// decision. Adds and calls are stored as such, so that others that commute with them may become visible in between.
func (x *Executor) execute(t *Task) mvcc.Execution {
	var scratch []entry.Effect
	// The effects of a decision are used in this step only, so their memory is reused. x.effects is nil
	// meanwhile: a second decision in the step must not overwrite them.
	if t.Kind == Decide {
		scratch, x.effects = x.effects, nil
	}
	x.view.t = t
	e := mvcc.ExecInto(scratch, &x.view, t.Ops, x.version)
	for i := range e.Effects {
		// A deadline passes by the clock that has set it (package expiry).
		if e.Effects[i].Ttl > 0 {
			e.Effects[i].Clock = x.Expiry.ClockID()
		}
	}
	x.stats.Planned += uint64(e.Plans)
	// The plans are valid for one execution: its effects change the values.
	x.calls.task, x.planner.planned = nil, nil
	return e
}

// RecycleEffects returns the memory of a decision's effects, which the caller does not use any more.
func (x *Executor) RecycleEffects(effects []entry.Effect) { x.effects = step.Emptied(effects) }

// acquireMore requests the locks that an execution has found to be missing.
//
// Example. contains(x) on a set is planned as a lock on "x present", and waits. The holder removes x. When the
// lock is granted, the execution plans a lock on "x absent", which the piece does not have. It is requested in
// addition; the lock on "x present" stays, which is harmless. The piece may have to wait, and execute again.
//
// The generation rises, so that pages which were requested for the void execution do not advance the task.
func (x *Executor) acquireMore(t *Task, e *mvcc.Execution) Step {
	x.stats.Replanned++
	t.extraNeeds = append(t.extraNeeds, e.Missing...)
	t.loads.generation++
	return x.Acquire(t)
}

// EffectItem references the item of an effect, and ensures that the effect's needs are known. A key that was
// found by a range read may not be in memory. Of a large value the range read only reports that it exists,
// which is enough to delete it in this step (waiter is nil). A prepared deletion is applied later: then
// waiter, the prepared piece, waits for the value.
func (x *Executor) EffectItem(t *Task, e *entry.Effect, waiter any) *mvcc.Item {
	it := x.Store.Reference(e.Key)
	if it.Loaded {
		return it
	}
	for i := range t.Ops {
		for _, row := range t.rows[t.Ops[i].Seq].Rows {
			switch {
			case string(row.Key) != string(e.Key):
				continue
			// The row is the newest version: the range is locked, so nothing has changed since it was read.
			case !row.Partial:
				x.Store.Install(it, mvcc.Found{Value: row.Value, CSN: row.CSN})
			case waiter != nil:
				x.Store.Await(it, waiter)
			default:
				it.Value, it.CSN = row.Value, row.CSN // until the effect becomes visible
				if row.Paged {
					x.Store.Collector.RecordUnknown()
				}
			}
			return it
		}
	}
	panic("shard: an effect on a key that was neither loaded nor read")
}

// Find returns the item of a key of the task, nil if it is not in memory.
//
// Most tasks have one key, which is found without hashing it.
func (x *Executor) Find(t *Task, key []byte) *mvcc.Item {
	if len(t.items) <= maxLinearItems {
		for _, it := range t.items {
			if bytes.Equal(it.Key, key) {
				return it
			}
		}
	}
	return x.Store.Get(key)
}

// maxLinearItems is the number of items up to which a linear search is used. The value is somewhat arbitrary.
const maxLinearItems = 4

// ValidateReads validates the optimistic reads of a task: their keys are read-locked, or this is the step of
// the decision. Reads with a digest have been executed again as the first operations of the task, and results
// begins with theirs; again is their number.
//
// Example. T read k on the hot shard, unlocked, at version 5. U then commits version 6. In the deciding step of T
// the newest version is 6: T aborts with a stale read, and its next attempt locks k. If k has moved, its version
// cannot be compared here, so the read counts as changed, too.
func (x *Executor) ValidateReads(t *Task, results []msg.Result) (again int, _ *msg.Failure) {
	for i := range t.Seen {
		key := t.Seen[i].Key
		if t.Seen[i].Digest != 0 {
			// Reads with a digest come first in the operations of the task, in the order of Seen.
			if again >= len(results) || !x.hasDigest(&t.Seen[i], &results[again]) {
				return again, staleRead(key)
			}
			again++
			continue
		}
		it := x.Store.Get(key)
		_, here := x.Heat.Redirect(key, it)
		if !here {
			return again, staleRead(key)
		}
		// Absence has the zero version. A key that was absent, written and deleted in between may have it again;
		// then the read is current in this step.
		now := kv.Version{}
		if it != nil && it.Value.Exists() {
			now = it.Value.Version
		}
		if !x.hasVersion(&t.Seen[i], now) {
			return again, staleRead(key)
		}
	}
	return again, nil
}
