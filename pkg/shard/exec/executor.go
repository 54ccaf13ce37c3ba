package exec

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/shard/expiry"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
)

// Config are the bounds of an executor.
type Config struct {
	// MaxKeyReferences is how many transactions can reference one key in memory; further new ones are rejected.
	MaxKeyReferences int
	// Sharing controls how commutativity is used.
	Sharing Sharing
}

// Parts are the components of the shard that an executor uses.
type Parts struct {
	Env    *step.Env
	Store  *store.Store
	Locks  *locktable.Table
	Heat   *contention.Part
	Expiry *expiry.Deadlines
}

// Stats are the counters of an executor. They never fall.
type Stats struct {
	// LockWait is the time for which requests waited for locks.
	LockWait step.Duration
	// Replanned is the number of executions that needed other locks than planned, because of the values of their
	// keys. Planned is the number of plans of calls, made for lock sets and in executions.
	Replanned, Planned uint64
	// KeyRejections is the number of tasks rejected because of one key, NoSpaceRejections of those for lack of
	// disk space.
	KeyRejections, NoSpaceRejections uint64
}

// Executor executes the pieces of one shard.
type Executor struct {
	Parts
	cfg   Config
	stats Stats
	// Limits are the bounds for new work.
	Limits Limits
	// planner plans lock sets.
	planner planner
	// rangesRead are the tasks whose last range has arrived and that Next has not returned yet.
	rangesRead []*Task

	// version numbers writes. effects is scratch for the effects of a decision.
	version mvcc.Versions
	effects []entry.Effect
	view    view
	calls   calls
}

// New returns the executor of a shard.
func New(p Parts, cfg Config) *Executor {
	x := &Executor{Parts: p, cfg: cfg, version: p.Store.NextVersion}
	x.Limits = Limits{Parts: p, maxKeyReferences: cfg.MaxKeyReferences, stats: &x.stats}
	x.planner = planner{Parts: p, sharing: cfg.Sharing, stats: &x.stats}
	x.view.x = x
	x.calls.init(x)
	return x
}

// Stats returns the counters. The caller may take the samples of LockWait.
func (x *Executor) Stats() *Stats { return &x.stats }

// Begin starts a task: it references the keys and requests those that are not in memory.
//
// The lock set is computed here as far as it does not depend on values; a set that does is planned in Acquire, when
// the keys are in memory and the locks are about to be requested.
func (x *Executor) Begin(t *Task) Step {
	// Bounds are checked before anything is referenced or queued, so a rejection leaves no state.
	f := x.Limits.checkDiskSpace(t)
	if f == nil {
		f = x.Limits.checkKeyReferences(t)
	}
	if f != nil {
		t.overflow = true
		return t.refuse(f)
	}
	// With read-write locks the mode of a call does not depend on values.
	t.planned = x.cfg.Sharing.Locks == AbstractLocks && t.needsLockPlan()
	var needs []locktable.Need
	needs, t.ranges = x.planner.staticLocks(t)
	t.Request = locktable.Request{Txn: t.Txn, Begun: t.Request.Begun, User: t.User, Needs: needs, Tag: t, NoWait: t.NoWait,
		Lasting: t.Request.Lasting, Instant: t.Kind == Decide && !t.ranges}
	t.items = t.scratch.item[:0]
	n := len(t.Ops) + len(t.Seen)
	if n > 1 {
		t.items = make([]*mvcc.Item, 0, n)
	}
	for i := range t.Ops {
		if t.Ops[i].Span().IsPoint() {
			// A key that occurs in several operations is referenced once for each.
			x.loadKey(t, t.Ops[i].Key)
		}
	}
	for i := range t.Seen {
		if t.Seen[i].Digest == 0 {
			x.loadKey(t, t.Seen[i].Key)
		}
	}
	if t.loads.missing > 0 {
		return Waiting
	}
	return x.onLoaded(t)
}

// loadKey references a key for t and requests it if it is not in memory.
func (x *Executor) loadKey(t *Task, key []byte) {
	// Referenced also if it is loaded: it must stay in memory until the task has ended, or its lock plan, and the
	// effects, would have to wait for the log with locks held.
	it := x.Store.Reference(key)
	t.items = append(t.items, it)
	if !it.Loaded {
		t.loads.missing++
		x.Store.Await(it, t)
	}
}

