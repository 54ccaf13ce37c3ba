package shard

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/agent"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/expiry"
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

// Input is what a step takes in.
type Input struct {
	// Now rises and has no meaning but its differences, in nanoseconds.
	Now int64
	// Wall is the time of day, in nanoseconds since 1970. It may jump, either way.
	Wall int64
	// IDTime is the time by which ids are forgotten (package outcome), in nanoseconds
	// since 1970; 0 is Wall. New ids should be near it.
	IDTime int64
	// Peers is how Wall compares with the times of day of the other nodes.
	Peers    timeofday.Peers
	Messages []*msg.Envelope
	Reads    []entry.ReadResult
	// Busy is in which share of the time the shard has worked lately, 0 if that
	// is not measured.
	Busy float64
	// Disk is how much room the disk has (package exec).
	Disk Disk
	// DiskText says for people which disk that is, and what it has free; it may be
	// empty.
	DiskText string
	// Room is an earlier output of which nothing is needed any more: its
	// slices are used for the new one. It may be empty.
	Room Output
}

// Output is what a step wants done.
type Output = step.Output

// Machine is a shard. Its methods are not for concurrent use.
type Machine struct {
	*step.Env
	cfg Config

	store     *store.Store
	locks     *locktable.Table
	queue     *snapshotqueue.Queue
	exec      *exec.Executor
	outcomes  *outcome.Outcomes
	recs      *record.Table
	part      *agent.Participant
	last      *agent.LastAgent
	readers   *readers.Readers
	snapshots *past.Snapshots
	past      *past.Reads
	heat      *contention.Part
	clock     *timeofday.Clock
	expiry    *expiry.Deadlines

	// row is the state row: its index and write number are ahead of ours,
	// so that it need not be written with every commit. dirty: it has to be
	// written although they are.
	row   entry.State
	dirty bool
	// lastLease is that of the readers of the incarnation before.
	lastLease int64
	// house is when housekeeping is due.
	house int64
	// ends is the number of outcomes when the floor of ids was last raised.
	ends     uint64
	messages uint64
}

// New makes a shard from what its log holds, in a new incarnation. The output
// is to be treated like that of a step: its entries make the incarnation
// durable before anything else is sent.
func New(cfg Config, rec Recovered, now, wall int64) (*Machine, Output) {
	cfg = cfg.withDefaults()
	inc := rec.State.Incarnation + 1
	e := &step.Env{ID: cfg.ID, Inc: inc, Now: now, Wall: wall, Mutants: cfg.Mutants, Trace: cfg.Trace}
	m := &Machine{
		Env: e, cfg: cfg, dirty: true, house: now + int64(houseEvery), lastLease: leaseOf(&rec.State, cfg),
		locks: locktable.New(cfg.lockOptions()),
		queue: snapshotqueue.New(queueOptions(cfg, inc, now, &rec)),
		recs:  record.NewTable(),
	}
	m.store = store.New(e, cfg.storeConfig(), &rec.State)
	m.outcomes = outcome.New(e, m.store, outcome.Config{Memory: cfg.Memory, Retention: cfg.Retention, Nodes: cfg.Nodes}, &rec.State, rec.Fences)
	m.snapshots = past.NewSnapshots(e, m.store, cfg.pinConfig(), rec.Pins, rec.State.Writes)
	m.clock = timeofday.New(e, timeofday.Config{Settle: cfg.Retention, Trusted: cfg.TrustClock}, &rec.State)
	m.expiry = expiry.New(e, m.store, m.clock, expiry.Config{Node: cfg.Node, Every: cfg.DueEvery, Again: cfg.DueAgain}, rec.State.Index > 0)
	m.heat = contention.New(e, cfg.Heat, m.around(), contention.Recovered{Moved: rec.Moved, Rules: rec.Rules})
	m.past = past.NewReads(e, m.store, m.heat, m.expiry, m.snapshots)
	m.exec = exec.New(exec.Parts{Env: e, Store: m.store, Locks: m.locks, Heat: m.heat, Expiry: m.expiry},
		exec.Config{MaxKeyPins: cfg.MaxKeyPins, Sharing: cfg.Sharing})
	m.part, m.last = agent.New(agent.Parts{Env: e, Store: m.store, Locks: m.locks, Queue: m.queue, Exec: m.exec, Heat: m.heat,
		Expiry: m.expiry, Outcomes: m.outcomes, Records: m.recs},
		agent.Config{Repeat: cfg.Repeat, Liveness: cfg.Liveness, Ended: cfg.Memory, FixedUnseal: cfg.UnsealAfter != 0})
	m.readers = readers.New(readers.Parts{Env: e, Store: m.store, Queue: m.queue, Exec: m.exec, Heat: m.heat, Part: m.part, Last: m.last},
		readers.Config{Lease: cfg.Lease, Left: cfg.Memory, Gateway: cfg.Gateway})
	for i := range rec.Records {
		m.last.Recover(&rec.Records[i])
	}
	for i := range rec.Prepared {
		m.part.Recover(rec.Prepared[i])
	}
	return m, m.finishStep()
}

