package shard

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
	"github.com/linchpindb/linchpin/pkg/txn/lock"
	"github.com/linchpindb/linchpin/pkg/txn/record"
)

// Input is what a step takes in.
type Input struct {
	// Now rises and has no meaning but its differences, in nanoseconds.
	Now int64
	// Wall is the time of day, in nanoseconds since 1970. It may jump, either way.
	Wall int64
	// IDTime is the time by which ids are forgotten (floor.go), in nanoseconds
	// since 1970; 0 is Wall. New ids should be near it.
	IDTime   int64
	Messages []*msg.Envelope
	Reads    []entry.ReadResult
	// Busy is in which share of the time the shard has worked lately, 0 if that
	// is not measured.
	Busy float64
	// Disk is how much room the disk has (room.go).
	Disk Disk
	// DiskText says for people which disk that is, and what it has free; it may be
	// empty.
	DiskText string
	// Room is an earlier output of which nothing is needed any more: its
	// slices are used for the new one. It may be empty.
	Room Output
}

// Output is what a step wants done. The slices belong to the caller.
type Output struct {
	Entries []entry.Entry
	// Send leaves when the log as it now stands is durable.
	Send []*msg.Envelope
	// Urgent leaves at once: it promises nothing.
	Urgent []*msg.Envelope
	Reads  []entry.Read
	// Next is when to call Step again at the latest; math.MaxInt64 for when
	// something arrives.
	Next int64
}

// Machine is a shard. Its methods are not for concurrent use.
type Machine struct {
	cfg  Config
	inc  kv.Incarnation
	now  int64
	wall int64
	// disk is how much room there is for what is new.
	disk     Disk
	diskText string

	index  kv.Index
	writes uint64
	// floor is the least id time that is remembered, and ids the time by which it
	// rises.
	floor int64
	ids   idTime
	// lastLease is that of the readers of the life before.
	lastLease int64
	// moves is no less than those of any tombstone that was here.
	moves uint32
	// committed are the times in ids that have committed or were applied, as far as the
	// state row says them.
	committed idTimes
	// reserved is the state row: its index and write number are ahead of ours,
	// so that it need not be written with every commit. dirty: it has to be
	// written although they are.
	reserved entry.State
	dirty    bool

	store   *mvcc.Store
	garbage *mvcc.Garbage
	locks   *lock.Table
	queue   *snapshotqueue.Queue
	recs    *record.Table
	memory  *record.Memory
	crowds  crowds

	// attempts are those that hold, wait or have prepared here.
	attempts map[kv.TxnRef]*attempt
	// tries counts them by transaction, and pledged is the one that has prepared.
	tries   map[kv.TxnID]int
	pledged map[kv.TxnID]kv.TxnRef
	ended   endedMemory
	// readers are read-only transactions; left are those that have ended.
	// readings counts their reads.
	readers  map[kv.TxnRef]*reader
	left     endedMemory
	readings uint64
	// loadedReads are to enter the snapshot-queues at the end of what is being
	// done.
	loadedReads []*task
	// decisions is what it takes from sealing to the decision.
	decisions typical
	// promises is what it takes from a vote to the decision if nothing is in the
	// way.
	promises quick
	heat     heating
	keeps    map[keepName]*keep
	// guests are the keys that live here though their home is elsewhere.
	guests    guests
	deadlines deadlines
	pins      pinning
	// past are the reads in the past that are under way.
	past map[pastName]bool

	cold map[uint64]*coldRead
	// keepTop and coldTop are no less than any index in keeps and in cold.
	keepTop, coldTop kv.Index
	// looking are the lookups of outcomes that are under way.
	looking map[kv.TxnID][]*lookup
	// unread are promises whose keys could not be read.
	unread []*prepared
	lastID uint64

	// toldAborts is how many aborts gateways have been told of.
	toldAborts uint64

	timers timers
	sweeps sweeps
	// collected is when garbage was last collected, collectedTo the floor then;
	// floorCount is the number of outcomes when the floor of ids was last raised.
	collected   int64
	collectedTo kv.Index
	floorCount  uint64
	out         Output
	// outcomes are the step's rows of that table. They come after all others:
	// ids that end together began together, so that these rows are neighbours
	// in the store, and are cheaper to insert one after the other.
	outcomes []entry.Entry
	rows     rows
	// late are the step's rows that are encoded at its end.
	late []lateRow
	// effects is room for those of a decision, version nextVersion.
	effects []entry.Effect
	version mvcc.Versions
	// modes is room for those of one operation.
	modes []adt.Mode
	// plans are those of the task plansOf, which is about to be executed, nil if
	// there is none. places is room of replan.
	plans   mvcc.Plans
	plansOf *task
	places  map[string]before
	seeing  seeing
	// outcome is the one being written; spare and over are for newParked.
	outcome     entry.Outcome
	spare, over []*parked
	stats       Stats
}

