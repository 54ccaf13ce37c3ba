package shard

import (
	"errors"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
	"github.com/linchpindb/linchpin/pkg/txn/lock"
	"github.com/linchpindb/linchpin/pkg/txn/record"
)

type taskKind uint8

const (
	taskLock taskKind = iota
	taskOptimistic
	taskPrepare
	taskPark
	taskRead
)

type stage uint8

const (
	stageLoading stage = iota
	stageLoaded
	stageWaiting
	stageRanging
	// stageHeld: a parked piece waits for readers to leave.
	stageHeld
	// stagePaging: it waits for pages that executing it has shown to be absent.
	stagePaging
	stageDone
)

func (s stage) String() string {
	return [...]string{"loading", "loaded", "waiting", "ranging", "held", "paging", "done"}[s]
}

// task executes the operations that a transaction sent to this shard.
type task struct {
	kind  taskKind
	stage stage
	// admitted: it must not be refused for what others do (crowd.go). refused: it
	// was too much itself, so that its end is no sign of progress.
	admitted, refused bool
	txn               kv.TxnRef
	gateway           kv.NodeID
	ops               []msg.Op
	seen              []msg.Seen
	req               lock.Request
	// pins are the items of the point operations and of seen.
	pins []*mvcc.Item
	// missing counts the cold reads that are under way for it.
	missing int
	rows    map[uint32]mvcc.RangeRows
	scans   scans
	ranges  bool
	// noWait: the transaction was marked before the task began.
	noWait bool
	// round tells reads of ranges from those of an earlier try.
	round int
	// err is a failed cold read.
	err error
	// paging: it has asked for pages, so that somebody may still know of it when it
	// has ended.
	paging bool

	// m is the machine, once the task executes.
	m *Machine

	lock    *msg.Lock
	read    *msg.Read
	entered snapshotqueue.Read
	// held is the longest time that readers held the piece, nil for never.
	held    *snapshotqueue.Freed
	prepare *msg.Prepare
	rec     *record.Record

	// oneNeed and onePin are room for the usual case.
	oneNeed [1]lock.Need
	// more are locks that executing it showed it to need.
	more []lock.Need
	// first is what it found at its keys when it looked first, for a mutant.
	first map[string]entry.Value
	// plans: what it needs depends on what keys hold.
	plans bool
	// parked is what a parked piece's task is a part of.
	parked *parked
	onePin [1]*mvcc.Item
}

// needsOf lists the locks that a task needs whatever its keys hold, in room if
// that is enough. Of one that plans, replan does so; there is only the room.
func (m *Machine) needsOf(t *task) (needs []lock.Need, ranges bool) {
	needs = t.oneNeed[:0]
	if n := len(t.ops) + len(t.seen); n > cap(needs) {
		needs = make([]lock.Need, 0, n)
	}
	for i := range t.ops {
		op := &t.ops[i]
		switch {
		case t.plans:
			ranges = ranges || op.IsRange()
		case op.IsCall():
			needs = m.callNeeds(needs, op)
		default:
			var ranged bool
			needs, ranged = m.opNeeds(needs, op)
			ranges = ranges || ranged
		}
	}
	if t.plans {
		return needs, ranges
	}
	return lock.Normalize(seenNeeds(needs, t.seen)), ranges
}

// seenNeeds adds the locks of optimistic reads.
func seenNeeds(needs []lock.Need, seen []msg.Seen) []lock.Need {
	for i := range seen {
		needs = append(needs, lock.Need{Span: kv.Point(seen[i].Key), Mode: adt.ModeRead, Methods: adt.MethodGet.Set()})
	}
	return needs
}

// begin pins what the task works on and asks for what is not in memory.
func (m *Machine) begin(t *task) {
	f := m.noRoom(t)
	if f == nil {
		f = m.crowded(t)
	}
	if f != nil {
		t.refused = true
		m.refuse(t, f)
		return
	}
	t.plans = m.cfg.Sharing.Locks == AbstractLocks && t.plansLocks()
	needs, ranges := m.needsOf(t)
	t.ranges = ranges
	t.req = lock.Request{Txn: t.txn, Needs: needs, Tag: t, NoWait: t.noWait, Instant: t.kind == taskPark && !ranges}
	t.pins = t.onePin[:0]
	if n := len(t.ops) + len(t.seen); n > 1 {
		t.pins = make([]*mvcc.Item, 0, n)
	}
	for i := range t.ops {
		if t.ops[i].Span().IsPoint() {
			m.load(t, t.ops[i].Key)
		}
	}
	for i := range t.seen {
		m.load(t, t.seen[i].Key)
	}
	if t.missing == 0 {
		m.loaded(t)
	}
}

func (m *Machine) load(t *task, key []byte) {
	it := m.store.Pin(key)
	t.pins = append(t.pins, it)
	if !it.Loaded {
		t.missing++
		m.await(it, t)
	}
}

// await has waiter told when the item is loaded, and asks for it if nobody
// has yet.
func (m *Machine) await(it *mvcc.Item, waiter any) {
	it.Waiting = append(it.Waiting, waiter)
	if it.Loading == 0 {
		m.store.Pin(it.Key)
		it.Loading = m.ask(entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: it.Key}, &coldRead{item: it})
	}
}

// loaded: all point keys are in memory, or cannot be read.
func (m *Machine) loaded(t *task) {
	if t.stage = stageLoading; m.preload(t) {
		return
	}
	t.stage = stageLoaded
	switch {
	case t.kind == taskPark && !t.rec.Park.Snapshot:
		m.tryDecide(t.rec)
	case t.kind == taskPark, t.kind == taskRead:
		// Perhaps a transaction is just being shown, key by key, and a reader
		// has no lock to keep it from seeing a half of that.
		m.loadedReads = append(m.loadedReads, t)
	case t.err != nil:
		m.refuse(t, failureOf(t.err))
	case t.kind == taskOptimistic:
		m.run(t)
	default:
		m.acquire(t)
	}
}