// queueOptions has a shard's new incarnation wait for the readers of the earlier ones: until
// their leases end, if that is known, and else for their lease, which may differ from its own.
// It does not wait if the last incarnation has reported that there are none.
func queueOptions(cfg Config, inc kv.Incarnation, now int64, rec *Recovered) snapshotqueue.Options {
	o := snapshotqueue.Options{Incarnation: inc, Repeat: cfg.Repeat, UnsealAfter: cfg.UnsealAfter, HoldBound: cfg.HoldBound, Mutants: cfg.Mutants}
	lease := leaseOf(&rec.State, cfg)
	if inc == 1 || lease <= 0 || rec.State.Rested {
		return o
	}
	o.SealFrom = now + lease
	if rec.Leases.Known {
		o.SealFrom = min(o.SealFrom, rec.Leases.Until)
		if cfg.Mutants.Has(mutant.LeasesTakenAsEnded) {
			o.SealFrom = now
		}
	}
	return o
}

// LeasesUntil returns when the last lease ends that this incarnation or an earlier one has
// granted to a reader that does not end with this process, and that is still relied on; the
// past if there is none. An incarnation that learns it (Recovered.Leases) waits no longer than until then. The shell makes it
// outlast the process before the output of a step leaves the node.
func (m *Machine) LeasesUntil() int64 { return m.queue.LeasesUntil() }

// leaseOf is for how long readers may be registered of which the incarnation that has left this row
// knew; a row that does not say it had the usual lease, or today's.
func leaseOf(last *entry.State, cfg Config) int64 {
	if last.LeaseNanos == 0 {
		return max(int64(cfg.Lease), int64(kv.DefaultLease))
	}
	return last.LeaseNanos
}

// lease is what the state row says to the next incarnation. As long as readers of an earlier
// one may be about, theirs counts, too.
func (m *Machine) lease() int64 {
	own := max(int64(m.cfg.Lease), -1)
	if m.Now < m.queue.SealFrom() {
		return max(own, m.lastLease)
	}
	return own
}

// ID is the shard's name.
func (m *Machine) ID() kv.ShardID { return m.cfg.ID }

// Incarnation is the shard's current one.
func (m *Machine) Incarnation() kv.Incarnation { return m.Inc }

// Index is how many transactions have become visible here, with the gaps that
// restarts have left.
func (m *Machine) Index() kv.Index { return m.store.Index() }

// IDOffset is a time, less Now, that new ids should not be far behind, since the
// shard is about to forget by it, or has; false if there is none.
func (m *Machine) IDOffset() (int64, bool) { return m.outcomes.Offset() }

// ExpirySuspended is why keys that earlier incarnations have given a time to live are not
// deleted by the time of day; timeofday.None if they are.
func (m *Machine) ExpirySuspended() timeofday.Doubt { return m.expiry.Suspended() }

// Step takes everything that has arrived and says what to do about it.
func (m *Machine) Step(in Input) Output {
	m.Now, m.Wall = max(m.Now, in.Now), in.Wall
	if in.IDTime == 0 {
		in.IDTime = in.Wall
	}
	m.outcomes.Observe(in.IDTime)
	m.Steps++
	m.heat.SetBusy(in.Busy)
	m.exec.SetSpace(in.Disk, in.DiskText)
	m.Out.Entries, m.Out.Send = in.Room.Entries[:0], in.Room.Send[:0]
	if m.clock.Observe(in.Peers) {
		m.expiry.ClockChanged()
	}
	m.snapshots.Observe(m.clock.Contradicted() != timeofday.None)
	for i := range in.Reads {
		m.store.Answered(&in.Reads[i])
		m.wakeUp()
	}
	for _, x := range in.Messages {
		m.messages++
		m.receive(x)
		m.settle()
	}
	m.settle()
	m.tick()
	m.settle()
	return m.finishStep()
}

// receive has the part take a message that it is for.
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
		case !past.Is(b):
			m.readers.Receive(x)
		case !m.readers.Left(b.Reader):
			m.past.OnRead(b)
		}
	case *msg.ReadPage:
		m.past.OnScan(b)
	case *msg.Deregister:
		m.past.OnLeave(b.Reader)
		m.readers.Receive(x)
	case *msg.CancelRequest:
		if !m.readers.Cancel(b) {
			m.last.Receive(x)
		}
	default:
		_ = m.last.Receive(x) || m.part.Receive(x) || m.readers.Receive(x) || m.snapshots.Receive(x) || m.heat.Receive(x)
	}
	m.overtake()
}

// overtake ends the other attempts of what was applied here.
func (m *Machine) overtake() {
	for _, txn := range m.part.TakeApplied() {
		m.last.AbortSuperseded(txn)
	}
}

// went has the part act on the step that a piece has reached.
func (m *Machine) went(t *exec.Task, s exec.Step) {
	switch t.Kind {
	case exec.Read, exec.Snapshot:
		m.readers.Went(t, s)
	case exec.Decide:
		m.last.OnStep(t, s)
	default:
		m.part.OnStep(t, s)
	}
}