// New makes a shard from what its log holds, in a new incarnation. The output
// is to be treated like that of a step: its entries make the incarnation
// durable before anything else is sent.
func New(cfg Config, rec Recovered, now, wall int64) (*Machine, Output) {
	cfg = cfg.withDefaults()
	inc := rec.State.Incarnation + 1
	m := &Machine{
		cfg: cfg, inc: inc, now: now, wall: wall,
		index: rec.State.Index, writes: rec.State.Writes, moves: rec.State.Moves, dirty: true,
		store:    mvcc.NewStore(cfg.CacheBytes),
		garbage:  mvcc.NewGarbage(64*cfg.GarbageBatch, rec.State.Index > 0),
		locks:    lock.New(cfg.lockOptions()),
		queue:    snapshotqueue.New(queueOptions(cfg, inc, now, &rec.State)),
		readers:  map[kv.TxnRef]*reader{},
		recs:     record.NewTable(),
		memory:   record.NewMemory(cfg.Memory, cfg.Mutants),
		attempts: map[kv.TxnRef]*attempt{},
		tries:    map[kv.TxnID]int{},
		pledged:  map[kv.TxnID]kv.TxnRef{},
		keeps:    map[keepName]*keep{},
		cold:     map[uint64]*coldRead{},
		past:     map[pastName]bool{},
		looking:  map[kv.TxnID][]*lookup{},
	}
	m.version, m.lastLease = m.nextVersion, leaseOf(&rec.State, cfg)
	m.initFloor(rec.State.Floor)
	m.committed = idTimesOf(&rec.State, m.ids.wall, int64(cfg.Retention))
	m.forgotten()
	m.committed.reserve()
	m.initSeeing()
	m.ended.init(now, cfg.Memory)
	m.left.init(now, cfg.Memory)
	m.timers.init(now)
	m.sweeps.inherited = rec.State.Index > 0
	m.initPins(rec)
	m.initGuests(rec)
	m.initDeadlines(rec)
	m.initHeat(rec)
	m.recover(rec)
	return m, m.finishStep()
}

// queueOptions has a shard's new life wait for the readers of the last one, by its
// lease and not by one's own, unless that has left word that there are none.
func queueOptions(cfg Config, inc kv.Incarnation, now int64, last *entry.State) snapshotqueue.Options {
	o := snapshotqueue.Options{Incarnation: inc, Repeat: cfg.Repeat, UnsealAfter: cfg.UnsealAfter, HoldBound: cfg.HoldBound, Mutants: cfg.Mutants}
	if lease := leaseOf(last, cfg); inc > 1 && lease > 0 && !last.Rested {
		o.SealFrom = now + lease
	}
	return o
}

// leaseOf is for how long readers may be registered that a life which has left this
// row knew of; one of which that is not known had the usual lease, or today's.
func leaseOf(last *entry.State, cfg Config) int64 {
	if last.LeaseNanos == 0 {
		return max(int64(cfg.Lease), int64(kv.DefaultLease))
	}
	return last.LeaseNanos
}

// lease is what the state row says to the next life. As long as readers of an earlier
// one may be about, theirs counts, too.
func (m *Machine) lease() int64 {
	own := max(int64(m.cfg.Lease), -1)
	if m.now < m.queue.SealFrom() {
		return max(own, m.lastLease)
	}
	return own
}

// ID is the shard's name.
func (m *Machine) ID() kv.ShardID { return m.cfg.ID }

// Incarnation is the shard's current life.
func (m *Machine) Incarnation() kv.Incarnation { return m.inc }

// Index is how many transactions have become visible here, with the gaps that
// restarts have left.
func (m *Machine) Index() kv.Index { return m.index }

// Step takes everything that has arrived and says what to do about it.
func (m *Machine) Step(in Input) Output {
	m.now, m.wall = max(m.now, in.Now), in.Wall
	m.observeIDs(&in)
	m.stats.Steps++
	m.heat.setBusy(in.Busy)
	m.disk, m.diskText = in.Disk, in.DiskText
	m.out.Entries, m.out.Send = in.Room.Entries[:0], in.Room.Send[:0]
	m.observeDay()
	for i := range in.Reads {
		m.coldResult(&in.Reads[i])
	}
	for _, env := range in.Messages {
		m.stats.Messages++
		m.receive(env)
		m.serveWaiters()
	}
	m.serveWaiters()
	m.tick()
	m.serveWaiters()
	return m.finishStep()
}

