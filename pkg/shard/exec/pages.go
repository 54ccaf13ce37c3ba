package exec

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// Large values consist of pages, which are read when an operation needs them. A task requests the pages that
// it will probably need before it requests locks (loadPages), and waits again if its execution needs more
// (waitForPages). The effects of a prepared piece never lack pages when they are applied: the execution has
// read the pages that its changes need, and pages that were looked up remain known (package adt/paged). After
// a restart package agent executes prepared pieces again to find out which pages they need.

// pageWaiter is a task that waits for pages, with the generation of its request.
//
//	task requests pages 3 and 4         generation 1
//	task is suspended and starts again  generation 2, requests page 4
//	pages 3 and 4 arrive                of generation 1: ignored; of generation 2: counted
type pageWaiter struct {
	task       *Task
	generation int
}

// Caller returns the user of the task, and whether the task is part of a commit.
func (w pageWaiter) Caller() (kv.Account, bool) { return w.task.Caller() }

// onPages advances a task when all requested pages have arrived.
func (x *Executor) onPages(w pageWaiter, err error) Step {
	t := w.task
	// The pages of an earlier try may arrive after the task has restarted.
	if t.loads.generation != w.generation || t.stage != loading && t.stage != paging {
		return Waiting // cancelled, or restarted
	}
	if err != nil {
		t.Err = err
	}
	t.loads.missing--
	switch {
	case t.loads.missing > 0:
		return Waiting
	// A reader has left the queues while it waited, so it starts again from its loaded keys.
	case t.stage == loading, t.Kind.Reader():
		return x.onLoaded(t)
	case t.Err != nil:
		return t.refuse(msg.FailureOf(t.Err))
	// Without locks: nothing to request again.
	case t.Kind == Optimistic:
		return Ready
	}
	return x.Acquire(t)
}

// loadPages requests the pages that the task will probably need, and reports whether it has to wait. They are
// determined by planning its calls with the current values; when these pages have arrived, a plan may need
// more.
//
// Without it, the execution would find them absent with the locks held, and hold them for a disk read. The prediction
// may miss pages, since the value may change before the locks are granted; then it does.
func (x *Executor) loadPages(t *Task) bool {
	// The task fails for an unreadable key anyway.
	if t.Err != nil {
		return false
	}
	for i := range t.Ops {
		op := &t.Ops[i]
		if !op.Span().IsPoint() {
			continue
		}
		it := x.Store.Get(op.Key)
		// Values without pages, or with all pages in memory, need nothing.
		if it == nil || adt.UnloadedBytes(&it.Value) == 0 {
			continue
		}
		t.waitedForPages = true
		t.loads.missing += x.Store.Pages(it, predictPages(t, op, &it.Value), pageWaiter{t, t.loads.generation})
	}
	return t.loads.missing > 0
}

// predictPages returns the pages that one operation needs.
func predictPages(t *Task, op *msg.Op, v *entry.Value) []adt.Page {
	if op.Kind == msg.OpMoveOut || op.Kind == msg.OpGet && op.Stored || op.Expect == msg.ExpectValue {
		return adt.MissingPages(v)
	}
	if !op.IsCall() || uint32(v.Type) != op.Type {
		return nil
	}
	method, err := adt.Find(op)
	if err != nil {
		return nil
	}
	// The plan ignores the undecided calls of others: it only names pages. Its error may list absent pages, on which
	// the plan itself depends; without an error, the pages that its changes will touch.
	plan, _ := (&adt.Request{Method: method, Args: op.Args, Value: v, Unique: mvcc.UniqueOf(t.Txn, op.Seq)}).Plan(nil)
	pages := adt.AbsentPages(plan.Err)
	if pages != nil || plan.Err != nil {
		return pages
	}
	return adt.NeededPages(v, plan.Calls)
}

// waitForPages suspends a task whose execution has found absent pages, and reports whether it has. The task
// keeps its locks and requests them again when the pages have arrived; a reader registers again.
func (x *Executor) waitForPages(t *Task, e *mvcc.Execution) bool {
	if len(e.Absent) == 0 {
		return false
	}
	// The generation separates these pages from others that the task has requested before.
	t.stage, t.waitedForPages, t.loads.missing = paging, true, 0
	t.loads.generation++
	for _, a := range e.Absent {
		it := x.Store.Get(a.Key)
		t.loads.missing += x.Store.Pages(it, a.Pages, pageWaiter{t, t.loads.generation})
	}
	return true
}
