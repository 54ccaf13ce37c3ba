package consensus_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/linchpindb/linchpin/pkg/consensus"
)

// row is what a store has after a batch.
type row struct {
	state consensus.State
	count uint64
}

// node has a replica, a disk for its log, a store for its rows, and the machine if it leads.
type node struct {
	sim    *sim
	index  int
	rate   float64
	offset int64
	boot   int
	// stopped is until when the process is stopped. slow makes its disk slow.
	stopped int64
	slow    bool

	// down: the process does not run. disk is the number of the present disk.
	down bool
	disk int
	// id is the replica on the node, zero without one, and greatest that of all that its disk knows.
	id, greatest consensus.ReplicaID
	replica      *consensus.Replica
	log          *raft.MemoryStorage
	// rows are the batches that the store may return to after a crash: a crash keeps any of them.
	rows    []row
	writing []*consensus.Write
	// busySince is what the node reports of its disk.
	busySince int64
	applying  []*consensus.Apply
	machine   *machine
}

// machine is the leader's counter. Its count is ahead of what is applied.
type machine struct {
	term  consensus.Term
	count uint64
	wait  int64
	// unconfirmed are reads without a lease, with the points of their steps.
	unconfirmed []response
	// last is the last entry, waiting what its application is waited for.
	last    consensus.Position
	waiting []response
}

// response is a count that leaves when an entry is applied.
type response struct {
	at           consensus.Position
	count, floor uint64
	update       bool
	step         int64
}

type request struct {
	kind int
	// sentLocal is the gateway's clock when it sent the request; floor is the greatest count known then.
	sentLocal int64
	floor     uint64
}

// clock is monotonic and runs at a rate of its own.
func (n *node) clock() int64 { return n.offset + int64(float64(n.sim.now)*n.rate) }

func (n *node) start() {
	n.down = false
	if n.replica != nil || n.id == 0 {
		return
	}
	n.boot, n.busySince = n.boot+1, 0
	n.sim.check.note("node %d starts replica %d", n.index, n.id)
	last := n.rows[len(n.rows)-1]
	cfg := consensus.Config{Group: 1, ID: n.id,
		Hold: time.Duration(hold >> n.sim.rand.IntN(2)), MaxHold: time.Duration(hold), Heartbeat: 100 * time.Millisecond,
		CheckEvery: time.Duration(3 * hold),
		Storage:    n.log, State: last.state, Rand: rand.New(rand.NewPCG(n.sim.rand.Uint64(), 1)).Int64N,
		Mutants: n.sim.mutants}
	var err error
	n.replica, err = consensus.New(cfg, n.clock())
	if errors.Is(err, consensus.ErrLogBehind) {
		n.log = beginLog(n.log, &last.state)
		cfg.Storage = n.log
		n.replica, err = consensus.New(cfg, n.clock())
	}
	if err != nil {
		n.sim.check.fail("node %d: %v", n.index, err)
		return
	}
	n.rows = []row{last}
	n.tick()
}

func (n *node) tick() {
	n.sim.after(10*ms+n.sim.rand.Int64N(20*ms), n, n.tick)
	if n.sim.members != nil && n.sim.rand.IntN(20) == 0 {
		n.truncate()
	}
	n.act(func() { n.replica.Tick(n.clock()) })
}

// crash loses what is not on the disk: of the writes in flight a prefix is kept, and of the rows any batch.
func (n *node) crash() {
	n.down = true
	if n.replica == nil {
		return
	}
	n.boot++
	kept := n.sim.rand.IntN(len(n.writing) + 1)
	for _, w := range n.writing[:kept] {
		n.persist(w)
	}
	if kept < len(n.writing) && n.writing[kept].Snapshot != nil && n.sim.rand.IntN(2) == 0 {
		n.swapRows(n.writing[kept]) // and not the log
	}
	n.rows = n.rows[:1+n.sim.rand.IntN(len(n.rows))]
	n.replica, n.machine, n.writing, n.applying = nil, nil, nil, nil
}

func (n *node) persist(w *consensus.Write) {
	if w.Snapshot != nil {
		n.swapRows(w)
		if err := n.log.ApplySnapshot(*w.Snapshot); err != nil {
			n.sim.check.fail("node %d: %v", n.index, err)
		}
	}
	if err := n.log.Append(w.Entries); err != nil {
		panic(err)
	}
	if !raft.IsEmptyHardState(w.HardState) {
		_ = n.log.SetHardState(w.HardState) // it never fails
	}
}

// act calls the replica and does what it wants.
func (n *node) act(call func()) {
	n.replica.Disk.Set(n.busySince, false)
	call()
	for {
		rd := n.replica.Ready()
		if len(rd.Send)+len(rd.Snapshots) == 0 && rd.Write == nil && rd.Apply == nil && rd.Begin == nil && !rd.Gone &&
			!rd.Unfit && !rd.Stopped && rd.Transfer == 0 {
			break
		}
		n.handle(rd)
		if rd.Gone {
			n.destroy()
			return
		}
	}
	if n.machine != nil && n.replica.Leads() != n.machine.term {
		n.machine = nil
	}
	n.release()
}

func (n *node) handle(rd consensus.Ready) {
	for _, m := range rd.Send {
		if to := n.sim.home(&m); to != nil {
			n.sim.post(n, to, m)
		}
	}
	for _, to := range rd.Snapshots {
		n.sendSnapshot(to)
	}
	if rd.Unfit || rd.Stopped {
		n.sim.check.fail("node %d is unfit, or has stopped, although all rows are the same", n.index)
	}
	if w := rd.Write; w != nil {
		n.writing = append(n.writing, w)
		if len(n.writing) == 1 {
			n.write()
		}
	}
	if a := rd.Apply; a != nil {
		n.sim.reached(&a.State)
		n.applying = append(n.applying, a)
		if len(n.applying) == 1 {
			n.apply()
		}
	}
	if rd.Begin != nil {
		n.begin(rd.Begin)
	}
	if rd.Transfer != 0 {
		n.transferTo(rd.Transfer)
	}
}