func (m *Machine) receive(env *msg.Envelope) {
	switch {
	case env.Park != nil:
		m.onPark(env.Park)
	case env.Prepare != nil:
		m.onPrepare(env.Prepare)
	case env.Vote != nil:
		m.onVote(env.Vote)
	case env.Decide != nil:
		m.onDecide(env.Decide)
	case env.DecideAck != nil:
		m.onDecideAck(env.DecideAck)
	case env.Lock != nil:
		m.onLock(env.Lock)
	case env.Check != nil:
		m.onCheck(env.Check)
	case env.Release != nil:
		m.onRelease(env.Release)
	case env.Mark != nil:
		m.onMark(env.Mark)
	case env.AskVote != nil:
		m.onAskVote(env.AskVote)
	case env.Cancel != nil:
		m.onCancel(env.Cancel)
	case env.Enquire != nil:
		m.onEnquire(env.Enquire)
	case env.PushReply != nil:
		m.onPushReply(env.PushReply)
	case env.ScanAt != nil:
		m.onScanAt(env.ScanAt)
	default:
		m.receiveOfReaders(env)
	}
}

func (m *Machine) receiveOfReaders(env *msg.Envelope) {
	switch {
	case env.Read != nil:
		m.onRead(env.Read)
	case env.Notice != nil:
		m.onNotice(env.Notice)
	case env.Leave != nil:
		m.onLeave(env.Leave)
	case env.Renew != nil:
		m.onRenew(env.Renew)
	case env.Unseal != nil:
		m.onUnseal(env.Unseal)
	case env.Unsealed != nil:
		m.onUnsealed(env.Unsealed)
	default:
		m.receiveOfPins(env)
	}
}

// serveWaiters runs whatever has become grantable, or free of readers.
func (m *Machine) serveWaiters() {
	for {
		m.settleReaders()
		r := m.locks.Next(m.now)
		if r == nil {
			break
		}
		m.granted(r.Tag.(*task))
	}
	for _, mk := range m.locks.Marks() {
		m.sendMark(mk)
	}
}

// Rest ends the shard's life cleanly: the entries that it returns are the last
// of it. If no reader is registered they say so, and the next life need not
// wait for any. Step must not be called again.
func (m *Machine) Rest() []entry.Entry {
	if m.queue.Readers() > 0 || m.now < m.queue.SealFrom() {
		return nil
	}
	m.reserved.Index, m.reserved.Writes, m.reserved.Rested = m.index, m.writes, true
	m.committed.rested()
	m.committed.tell(&m.reserved)
	m.put(entry.TableState, nil, &m.reserved)
	return m.out.Entries
}

func (m *Machine) finishStep() Output {
	m.tellAborts()
	m.encodeLate()
	for _, e := range m.outcomes {
		m.write(e)
	}
	m.outcomes = emptied(m.outcomes)
	if m.dirty || m.lease() != m.reserved.LeaseNanos || m.index > m.reserved.Index || m.writes > m.reserved.Writes {
		m.writeState()
	}
	out := m.out
	out.Next = m.nextTick()
	m.out = Output{}
	m.reuse()
	return out
}

// writeState writes the state row, ahead of what it is about.
func (m *Machine) writeState() {
	m.dirty = false
	m.reserved = entry.State{Incarnation: m.inc, Index: m.index + reserve, Writes: m.writes + reserve, Floor: m.floor, Moves: m.moves, LeaseNanos: m.lease()}
	m.committed.tell(&m.reserved)
	m.put(entry.TableState, nil, &m.reserved)
}

// maxRoom bounds the room that is kept for the next step. Somewhat arbitrary: a
// step that needs more has so much to do that it does not matter.
const maxRoom = 4096

// emptied is the room of a slice for the next step, without what was in it: else
// that would stay in memory until it is written over.
func emptied[T any](s []T) []T {
	clear(s)
	if cap(s) > maxRoom {
		return nil
	}
	return s[:0]
}

func (m *Machine) send(env *msg.Envelope)   { m.out.Send = append(m.out.Send, env) }
func (m *Machine) urgent(env *msg.Envelope) { m.out.Urgent = append(m.out.Urgent, env) }

// nextVersion names a write of this shard. Where the one before it was made on another shard
// the key has moved since. Of a key that is not known the tombstone may have been
// collected: then its moves were no more than any tombstone's here.
func (m *Machine) nextVersion(before kv.Version) kv.Version {
	m.writes++
	v := kv.Version{Moves: before.Moves, Shard: m.cfg.ID, Write: m.writes}
	if before.IsZero() && !m.cfg.Mutants.Has(mutant.CollectedMovesForgotten) {
		v.Moves = m.moves
	}
	if !before.IsZero() && before.Shard != m.cfg.ID {
		v.Moves++
	}
	return v
}

const never = int64(math.MaxInt64)

// reserve is how far ahead of the shard its state row is: how many indexes and
// write numbers a restart skips. Somewhat arbitrary: enough that the row costs
// nothing, and that 64 bits suffice for any number of restarts.
const reserve = 1000
