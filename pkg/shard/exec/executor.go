package exec

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/shard/expiry"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
)

// Config bounds the pieces of a shard.
type Config struct {
	// MaxKeyPins is how many transactions may hold one key in memory; one more that is new is
	// refused.
	MaxKeyPins int
	// Sharing says what commutativity is used for.
	Sharing Sharing
}

// Parts are those of the shard that an executor works with.
type Parts struct {
	Env    *step.Env
	Store  *store.Store
	Locks  *locktable.Table
	Heat   *contention.Part
	Expiry *expiry.Deadlines
}

// Stats are an executor's counters; they only rise.
type Stats struct {
	// LockWait is the time that requests waited for locks.
	LockWait step.Duration
	// Replanned counts pieces that turned out to need other locks than they had been given, by
	// what their keys held. Planned counts plans of calls, made for lock sets and in executions.
	Replanned, Planned uint64
	// Crowded counts refusals because of one key, NoRoom those for want of free space.
	Crowded, NoRoom uint64
}

// Executor executes the pieces of one shard.
type Executor struct {
	Parts
	cfg   Config
	stats Stats
	room  room
	// crowds are the keys for which something was refused.
	crowds crowds
	// ranged are tasks whose last range was read in answer to a read of the log.
	ranged []*Task

	// version names writes. effects is room for those of a decision, modes for those of one
	// operation.
	version mvcc.Versions
	effects []entry.Effect
	modes   []adt.Mode
	// plans are those of the task planned, which is about to be executed, nil if there is none.
	// earlier is room of planLocks.
	plans   mvcc.Plans
	planned *Task
	earlier map[string]earlier
	view    view
	calls   calls
	// first is what a task has found at its keys when it planned first, for a mutant.
	first map[*Task]map[string]entry.Value
}

// New makes a shard's executor.
func New(p Parts, cfg Config) *Executor {
	x := &Executor{Parts: p, cfg: cfg, version: p.Store.NextVersion}
	x.view.x = x
	x.calls.init(x)
	return x
}

// Stats gives the counters. The samples of LockWait are the caller's to take.
func (x *Executor) Stats() *Stats { return &x.stats }

// Begin pins the keys of a task and asks for those that are not in memory.
func (x *Executor) Begin(t *Task) Step {
	f := x.noRoom(t)
	if f == nil {
		f = x.crowded(t)
	}
	if f != nil {
		t.overflow = true
		return t.fail(f)
	}
	t.plans = x.cfg.Sharing.Locks == AbstractLocks && t.plansLocks()
	var needs []locktable.Need
	needs, t.ranges = x.fixedLocks(t)
	t.Request = locktable.Request{Txn: t.Txn, Begun: t.Request.Begun, User: t.User, Needs: needs, Tag: t, NoWait: t.NoWait,
		Lasting: t.Request.Lasting, Instant: t.Kind == Decide && !t.ranges}
	t.items = t.usual.item[:0]
	n := len(t.Ops) + len(t.Seen)
	if n > 1 {
		t.items = make([]*mvcc.Item, 0, n)
	}
	for i := range t.Ops {
		if t.Ops[i].Span().IsPoint() {
			x.load(t, t.Ops[i].Key)
		}
	}
	for i := range t.Seen {
		if t.Seen[i].Digest == 0 {
			x.load(t, t.Seen[i].Key)
		}
	}
	if t.loads.missing > 0 {
		return Waiting
	}
	return x.loaded(t)
}

func (x *Executor) load(t *Task, key []byte) {
	it := x.Store.Pin(key)
	t.items = append(t.items, it)
	if !it.Loaded {
		t.loads.missing++
		x.Store.Await(it, t)
	}
}

// Woken takes a key, or pages, that a task has waited for.
func (x *Executor) Woken(w *store.Wake) (*Task, Step) {
	p, isPage := w.Waiter.(pageWaiter)
	if isPage {
		return p.task, x.pagesRead(p, w.Err)
	}
	t := w.Waiter.(*Task)
	if w.Err != nil {
		t.Err = w.Err
	}
	t.loads.missing--
	if t.loads.missing > 0 || t.stage != loading {
		return t, Waiting
	}
	return t, x.loaded(t)
}

// Waits reports whether a waiter of the store is a task's.
func Waits(waiter any) bool {
	switch waiter.(type) {
	case *Task, pageWaiter:
		return true
	}
	return false
}

// Next hands out a task whose ranges were read since, nil if there is none. It is Ready.
func (x *Executor) Next() *Task {
	for len(x.ranged) > 0 {
		t := x.ranged[0]
		x.ranged[0] = nil
		x.ranged = x.ranged[1:]
		if t.stage == ranging && t.loads.missing == 0 {
			return t
		}
	}
	x.ranged = nil
	return nil
}