// acquire asks for the locks; a parked piece does so when it is ready.
func (m *Machine) acquire(t *task) {
	t.stage = stageWaiting
	if m.cfg.Mutants.Has(mutant.RangeLocksPresentOnly) {
		t.req.Absent = m.absent
	}
	t.req.Admitted = t.mayNotBeRefused()
	m.replan(t)
	if t.kind == taskPark && m.cfg.Mutants.Has(mutant.HotLocksIgnored) {
		m.granted(t)
		return
	}
	switch m.locks.Acquire(m.now, &t.req) {
	case lock.Granted:
		m.granted(t)
	case lock.Waiting:
		m.plansOf = nil // much may happen meanwhile
	case lock.Died:
		m.refuse(t, wounded(&t.req))
	case lock.Full:
		t.refused = true
		m.refuse(t, m.queueFull(nil))
	case lock.Crowded:
		_, key, _ := t.req.Waited()
		t.refused = true
		m.refuse(t, m.queueFull(key))
	}
}

// absent reports whether a key is known not to exist, for a mutant.
func (m *Machine) absent(key []byte) bool {
	it := m.store.Get(key)
	return it != nil && it.Loaded && !it.Value.Exists()
}

// granted: the locks are held (a parked piece without ranges: could be). Now
// ranges can be read; nobody changes them any more.
func (m *Machine) granted(t *task) {
	if waited, key, holder := t.req.Waited(); waited > 0 {
		m.stats.LockWait.add(waited)
		m.waited(key, hotshard.LockWait, holder, waited)
	}
	m.readRanges(t)
}

// run: everything that the task needs is there.
func (m *Machine) run(t *task) {
	t.stage = stageDone
	if t.kind == taskRead {
		m.replyRead(t)
		return
	}
	if t.err != nil {
		m.refuse(t, failureOf(t.err))
		return
	}
	switch t.kind {
	case taskLock, taskOptimistic:
		m.replyLock(t)
	case taskPrepare:
		m.prepareNow(t)
	case taskPark:
		m.decideNow(t)
	}
}

// refuse ends a task that cannot go on.
func (m *Machine) refuse(t *task, f *msg.Failure) {
	switch t.kind {
	case taskLock, taskOptimistic:
		m.refuseLock(t, f)
	case taskPrepare:
		m.voteNo(t, f)
	case taskPark:
		m.abort(t.rec, f)
	}
}

// drop ends a task: what it pinned and waits for is given back. Its locks
// stay with its attempt.
func (m *Machine) drop(t *task) {
	if t == nil {
		return
	}
	t.stage = stageDone
	m.locks.Cancel(&t.req)
	if t.entered.Tag != nil {
		m.queue.Done(m.now, &t.entered)
		t.entered.Tag = nil
	}
	for _, it := range t.pins {
		m.store.Unpin(it)
	}
	if !t.refused {
		m.eased(t.pins)
	}
	t.pins = nil
}

// doom tells a task that its transaction is marked: where it waits, it dies.
func (m *Machine) doom(t *task) {
	if t == nil {
		return
	}
	t.req.NoWait = true
	if m.locks.Doom(m.now, &t.req) {
		if lost, key, holder := t.req.Waited(); key != nil {
			m.waited(key, hotshard.Retry, holder, lost)
		}
		m.refuse(t, wounded(&t.req))
	}
}

func failureOf(err error) *msg.Failure {
	f := &msg.Failure{Reason: msg.ReasonRequest, Kind: uint32(kv.KindOf(err)), Text: err.Error()}
	if e := (*kv.Error)(nil); errors.As(err, &e) {
		f.Text, f.Key, f.Hint = e.Text, e.Key, e.Hint
	}
	return f
}

func failure(r msg.Reason, k kv.Kind, text string) *msg.Failure {
	return &msg.Failure{Reason: r, Kind: uint32(k), Text: text}
}

// exec runs the task's operations.
func (m *Machine) exec(t *task) mvcc.Execution {
	t.m = m
	var room []entry.Effect
	if t.kind == taskPark {
		// Nothing of a decision's effects outlives it. While it lasts the room
		// is its own: showing an effect may lead to another decision.
		room, m.effects = m.effects, nil
	}
	x := mvcc.ExecInto(room, (*view)(t), t.ops, m.version)
	m.stats.Planned += uint64(x.Plans)
	m.seeing.task, m.plansOf = nil, nil
	return x
}

// hold pins the item of an effect and makes sure that what the effect needs of
// it is known: a key that came out of a range read may not be in memory yet.
// The range tells of some only that they exist, which is enough to delete them
// at once; a promise to do so waits for the rest, when it is decided.
func (m *Machine) hold(t *task, e *entry.Effect, promise *prepared) *mvcc.Item {
	it := m.store.Pin(e.Key)
	if it.Loaded {
		return it
	}
	for i := range t.ops {
		for _, row := range t.rows[t.ops[i].Seq].Rows {
			switch {
			case string(row.Key) != string(e.Key):
				continue
			case !row.Partial:
				m.tell(m.store.Install(it, mvcc.Found{Value: row.Value, Index: row.Index}, false))
			case promise != nil:
				m.await(it, promise)
			default:
				it.Value, it.Index = row.Value, row.Index // until it is shown
				if row.Paged {
					m.garbage.Unknown()
				}
			}
			return it
		}
	}
	panic("shard: an effect on a key that was neither loaded nor read")
}