// write writes and syncs what waits.
func (n *node) write() {
	d := 50_000 + n.sim.rand.Int64N(n.sim.delay)
	if n.slow {
		d += n.sim.rand.Int64N(250 * ms)
	}
	ws := n.writing
	n.busySince = n.clock()
	n.sim.after(d, n, func() {
		for _, w := range ws {
			n.persist(w)
		}
		n.busySince = 0
		for _, w := range ws {
			n.act(func() { n.replica.Written(n.clock(), w) })
		}
		n.writing = n.writing[len(ws):]
		if len(n.writing) > 0 {
			n.write()
		}
	})
}

// apply sets the rows of the oldest entries.
func (n *node) apply() {
	n.sim.after(n.sim.rand.Int64N(ms), n, func() {
		a, last := n.applying[0], n.rows[len(n.rows)-1]
		if a.State.Position <= last.state.Position {
			n.sim.check.fail("node %d applies %d after %d", n.index, a.State.Position, last.state.Position)
		}
		for _, e := range a.Entries {
			n.sim.check.applied(n, e)
			last.count = binary.BigEndian.Uint64(e.Data)
		}
		last.state = a.State
		n.rows = append(n.rows, last)
		if a.Check {
			n.check(a.State.Position, last.count)
		}
		n.act(func() { n.replica.Applied(n.clock(), a) })
		n.applying = n.applying[1:]
		if len(n.applying) > 0 {
			n.apply()
		}
	})
}

// check reports the checksum of the rows, some time later.
func (n *node) check(at consensus.Position, count uint64) {
	n.sim.after(n.sim.rand.Int64N(hold), n, func() {
		n.act(func() { n.replica.Damage().Checked(n.clock(), at, 31*uint64(at)+count) })
	})
}

func (n *node) begin(b *consensus.Begin) {
	at := n.rows[len(n.rows)-1].state.Position
	n.sim.check.note("node %d begins term %d at %d, waits %d us", n.index, b.Term, at, (b.Wait-n.clock())/1000)
	n.machine = &machine{term: b.Term, count: n.rows[len(n.rows)-1].count, wait: b.Wait}
	n.sim.check.begin(n, n.machine)
}

// serve takes a request, and then reads the clock (R3.6).
func (n *node) serve(q request) {
	m := n.machine
	if m == nil {
		return
	}
	now := n.clock()
	if q.kind == 3 {
		m.unconfirmed = append(m.unconfirmed, response{at: m.last, count: m.count, floor: q.floor,
			step: n.replica.Leadership().Point()})
		return
	}
	end := n.replica.LeaseEnd(now)
	if end == 0 {
		return
	}
	n.sim.check.step(n, m.term)
	switch q.kind {
	case 0:
		m.waiting = append(m.waiting, response{at: m.last, count: m.count, floor: q.floor})
	case 1:
		// A gateway on node 0 counts the registration from when it sent the request.
		valid := (end - now) * 9 / 10
		n.sim.check.note("node %d registers in term %d for %d us, lease %d us", n.index, m.term, valid/1000, (end-now)/1000)
		until := n.sim.nodes[0].real(q.sentLocal + valid)
		n.sim.check.readers = append(n.sim.check.readers, registration{term: m.term, until: until})
	default:
		n.increment(q, now)
	}
	n.act(func() {})
}

func (n *node) increment(q request, now int64) {
	m := n.machine
	if now < m.wait {
		return
	}
	n.sim.check.decides(n, m.term)
	at, err := n.replica.Propose(encode(m.count + 1))
	if err != nil {
		n.machine = nil
		return
	}
	m.count, m.last = m.count+1, at
	m.waiting = append(m.waiting, response{at: at, count: m.count, floor: q.floor, update: true})
}

// real is the real time at which the node's clock has a reading.
func (n *node) real(clock int64) int64 { return int64(float64(clock-n.offset) / n.rate) }

// release sends the responses whose entries are applied.
func (n *node) release() {
	m := n.machine
	if m == nil {
		return
	}
	applied := n.rows[len(n.rows)-1].state.Position
	for len(m.unconfirmed) > 0 {
		r := m.unconfirmed[0]
		if r.at > applied || !n.replica.Leadership().IsConfirmed(r.step) {
			break
		}
		n.sim.check.observed(n, r.count, r.floor)
		m.unconfirmed = m.unconfirmed[1:]
	}
	for len(m.waiting) > 0 && m.waiting[0].at <= applied {
		r := m.waiting[0]
		m.waiting = m.waiting[1:]
		n.sim.check.observed(n, r.count, r.floor)
		n.sim.check.progress = n.sim.check.progress || r.update
	}
}

// transfer asks the node's replica to transfer leadership.
func (n *node) transfer(to *node) {
	if n.replica == nil || n.machine == nil || n.stopped > n.sim.now {
		return
	}
	n.act(func() { n.transferTo(to.id) })
}

func (n *node) transferTo(to consensus.ReplicaID) {
	err := n.replica.Transfer(n.clock(), to, consensus.RegisteredUnknown)
	n.sim.check.note("node %d transfers to replica %d: %v", n.index, to, err)
	if err == nil && n.sim.mutants == none {
		n.machine = nil
	}
}

// stepDown has the node's replica receive a message that names a later term.
func (n *node) stepDown() {
	if n.replica != nil && n.stopped <= n.sim.now {
		_, term := n.replica.Leader()
		n.act(func() { n.replica.StepDown(n.clock(), term+1) })
	}
}
