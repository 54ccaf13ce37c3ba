package shard

import (
	"cmp"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/agent"
	"github.com/linchpindb/linchpin/pkg/shard/attempt"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/expiry"
	"github.com/linchpindb/linchpin/pkg/shard/interactive"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/shard/past"
	"github.com/linchpindb/linchpin/pkg/shard/readers"
	"github.com/linchpindb/linchpin/pkg/shard/record"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
	"github.com/linchpindb/linchpin/pkg/shard/timeofday"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// Input is the input of a step.
type Input struct {
	// Now is monotonic, in nanoseconds; only differences have a meaning.
	Now int64
	// Wall is the time of day, in nanoseconds since 1970. It may jump in both directions.
	Wall int64
	// IDTime is the time of day by which outcomes are deleted (package outcome), in nanoseconds
	// since 1970; 0 for Wall. New ids should be near it.
	IDTime int64
	// Peers is how Wall compares with the time of day of the other nodes.
	Peers    timeofday.Peers
	Messages []*msg.Envelope
	Reads    []entry.ReadResult
	// Busy is the share of the time in which the shard has executed steps recently, 0 if not
	// measured.
	Busy float64
	// Disk is how much free space the disk has (package exec).
	Disk Disk
	// DiskText describes the disk and its free space, for errors; may be empty.
	DiskText string
	// LeaseEnd is when the lease of the leader ends, by Now; 0 for a shard with one replica. A registration of a
	// reader is not valid for longer (R14.1).
	LeaseEnd int64
	// Transferring: the leader is about to transfer leadership, and grants no new locks to interactive transactions
	// (R14.3). Machine.HasLockHolders reports whether some are left.
	Transferring bool
	// ReadersWithheld: reads that register readers are ignored until then as well, except those of snapshot rounds, which
	// open readers need to end.
	ReadersWithheld bool
	// Buffers is an earlier output that is not needed any more: its slices are reused. May be empty.
	Buffers Output
}

// Output is the output of a step.
type Output = step.Output

// Machine is a shard. It is not for concurrent use.
type Machine struct {
	*step.Env
	cfg Config

	store     *store.Store
	locks     *locktable.Table
	queue     *snapshotqueue.Queue
	exec      *exec.Executor
	outcomes  *outcome.Outcomes
	records   *record.Table
	attempts  *attempt.Table
	open      *interactive.Requests
	part      *agent.Participant
	last      *agent.LastAgent
	readers   *readers.Readers
	snapshots *past.Snapshots
	past      *past.Reads
	heat      *contention.Part
	clock     *timeofday.Clock
	expiry    *expiry.Deadlines

	// row is the state row. Its CSN and write number are ahead of the current ones, so it need not
	// be written with every commit. dirty: it must be written for another reason.
	row   entry.State
	dirty bool
	// lastLease is the lease duration of the previous incarnation.
	lastLease int64
	// housekeepingAt is when the next housekeeping is due.
	housekeepingAt int64
	// finishedAtRaise is finishedCount when the low watermark of ids was last raised.
	finishedAtRaise uint64
	messages        uint64
}

// New returns a shard in a new incarnation, from what its log contains. The output must be handled
// like that of a step: its entries make the incarnation durable before any message is sent. New panics if
// the incarnation is not above that of the recovered state.
func New(cfg Config, rec Recovered, now, wall int64) (*Machine, Output) {
	cfg = cfg.withDefaults()
	if rec.Replica != nil {
		// The CSN in the row is ahead by a reserve, and that of a leader is exact: its followers have the same.
		rec.State.CSN = rec.Replica.CSN
	}
	inc := cmp.Or(rec.Incarnation, rec.State.Incarnation+1)
	if inc <= rec.State.Incarnation {
		panic(fmt.Sprintf("shard: incarnation %d of %v is not above %d", inc, cfg.ID, rec.State.Incarnation))
	}
	e := &step.Env{ID: cfg.ID, Inc: inc, Now: now, Wall: wall, Mutants: cfg.Mutants, Trace: cfg.Trace,
		SteadyNanos: cfg.steadyNanos(rec.Replica)}
	m := &Machine{
		Env: e, cfg: cfg, dirty: true, housekeepingAt: now + int64(housekeepingEvery), lastLease: leaseOf(&rec.State, cfg),
		locks:   locktable.New(cfg.lockOptions()),
		queue:   snapshotqueue.New(queueOptions(cfg, inc, now, &rec)),
		records: record.NewTable(cfg.Mutants), attempts: attempt.NewTable(),
	}
	m.store = store.New(e, cfg.storeConfig(now, &rec), &rec.State)
	m.outcomes = outcome.New(e, m.store, outcome.Config{Memory: cfg.Memory, Retention: cfg.Retention, Nodes: cfg.Nodes},
		&rec.State, rec.Fences)
	m.snapshots = past.NewSnapshots(e, m.store, cfg.snapshotConfig(), rec.Snapshots, rec.State.Writes)
	m.clock = timeofday.New(e, timeofday.Config{Settle: cfg.Retention, Trusted: cfg.TrustClock}, &rec.State)
	m.expiry = expiry.New(e, m.store, m.clock, expiry.Config{Node: cfg.Node, Every: cfg.ExpiryInterval,
		RetryAfter: cfg.ExpiryRetry},
		rec.State.CSN > 0)
	m.heat = contention.New(e, cfg.Heat, m.contentionView(), contention.Recovered{Moved: rec.Moved, Rules: rec.Rules})
	m.past = past.NewReads(e, m.store, m.heat, m.expiry, m.snapshots)
	m.exec = exec.New(exec.Parts{Env: e, Store: m.store, Locks: m.locks, Heat: m.heat, Expiry: m.expiry},
		exec.Config{MaxKeyReferences: cfg.MaxKeyReferences, Sharing: cfg.Sharing})
	m.open = &interactive.Requests{Env: e, Store: m.store, Locks: m.locks, Queue: m.queue, Exec: m.exec,
		Outcomes: m.outcomes, Attempts: m.attempts, Ended: new(outcome.Ended)}
	m.open.Ended.Init(now, cfg.Memory)
	m.part, m.last = agent.New(agent.Parts{Requests: m.open, Heat: m.heat, Expiry: m.expiry, Records: m.records},
		agent.Config{Repeat: cfg.Repeat, Liveness: cfg.Liveness, FixedUnseal: cfg.UnsealAfter != 0})
	m.readers = readers.New(readers.Parts{Env: e, Store: m.store, Queue: m.queue, Exec: m.exec, Heat: m.heat,
		Part: m.part, Last: m.last},
		readers.Config{Lease: cfg.Lease, Left: cfg.Memory, Gateway: cfg.Gateway})
	for i := range rec.Records {
		m.last.Recover(&rec.Records[i])
	}
	for i := range rec.Prepared {
		m.part.Recover(rec.Prepared[i])
	}
	// The keys with intents are read already.
	if rec.Replica != nil {
		store.Prefetch(m.store, m.heat.KnownHotKeys())
	}
	return m, m.finishStep()
}

// queueOptions makes a new incarnation wait for the registered readers of earlier ones: until their
// leases end, if that is known, else for the lease duration in the state row, which may differ from
// the configured one. It does not wait after a clean shutdown without readers. The leader of a shard with
// several replicas waits for as long as the leader before it has stated (Replica.Wait).
//
// History that makes it necessary: a reader registers, reads x and is still reading; the shard
// crashes and restarts; an update of x and y commits at once; the reader reads the new y. It has
// seen half of the update, and its lease is still valid.
func queueOptions(cfg Config, inc kv.Incarnation, now int64, rec *Recovered) snapshotqueue.Options {
	o := snapshotqueue.Options{Incarnation: inc, Repeat: cfg.Repeat, UnsealAfter: cfg.UnsealAfter,
		CloseAfter: cfg.HoldBound, Mutants: cfg.Mutants}
	// No registration outlasts the lease of the leader that has granted it (R4.3).
	if rec.Replica != nil {
		o.SealFrom = rec.Replica.Wait
		return o
	}
	lease := leaseOf(&rec.State, cfg)
	if rec.State.Incarnation == 0 || lease <= 0 || rec.State.CleanShutdown {
		return o
	}
	o.SealFrom = now + lease
	if rec.Leases.Known {
		o.SealFrom = min(o.SealFrom, cfg.leasesEnd(rec.Leases.Until))
	}
	return o
}

// LeaseHorizon returns when the last lease of a registered reader ends that this incarnation or an
// earlier one has granted, except those of readers that end with this process; a time in the past
// for none. The caller stores it where it survives the process, before the output of the step leaves
// the node. An incarnation that gets it (Recovered.Leases) waits no longer than until then.
func (m *Machine) LeaseHorizon() int64 { return m.queue.LeaseHorizon() }

// leaseOf returns the lease duration of the incarnation that wrote a state row. A row of an older
// format does not contain it; then it was the default or is the configured one, whichever is longer.
func leaseOf(last *entry.State, cfg Config) int64 {
	if last.LeaseNanos == 0 {
		return max(int64(cfg.Lease), int64(kv.DefaultLease))
	}
	return last.LeaseNanos
}

// lease is the lease duration in the state row. While readers of the previous incarnation may be
// registered, their lease counts as well.
func (m *Machine) lease() int64 {
	own := max(int64(m.cfg.Lease), -1)
	if m.Now < m.queue.SealFrom() {
		return max(own, m.lastLease)
	}
	return own
}

// ID returns the name of the shard.
func (m *Machine) ID() kv.ShardID { return m.cfg.ID }

// Incarnation returns the current incarnation.
func (m *Machine) Incarnation() kv.Incarnation { return m.Inc }

// CSN returns the current commit sequence number: how many transactions have become visible, plus
// the numbers that restarts have skipped.
func (m *Machine) CSN() kv.CSN { return m.store.CSN() }

// IDOffset returns a time, minus Now, that new ids must not be far behind, since the low watermark
// is about to rise by it, or has; false for none.
func (m *Machine) IDOffset() (int64, bool) { return m.outcomes.Offset() }

// ExpirySuspended returns why keys that earlier incarnations wrote with a time to live are not
// deleted now; timeofday.None if they are.
func (m *Machine) ExpirySuspended() timeofday.Doubt { return m.expiry.Suspended() }

// Step handles all input and returns the output. Each message is handled completely before the next
// one, so that the result depends on their order only.
//
// If a message names a later incarnation, this leader is deposed: it handles nothing, and the output has only Deposed.
func (m *Machine) Step(in Input) Output {
	if later := m.laterIncarnation(&in); later != 0 {
		return Output{Deposed: later, Next: step.Never}
	}
	m.Now, m.Wall, m.LeaseEnd = max(m.Now, in.Now), in.Wall, in.LeaseEnd
	if in.IDTime == 0 {
		in.IDTime = in.Wall
	}
	m.outcomes.Observe(in.IDTime)
	m.Steps++
	m.heat.SetBusy(in.Busy)
	m.exec.Limits.SetSpace(in.Disk, in.DiskText)
	m.Log.Reset(in.Buffers.Entries)
	m.Out.Send = in.Buffers.Send[:0]
	if m.clock.Observe(in.Peers) {
		m.expiry.ClockChanged()
	}
	m.snapshots.Observe(m.clock.Contradicted() != timeofday.None)
	m.open.SetTransferring(in.Transferring)
	m.readers.Withheld = in.ReadersWithheld
	for i := range in.Reads {
		m.store.OnReadResult(&in.Reads[i])
		m.runLoaded()
	}
	for _, x := range in.Messages {
		m.messages++
		m.receive(x)
		m.runReady()
	}
	m.runReady()
	m.tick()
	m.runReady()
	return m.finishStep()
}

// receive passes a message to the part that handles it.
func (m *Machine) receive(x *msg.Envelope) {
	switch b := x.Body.(type) {
	case *msg.CommitRequest:
		if b.Snapshot {
			m.readers.OnSnapshot(b)
		} else {
			m.last.Receive(x)
		}
	case *msg.Read:
		switch {
		case !past.IsPast(b):
			m.readers.Receive(x)
		case !m.readers.HasLeft(b.Reader):
			m.past.OnRead(b)
		}
	case *msg.ReadPage:
		m.past.OnScan(b)
	case *msg.Deregister:
		m.past.OnDeregister(b.Reader)
		m.readers.Receive(x)
	case *msg.CancelRequest:
		if !m.readers.Cancel(b) {
			m.last.Receive(x)
		}
	default:
		_ = m.last.Receive(x) || m.part.Receive(x) || m.open.Receive(x) ||
			m.readers.Receive(x) || m.snapshots.Receive(x) || m.heat.Receive(x)
	}
	m.abortSuperseded()
}

// abortSuperseded aborts the other attempts of the transactions that were applied here. It runs
// before anything else is handled, so that no attempt of a committed id can prepare.
func (m *Machine) abortSuperseded() {
	for _, txn := range m.part.TakeApplied() {
		m.last.AbortSuperseded(txn)
	}
}

// continueTask passes a task to its part at the step that it has reached.
func (m *Machine) continueTask(t *exec.Task, s exec.Step) {
	switch t.Kind {
	case exec.Read, exec.Snapshot:
		m.readers.OnStep(t, s)
	case exec.Decide:
		m.last.OnStep(t, s)
	case exec.Prepare:
		m.part.OnStep(t, s)
	default:
		m.open.OnStep(t, s)
	}
}

// runLoaded continues the tasks, messages and prepared attempts for which keys, pages, rows or outcomes
// have arrived.
func (m *Machine) runLoaded() {
	for {
		t := m.exec.Next()
		if t != nil {
			m.continueTask(t, exec.Ready)
			continue
		}
		found, ok := m.outcomes.Next()
		if ok {
			_ = m.part.OnOutcome(&found) || m.last.OnOutcome(&found)
			continue
		}
		w, ok := m.store.Next()
		switch {
		case !ok:
			return
		case exec.IsWaiter(w.Waiter):
			m.continueTask(m.exec.OnWake(&w))
		default:
			m.part.OnLoaded(&w)
			m.abortSuperseded()
		}
	}
}

// runReady continues whatever can proceed: loaded tasks, granted locks, and what readers or
// decisions have released. Each may release others, so it repeats until nothing is left. Then it
// sends the wounds that result.
func (m *Machine) runReady() {
	for {
		m.runLoaded()
		m.runQueueChanges()
		// Loaded tasks run before new locks are granted: they hold theirs already.
		if m.store.HasWake() {
			continue
		}
		r := m.locks.Next(m.Now)
		if r == nil {
			break
		}
		t := r.Tag.(*exec.Task)
		m.continueTask(t, m.exec.Granted(t))
	}
	for _, w := range m.locks.TakeWounds() {
		m.part.SendWound(w)
	}
}

// runQueueChanges handles what has changed in the snapshot-queues.
func (m *Machine) runQueueChanges() {
	m.readers.Settle()
	for c := m.queue.Changes(); !c.Empty(); c = m.queue.Changes() {
		m.readers.OnQueueChanges(&c)
		for _, txn := range c.Sealed {
			m.part.OnSealed(txn)
		}
		for i := range c.Free {
			m.last.OnFreed(&c.Free[i])
		}
	}
}

// Shutdown ends the incarnation cleanly and returns its last entries. If no reader is registered,
// they record that, and the next incarnation need not wait for leases; otherwise there are none.
// Step must not be called again.
func (m *Machine) Shutdown() []entry.Entry {
	if m.mayHaveReaders() {
		return nil
	}
	return m.TransferEntries()
}

// RegisteredUntil returns when the last lease of a registered reader ends, by Input.Now; 0 if no reader is registered.
// A leader passes it on when it transfers leadership (R5.2).
func (m *Machine) RegisteredUntil() int64 { return m.queue.RegisteredUntil() }

// HasOpenReaders reports whether readers are registered here that a change of leader would abort at their next read.
func (m *Machine) HasOpenReaders() bool { return m.queue.HasOpenReaders() }

// HasLockHolders reports whether interactive transactions hold locks here that a change of leader would lose. Prepared
// ones keep theirs.
func (m *Machine) HasLockHolders() bool { return m.open.HasHolders() }

// TransferEntries returns the last entries of a leader that transfers leadership: they cut off the reserves of ids and
// of write numbers, as a clean shutdown does, so the next leader looks up no new id (R14.5). They are also there if
// readers are registered, whose time is the window of the transfer entry (R5.2). Step must not be called again.
func (m *Machine) TransferEntries() []entry.Entry {
	m.row.CSN, m.row.Writes, m.row.CleanShutdown = m.store.CSN(), m.store.Writes(), !m.mayHaveReaders()
	m.outcomes.FillClean(&m.row)
	m.clock.FillState(&m.row)
	m.Put(entry.TableState, nil, &m.row)
	return m.Log.Entries()
}

// finishStep completes the output of a step: outcomes and the state row are written last.
func (m *Machine) finishStep() Output {
	m.outcomes.Announce()
	m.store.EncodeDeferred()
	m.dirty = m.outcomes.Flush() || m.clock.Flush() || m.dirty
	if m.store.TakeMovesChanged() || m.dirty || m.lease() != m.row.LeaseNanos ||
		m.store.CSN() > m.row.CSN || m.store.Writes() > m.row.Writes {
		m.writeState()
	}
	out := m.Out
	out.Entries, out.Next = m.Log.Entries(), m.nextTick()
	m.Out, m.Log = Output{}, step.Log{}
	m.last.EndStep()
	m.readers.EndStep()
	return out
}

// writeState writes the state row, with a reserve of CSNs and write numbers.
func (m *Machine) writeState() {
	m.dirty = false
	m.row = entry.State{Incarnation: m.Inc, CSN: m.store.CSN() + stateReserve, Writes: m.store.Writes() + stateReserve,
		Moves: m.store.Moves(), LeaseNanos: m.lease()}
	m.outcomes.Fill(&m.row)
	m.clock.FillState(&m.row)
	m.Put(entry.TableState, nil, &m.row)
}

// stateReserve is how far the CSN and the write number in the state row are ahead: how many a
// restart skips. Somewhat arbitrary: the row then costs nothing, and 64 bits suffice for any number
// of restarts.
const stateReserve = 1000

const (
	// tickEvery is the least time between two searches for messages to repeat. Somewhat arbitrary: a
	// tenth of the first repeat interval.
	tickEvery = 5 * time.Millisecond
	// readersEvery is the same for readers and their waits. The timers of a node are coarser, but
	// under load steps are frequent.
	readersEvery      = agent.MinWait
	housekeepingEvery = time.Second
)

// nextTick returns when Step has something to do without input.
func (m *Machine) nextTick() int64 {
	next := min(m.part.Next(), m.last.Next(), m.locks.NextTick(), m.heat.Next(), m.snapshots.Next(), m.expiry.Next())
	if m.needsHousekeeping() {
		next = min(next, m.housekeepingAt)
	}
	next = max(next, m.Now+int64(tickEvery))
	return min(next, max(m.queue.NextTick(), m.Now+int64(readersEvery)))
}

// needsHousekeeping reports whether housekeeping has anything to do. An idle shard is not stepped.
func (m *Machine) needsHousekeeping() bool {
	return m.store.Collector.HasGarbage() || m.snapshots.CanExpire() || m.part.NeedsHousekeeping() ||
		m.records.Len() > 0 || m.store.Retention().Len() > 0 || m.readers.HasReaders() ||
		m.finishedCount() != m.finishedAtRaise
}

// finishedCount returns how many transactions have committed or were applied in this incarnation.
func (m *Machine) finishedCount() uint64 {
	s := m.last.Stats()
	return s.Committed + s.Applied
}

// tick handles everything that is due at this time.
func (m *Machine) tick() {
	m.store.Collector.Tick()
	if m.Now >= m.locks.NextTick() {
		for _, txn := range m.locks.Tick(m.Now) {
			m.part.SendPush(txn, true)
		}
		m.part.BreakOverdrawn(m.locks.TakeExhausted())
	}
	if m.Now >= m.queue.NextTick() {
		for _, q := range m.queue.Tick(m.Now) {
			m.part.RequestUnseal(q)
		}
	}
	m.part.Tick()
	m.last.Tick()
	m.snapshots.Tick()
	m.heat.Tick()
	m.expiry.Tick()
	if m.Now >= m.housekeepingAt {
		m.housekeepingAt = m.Now + int64(housekeepingEvery)
		m.housekeeping()
	}
}

// housekeeping runs once a second.
func (m *Machine) housekeeping() {
	m.store.Collector.Clean()
	m.snapshots.Clean()
	m.readers.Clean()
	m.part.Housekeep()
	if m.outcomes.RaiseLowWatermark() {
		m.finishedAtRaise = m.finishedCount()
	}
}
