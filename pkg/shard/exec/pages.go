package exec

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// Large values are in pages, which are read when an operation needs them. A task asks for those
// that it will probably need before it asks for locks (preload), and waits again if executing it
// shows that it needs more (lacksPages). A promise never lacks pages when it is kept: its execution
// has read those that its changes need, and pages that were looked up stay known (package
// adt/paged). After a restart package commit executes promises once more to find out.

// pageWaiter is a task that waits for pages, in the round in which it asked.
type pageWaiter struct {
	task  *Task
	round int
}

// Caller is for whom the task waits.
func (w pageWaiter) Caller() (kv.Account, bool) { return w.task.Caller() }

// pagesRead has a task go on when it has all that it asked for.
func (x *Executor) pagesRead(w pageWaiter, err error) Step {
	t := w.task
	if t.loads.round != w.round || t.stage != loading && t.stage != paging {
		return Waiting // given up, or begun again
	}
	if err != nil {
		t.Err = err
	}
	t.loads.missing--
	switch {
	case t.loads.missing > 0:
		return Waiting
	case t.stage == loading, t.Kind.Reader():
		return x.loaded(t)
	case t.Err != nil:
		return t.fail(msg.FailureOf(t.Err))
	case t.Kind == Optimistic:
		return Ready
	}
	return x.Acquire(t)
}

// preload asks for the pages that the task will probably need, and reports whether it has to wait.
// They are found by planning its calls as things are; one more round may show more.
func (x *Executor) preload(t *Task) bool {
	if t.Err != nil {
		return false
	}
	for i := range t.Ops {
		op := &t.Ops[i]
		if !op.Span().IsPoint() {
			continue
		}
		it := x.Store.Get(op.Key)
		if it == nil || adt.Away(&it.Value) == 0 {
			continue
		}
		t.paged = true
		t.loads.missing += x.Store.Pages(it, likelyPages(t, op, &it.Value), pageWaiter{t, t.loads.round})
	}
	return t.loads.missing > 0
}

// likelyPages are those that one operation needs.
func likelyPages(t *Task, op *msg.Op, v *entry.Value) []adt.Page {
	if op.Kind == msg.OpMoveOut || op.Kind == msg.OpGet && op.Stored || op.Expect == msg.ExpectValue {
		return adt.Missing(v)
	}
	if !op.IsCall() || uint32(v.Type) != op.Type {
		return nil
	}
	method, err := adt.Find(op)
	if err != nil {
		return nil
	}
	plan, _ := (&adt.Request{Method: method, Args: op.Args, Value: v, Unique: mvcc.Unique(t.Txn, op.Seq)}).Plan(nil)
	pages := adt.Lacks(plan.Err)
	if pages != nil || plan.Err != nil {
		return pages
	}
	return adt.Unneeded(v, plan.Calls)
}

// lacksPages has a task wait for pages that executing it has shown to be absent. It keeps its
// locks, and asks for them again then; a reader registers again.
func (x *Executor) lacksPages(t *Task, e *mvcc.Execution) bool {
	if len(e.Absent) == 0 {
		return false
	}
	t.stage, t.paged, t.loads.missing = paging, true, 0
	t.loads.round++
	for _, a := range e.Absent {
		it := x.Store.Get(a.Key)
		t.loads.missing += x.Store.Pages(it, a.Pages, pageWaiter{t, t.loads.round})
	}
	return true
}