// OnWake delivers a key, or pages, for which a task has waited.
//
// Keys are requested once, before any lock: a disk read takes milliseconds, and a lock held meanwhile would block
// the key for all. An unreadable key does not end the task here; the caller decides, since a participant answers
// with a vote, and a last agent must abort.
func (x *Executor) OnWake(w *store.Wake) (*Task, Step) {
	p, isPage := w.Waiter.(pageWaiter)
	if isPage {
		return p.task, x.onPages(p, w.Err)
	}
	t := w.Waiter.(*Task)
	if w.Err != nil {
		t.Err = w.Err
	}
	t.loads.missing--
	// The task may have ended while its last key was being read.
	if t.loads.missing > 0 || t.stage != loading {
		return t, Waiting
	}
	return t, x.onLoaded(t)
}

// IsWaiter reports whether a waiter of the store belongs to a task.
//
// The other waiters of the store are prepared pieces, which package agent wakes.
func IsWaiter(waiter any) bool {
	switch waiter.(type) {
	case *Task, pageWaiter:
		return true
	}
	return false
}

// Next returns a task whose ranges have all been read, nil if there is none. The task is Ready.
//
// Tasks become Ready in three ways: immediately, by the lock table (Granted), or when their last range arrives. Only
// the last one happens while the shard delivers results of reads, in which no task may run.
func (x *Executor) Next() *Task {
	for len(x.rangesRead) > 0 {
		t := x.rangesRead[0]
		x.rangesRead[0] = nil
		x.rangesRead = x.rangesRead[1:]
		// The task may have been suspended or dropped since its last range arrived.
		if t.stage == ranging && t.loads.missing == 0 {
			return t
		}
	}
	x.rangesRead = nil
	return nil
}

// onLoaded advances a task whose point keys are all in memory, or unreadable (Task.Err). If pages are
// missing, it waits for these first.
//
//	kind         next
//	Lock         locks, which last
//	Optimistic   ranges; no locks
//	Prepare      locks
//	Decide       waits for votes (Loaded); then locks for the deciding step
//	Read         waits for notices (Loaded); then registers in the snapshot-queues
func (x *Executor) onLoaded(t *Task) Step {
	t.stage = loading
	if x.loadPages(t) {
		return Waiting
	}
	t.stage = loaded
	switch {
	// The piece of a last agent must not lock anything before its votes are in, nor a reader register before the
	// notices of other shards; their callers decide when to proceed. They also handle unreadable keys.
	case t.Kind >= Decide:
		return Loaded
	case t.Err != nil:
		return t.refuse(msg.FailureOf(t.Err))
	case t.Kind == Optimistic:
		return x.ReadRanges(t)
	default:
		return x.Acquire(t)
	}
}

// Acquire requests the locks of a task.
//
// Called once for most pieces; again for a piece that was held, that waited for pages, or whose execution has found
// locks to be missing. Locks that it holds already are not requested again.
func (x *Executor) Acquire(t *Task) Step {
	t.stage = waiting
	x.completeRequest(t)
	// Planned as late as possible: the fewer transactions commit between plan and execution, the fewer plans are wrong.
	x.planner.planLocks(t)
	switch x.Locks.Acquire(x.Env.Now, &t.Request) {
	case locktable.Granted:
		return x.Granted(t)
	case locktable.Waiting:
		x.planner.planned = nil // values may change while it waits
		return Waiting
	// Rejections by the lock table have left no state: the request is not queued, and holds nothing.
	case locktable.QueueFull:
		t.overflow = true
		return t.refuse(x.Limits.queueFullFailure(nil))
	case locktable.ShareExhausted:
		return t.refuse(x.Limits.shareFailure(t))
	case locktable.KeyQueueFull:
		// The receipt of the rejected request names the key whose queue is full.
		_, key, _ := t.Request.Waited()
		t.overflow = true
		return t.refuse(x.Limits.queueFullFailure(key))
	}
	return t.refuse(woundFailure(&t.Request))
}

