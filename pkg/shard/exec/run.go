package exec

import (
	"bytes"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/step"
)

// Run executes a task that is Ready. With Ready it has, and the execution counts; with another
// step it lacked locks or pages, or could not be read, and the execution is nothing. The effects
// of a piece that is decided here are the caller's until Reuse.
func (x *Executor) Run(t *Task) (mvcc.Execution, Step) {
	for {
		t.stage = done
		if t.Err != nil {
			return mvcc.Execution{}, t.fail(msg.FailureOf(t.Err))
		}
		e := x.execute(t)
		if x.lacksPages(t, &e) {
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

// execute runs the operations.
func (x *Executor) execute(t *Task) mvcc.Execution {
	var room []entry.Effect
	if t.Kind == Decide {
		room, x.effects = x.effects, nil
	}
	x.view.t = t
	e := mvcc.ExecInto(room, &x.view, t.Ops, x.version)
	for i := range e.Effects {
		if e.Effects[i].Ttl > 0 {
			e.Effects[i].Clock = x.Expiry.ClockID()
		}
	}
	x.stats.Planned += uint64(e.Plans)
	x.calls.task, x.planned = nil, nil
	return e
}

// Reuse takes back the room of a decision's effects, of which nothing is needed any more.
func (x *Executor) Reuse(effects []entry.Effect) { x.effects = step.Emptied(effects) }

// acquireMore asks for the locks that executing a task has shown to be missing.
func (x *Executor) acquireMore(t *Task, e *mvcc.Execution) Step {
	x.stats.Replanned++
	for _, n := range e.Missing {
		t.more = append(t.more, locktable.Need{Span: kv.Point(n.Key), Mode: n.Mode, Methods: n.Methods, Short: n.Short})
	}
	t.loads.round++
	return x.Acquire(t)
}

// Item pins the item of an effect and makes sure that what the effect needs of it is known: a key
// that came out of a range read may not be in memory yet. The range says of some only that they
// exist, which is enough to delete them at once; a promise to do so, the waiter, waits for the
// rest, when it is decided. It is nil for an effect that is shown at once.
func (x *Executor) Item(t *Task, e *entry.Effect, waiter any) *mvcc.Item {
	it := x.Store.Pin(e.Key)
	if it.Loaded {
		return it
	}
	for i := range t.Ops {
		for _, row := range t.rows[t.Ops[i].Seq].Rows {
			switch {
			case string(row.Key) != string(e.Key):
				continue
			case !row.Partial:
				x.Store.Install(it, mvcc.Found{Value: row.Value, Index: row.Index})
			case waiter != nil:
				x.Store.Await(it, waiter)
			default:
				it.Value, it.Index = row.Value, row.Index // until it is shown
				if row.Paged {
					x.Store.Unnoted()
				}
			}
			return it
		}
	}
	panic("shard: an effect on a key that was neither loaded nor read")
}

// Find is the item of a key of the task, nil if it is not in memory.
func (x *Executor) Find(t *Task, key []byte) *mvcc.Item {
	if len(t.items) <= fewItems {
		for _, it := range t.items {
			if bytes.Equal(it.Key, key) {
				return it
			}
		}
	}
	return x.Store.Get(key)
}

// fewItems is up to how many items are looked at one by one. Somewhat arbitrary.
const fewItems = 4

// SeenHolds validates the optimistic reads of a task, which are read-locked, or it is the instant
// of the decision. Some are executed again, and are the first of its operations; results are those
// of the execution. It returns how many they are.
func (x *Executor) SeenHolds(t *Task, results []msg.Result) (again int, _ *msg.Failure) {
	if x.Env.Mutants.Has(mutant.SeenUnchecked) {
		return 0, nil
	}
	for i := range t.Seen {
		key := t.Seen[i].Key
		if t.Seen[i].Digest != 0 {
			if again >= len(results) || results[again].Digest() != t.Seen[i].Digest && !x.Env.Mutants.Has(mutant.UnlockedUnchecked) {
				return again, changed(key)
			}
			again++
			continue
		}
		it := x.Store.Get(key)
		_, here := x.Heat.Elsewhere(key, it)
		if !here {
			return again, changed(key)
		}
		now := kv.Version{}
		if it != nil && it.Value.Exists() {
			now = it.Value.Version
		}
		if now != t.Seen[i].Version {
			return again, changed(key)
		}
	}
	return again, nil
}