// wakeUp has pieces and promises go on whose keys, pages or rows have arrived.
func (m *Machine) wakeUp() {
	for {
		t := m.exec.Next()
		if t != nil {
			m.went(t, exec.Ready)
			continue
		}
		w, ok := m.store.Next()
		switch {
		case !ok:
			return
		case exec.Waits(w.Waiter):
			m.went(m.exec.Woken(&w))
		default:
			m.part.OnLoaded(&w)
			m.overtake()
		}
	}
}

// settle runs whatever has become grantable, or free of readers.
func (m *Machine) settle() {
	for {
		m.wakeUp()
		m.settleReaders()
		if m.store.Waking() {
			continue
		}
		r := m.locks.Next(m.Now)
		if r == nil {
			break
		}
		t := r.Tag.(*exec.Task)
		m.went(t, m.exec.Granted(t))
	}
	for _, w := range m.locks.Marks() {
		m.part.SendWound(w)
	}
}

// settleReaders acts on what has become possible in the snapshot-queues.
func (m *Machine) settleReaders() {
	m.readers.Settle()
	for c := m.queue.Changes(); !c.Empty(); c = m.queue.Changes() {
		m.readers.Changed(&c)
		for _, txn := range c.Sealed {
			m.part.OnSealed(txn)
		}
		for i := range c.Free {
			m.last.OnFreed(&c.Free[i])
		}
	}
}

// Rest ends the shard's incarnation cleanly: the entries that it returns are the last
// of it. If no reader is registered they say so, and the next one need not
// wait for any. Step must not be called again.
func (m *Machine) Rest() []entry.Entry {
	if m.queue.Readers() > 0 || m.Now < m.queue.SealFrom() && !m.Mutants.Has(mutant.RestWithinLease) {
		return nil
	}
	m.row.Index, m.row.Writes, m.row.Rested = m.store.Index(), m.store.Writes(), true
	m.outcomes.FillClean(&m.row)
	m.clock.Fill(&m.row)
	m.Put(entry.TableState, nil, &m.row)
	return m.Out.Entries
}

func (m *Machine) finishStep() Output {
	m.outcomes.Announce()
	m.store.EncodeLate()
	m.dirty = m.outcomes.Flush() || m.clock.Flush() || m.dirty
	if m.store.News() || m.dirty || m.lease() != m.row.LeaseNanos || m.store.Index() > m.row.Index || m.store.Writes() > m.row.Writes {
		m.writeState()
	}
	out := m.Out
	out.Next = m.nextTick()
	m.Out = Output{}
	m.last.EndStep()
	m.readers.EndStep()
	return out
}

// writeState writes the state row, ahead of what it is about.
func (m *Machine) writeState() {
	m.dirty = false
	m.row = entry.State{Incarnation: m.Inc, Index: m.store.Index() + reserve, Writes: m.store.Writes() + reserve,
		Moves: m.store.Moves(), LeaseNanos: m.lease()}
	m.outcomes.Fill(&m.row)
	m.clock.Fill(&m.row)
	m.Put(entry.TableState, nil, &m.row)
}

// reserve is how far ahead of the shard its state row is: how many indexes and
// write numbers a restart skips. Somewhat arbitrary: enough that the row costs
// nothing, and that 64 bits suffice for any number of restarts.
const reserve = 1000

const (
	// tickEvery is the least time between two rounds of repeats. Somewhat
	// arbitrary: a tenth of the first repeat.
	tickEvery = 5 * time.Millisecond
	// readersEvery is the same for readers and what they wait for. A node's
	// timers are coarser; but when much is going on, steps are frequent.
	readersEvery = agent.MinWait
	houseEvery   = time.Second
)

func (m *Machine) nextTick() int64 {
	next := min(m.part.Next(), m.last.Next(), m.locks.NextTick(), m.heat.Next(), m.snapshots.Next(), m.expiry.Next())
	if m.busy() {
		next = min(next, m.house)
	}
	next = max(next, m.Now+int64(tickEvery))
	return min(next, max(m.queue.NextTick(), m.Now+int64(readersEvery)))
}

// busy reports whether housekeeping has anything to do.
func (m *Machine) busy() bool {
	return m.store.Untidy() || m.snapshots.Expecting() || m.part.NeedsHousekeeping() || m.recs.Len() > 0 || m.store.Kept().Len() > 0 ||
		m.readers.Known() || m.ended() != m.ends
}

// ended counts the transactions that have ended here.
func (m *Machine) ended() uint64 {
	s := m.last.Stats()
	return s.Committed + s.Applied
}

func (m *Machine) tick() {
	m.store.Tick()
	if m.Now >= m.locks.NextTick() {
		for _, txn := range m.locks.Tick(m.Now) {
			m.part.SendPush(txn, true)
		}
		m.part.BreakOverdrawn(m.locks.Overdrawn())
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
	if m.Now >= m.house {
		m.house = m.Now + int64(houseEvery)
		m.housekeeping()
	}
}

// housekeeping happens once a second.
func (m *Machine) housekeeping() {
	m.store.Clean()
	m.snapshots.Clean()
	m.readers.Clean()
	m.part.Housekeep()
	if m.outcomes.RaiseLowWatermark() {
		m.ends = m.ended()
	}
}