// Granted advances a task that holds its locks; the piece of a last agent without ranges holds them for this
// step only. Ranges are read next, under their locks.
//
// HAZARD: the task may have been planned long ago. Values may have changed while it waited, so Run plans again and
// may request further locks; the caller must be prepared for another Waiting.
func (x *Executor) Granted(t *Task) Step {
	waited, key, holder := t.Request.Waited()
	if waited > 0 {
		x.stats.LockWait.Add(waited)
		x.Heat.RecordWait(key, hotshard.LockWait, holder, waited)
	}
	return x.ReadRanges(t)
}

// Drop ends a task: it dereferences the keys and cancels the waits. Locks that were granted remain with the
// transaction. A nil task is ignored.
//
// Reads of the log that are in flight for several tasks continue; a read for this task alone is cancelled
// (store.Dereference). A task that has read ranges or waited for pages may still be referred to by such a read:
// its memory must not be reused (Task.Shared).
func (x *Executor) Drop(t *Task) {
	if t == nil {
		return
	}
	t.stage = done
	x.cancelRangeReads(t)
	x.Locks.Cancel(&t.Request)
	for _, it := range t.items {
		x.Store.Dereference(it)
	}
	// The end of a rejected task is no progress: it would make the completion rate, and so the retry time, look
	// better the more tasks are rejected.
	if !t.overflow {
		x.Limits.RecordEnd(t.items)
	}
	t.items = nil
}

// Wound records that the transaction of a task is wounded. If the task waits for locks, it is rejected.
//
// Example. T has two pieces here: one waits for a lock, the other for a key to be read. The wound rejects the
// first. The second continues, and is rejected only if its locks are not free when the key has arrived.
func (x *Executor) Wound(t *Task) Step {
	if t == nil {
		return Waiting
	}
	t.Request.NoWait = true
	// A task that does not wait for locks continues. With NoWait set, its next lock request is granted or
	// aborts.
	if !x.Locks.AbortWaiter(x.Env.Now, &t.Request) {
		return Waiting
	}
	lost, key, holder := t.Request.Waited()
	if key != nil {
		x.Heat.RecordWait(key, hotshard.Retry, holder, lost)
	}
	return t.refuse(woundFailure(&t.Request))
}

// Hold suspends a task that waits for readers to leave or for votes. Its new locks are released, and the rows
// read under them are discarded: a held task keeps nothing locked. Acquire resumes it.
//
// Example. The piece of a last agent has a range. It locks the range and reads it; meanwhile a reader registers
// for a key that the piece changes. The piece must not wait for the reader with the range locked, which would
// block all writers of the range for that time: it releases the range, and locks and reads it again later.
func (x *Executor) Hold(t *Task) {
	// Locks that the transaction held before, by an earlier request, stay: its client relies on them.
	x.Locks.ReleaseNew(&t.Request)
	t.rows = nil
	t.loads.generation++ // ignore the reads in flight
	x.cancelRangeReads(t)
	t.stage = held
}

// Unready returns a task that has advanced beyond its keys to the state Loaded, where it waits for votes: a
// vote that it relied on does not count any more.
//
// Example. All votes are in, and the piece waits for a lock. A participant unseals for a reader, so its vote is
// withdrawn. The piece must not be granted the lock before the participant votes again.
func (x *Executor) Unready(t *Task) {
	x.Locks.Cancel(&t.Request)
	x.Hold(t)
	t.stage, t.loads.missing = loaded, 0
}

// woundFailure is the failure of a wounded transaction that would have to wait. Its gateway knows which
// transaction wounded it.
func woundFailure(r *locktable.Request) *msg.Failure {
	_, key, holder := r.Waited()
	f := &msg.Failure{Reason: msg.ReasonWounded, Kind: uint32(kv.KindAborted), Key: key,
		Text: "an older transaction waited for a lock of this one"}
	if !holder.IsZero() {
		f.Text += ", and this one had to wait for " + holder.String()
	}
	return f
}

// Receipt describes the longest wait of a task for locks. A wait that still lasts takes precedence.
// Without a wait the receipt is empty.
func (x *Executor) Receipt(t *Task) msg.Receipt {
	waited, _, _ := t.Request.Waited()
	if waited > 0 || t.Request.Waiting() {
		return x.Locks.Receipt(x.Env.Now, &t.Request)
	}
	return msg.Receipt{}
}