// loaded: all point keys are in memory, or cannot be read.
func (x *Executor) loaded(t *Task) Step {
	t.stage = loading
	if x.preload(t) {
		return Waiting
	}
	t.stage = loaded
	switch {
	case t.Kind >= Decide:
		return Loaded
	case t.Err != nil:
		return t.fail(msg.FailureOf(t.Err))
	case t.Kind == Optimistic:
		return x.ReadRanges(t)
	default:
		return x.Acquire(t)
	}
}

// Acquire asks for the locks of a task.
func (x *Executor) Acquire(t *Task) Step {
	t.stage = waiting
	if x.Env.Mutants.Has(mutant.RangeLocksPresentOnly) {
		t.Request.Absent = x.absent
	}
	t.Request.Admitted = t.mustBeAdmitted()
	x.planLocks(t)
	if t.Kind == Decide && x.Env.Mutants.Has(mutant.HotLocksIgnored) {
		return x.Granted(t)
	}
	switch x.Locks.Acquire(x.Env.Now, &t.Request) {
	case locktable.Granted:
		return x.Granted(t)
	case locktable.Waiting:
		x.planned = nil // values may change while it waits
		return Waiting
	case locktable.Full:
		t.overflow = true
		return t.fail(x.queueFull(nil))
	case locktable.Overdrawn:
		return t.fail(x.overdrawn(t))
	case locktable.Crowded:
		_, key, _ := t.Request.Waited()
		t.overflow = true
		return t.fail(x.queueFull(key))
	}
	return t.fail(wounded(&t.Request))
}

// absent reports whether a key is known not to exist, for a mutant.
func (x *Executor) absent(key []byte) bool {
	it := x.Store.Get(key)
	return it != nil && it.Loaded && !it.Value.Exists()
}

// Granted: the locks are held, or, for a piece that is decided here and has no ranges, could be.
// Ranges are read under them.
func (x *Executor) Granted(t *Task) Step {
	waited, key, holder := t.Request.Waited()
	if waited > 0 {
		x.stats.LockWait.Add(waited)
		x.Heat.Waited(key, hotshard.LockWait, holder, waited)
	}
	return x.ReadRanges(t)
}

// Drop ends a task: its items are unpinned and its waits end. Locks that it was granted stay
// with its transaction. A nil task is none.
func (x *Executor) Drop(t *Task) {
	if t == nil {
		return
	}
	t.stage = done
	x.dropReads(t)
	x.Locks.Cancel(&t.Request)
	for _, it := range t.items {
		x.Store.Unpin(it)
	}
	if !t.overflow {
		x.Eased(t.items)
	}
	t.items = nil
	delete(x.first, t)
}

// Wound tells a task that its transaction is wounded: if it waits for locks it dies.
func (x *Executor) Wound(t *Task) Step {
	if t == nil {
		return Waiting
	}
	t.Request.NoWait = true
	if !x.Locks.Doom(x.Env.Now, &t.Request) {
		return Waiting
	}
	lost, key, holder := t.Request.Waited()
	if key != nil {
		x.Heat.Waited(key, hotshard.Retry, holder, lost)
	}
	return t.fail(wounded(&t.Request))
}

// Hold puts a task aside that is to wait outside, for readers to leave or for votes: it gives
// back the locks that it took, and what it read under them. Acquire takes it up again.
func (x *Executor) Hold(t *Task) {
	x.Locks.GiveBack(&t.Request)
	t.rows = nil
	t.loads.round++ // reads under way are for nothing
	x.dropReads(t)
	t.stage = held
}

// Unready has a task that was on its way to its locks wait for votes again.
func (x *Executor) Unready(t *Task) {
	x.Locks.Cancel(&t.Request)
	x.Hold(t)
	t.stage, t.loads.missing = loaded, 0
}

// wounded is the failure of a task whose transaction is wounded and that would have to wait. Its
// gateway knows the wounding transaction.
func wounded(r *locktable.Request) *msg.Failure {
	_, key, holder := r.Waited()
	f := &msg.Failure{Reason: msg.ReasonWounded, Kind: uint32(kv.KindAborted), Key: key,
		Text: "an older transaction waited for a lock of this one"}
	if !holder.IsZero() {
		f.Text += ", and this one had to wait for " + holder.String()
	}
	return f
}

// Receipt is the task's longest wait for locks. A wait that lasts goes before those that are over.
func (x *Executor) Receipt(t *Task) msg.Receipt {
	waited, _, _ := t.Request.Waited()
	if waited > 0 || t.Request.Waiting() {
		return x.Locks.Receipt(x.Env.Now, &t.Request)
	}
	return msg.Receipt{}
}
