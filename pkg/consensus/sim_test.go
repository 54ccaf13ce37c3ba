package consensus_test

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

const (
	ms   = int64(time.Millisecond)
	hold = 800 * ms
	// length is the time of a run in which faults happen, and settle the time after it in which the group has
	// to become able to serve.
	length, settle = 20_000 * ms, 8_000 * ms
)

// sim is a group of three voters on nodes with clocks, disks and links of their own. A machine counts: each
// request adds one, and reads see the count. The invariants are checked after each step. The group may be fixed, or
// change among five nodes (members_test.go).
type sim struct {
	rand    *rand.Rand
	mutants mutant.Set
	now     int64
	seq     int
	events  events
	nodes   []*node
	cut     map[[2]int]bool
	// faulty is whether faults still happen.
	faulty bool
	// idle is whether clients only read.
	idle bool
	// delay is the usual greatest delay of messages and writes.
	delay int64
	check checker
	// members is what the group's changes need, nil if it is fixed.
	members *members
}

type event struct {
	at  int64
	seq int
	// node is where it happens, -1 for the world; boot is the start of the node that it belongs to.
	node, boot int
	do         func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

// after schedules an event of the world, or of a node's present start.
func (s *sim) after(d int64, n *node, do func()) {
	s.seq++
	e := event{at: s.now + d, seq: s.seq, node: -1, do: do}
	if n != nil {
		e.node, e.boot = n.index, n.boot
	}
	heap.Push(&s.events, e)
}

func newSim(seed uint64, mutants mutant.Set) *sim { return makeSim(seed, mutants, 3) }

func makeSim(seed uint64, mutants mutant.Set, nodes int) *sim {
	s := &sim{rand: rand.New(rand.NewPCG(seed, 7)), mutants: mutants, cut: map[[2]int]bool{}, faulty: true}
	s.check.sim, s.delay = s, 200_000<<s.rand.IntN(5)
	for i := range nodes {
		n := &node{sim: s, index: i, rate: []float64{0.975, 1.025}[s.rand.IntN(2)], offset: s.rand.Int64N(1e15)}
		if i < 3 {
			n.id, n.greatest = consensus.ReplicaID(i+1), consensus.ReplicaID(i+1)
			n.log, n.rows = bootstrap()
		}
		s.nodes = append(s.nodes, n)
	}
	for _, n := range s.nodes {
		n.start()
	}
	s.after(0, nil, s.client)
	s.after(0, nil, s.fault)
	return s
}

// bootstrap is the log and the rows of a group of three that has just been formed.
func bootstrap() (*raft.MemoryStorage, []row) { return bootstrapOf(1, 2, 3) }

func bootstrapOf(voters ...uint64) (*raft.MemoryStorage, []row) {
	conf := raftpb.ConfState{Voters: voters}
	log := raft.NewMemoryStorage()
	meta := raftpb.SnapshotMetadata{ConfState: conf, Index: 1, Term: 1}
	_ = log.ApplySnapshot(raftpb.Snapshot{Metadata: meta})
	_ = log.SetHardState(raftpb.HardState{Term: 1, Commit: 1})
	return log, []row{{state: consensus.State{Position: 1, Term: 1, Conf: conf}}}
}

// run returns the violation that it has found, empty without one. A panic is one, so that its seed is known.
func (s *sim) run() (violation string) {
	defer func() {
		if p := recover(); p != nil {
			violation = fmt.Sprintf("%d ms: panic: %v\n%s", s.now/ms, p, debug.Stack())
		}
	}()
	for s.check.violation == "" && s.now < length+settle {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		if e.node >= 0 {
			n := s.nodes[e.node]
			if n.boot != e.boot {
				continue
			} else if n.stopped > s.now {
				e.at, s.seq = n.stopped, s.seq+1
				e.seq = s.seq
				heap.Push(&s.events, e)
				continue
			}
		}
		e.do()
		if s.faulty && s.now >= length {
			s.heal()
		}
	}
	if s.check.violation == "" && !s.check.progress {
		s.check.fail("no increment after the faults")
	}
	return s.check.violation
}

// heal ends all faults.
func (s *sim) heal() {
	s.faulty, s.check.progress = false, false
	clear(s.cut)
	for _, n := range s.nodes {
		n.stopped, n.slow = 0, false
		n.start()
	}
}

// fault makes a fault, or ends some.
func (s *sim) fault() {
	if !s.faulty {
		return
	}
	s.after(s.rand.Int64N(1200*ms), nil, s.fault)
	n := s.nodes[s.rand.IntN(len(s.nodes))]
	if s.rand.IntN(2) == 0 { // the leader, as far as there is one
		for _, l := range s.nodes {
			if l.machine != nil {
				n = l
			}
		}
	}
	other := s.nodes[(n.index+1+s.rand.IntN(len(s.nodes)-1))%len(s.nodes)]
	kind := s.rand.IntN(16)
	if s.members != nil && s.rand.IntN(4) == 0 {
		s.memberFault(n)
		return
	}
	s.check.note("fault %d on %d, other %d", kind, n.index, other.index)
	switch kind {
	case 0, 1:
		n.crash()
		s.after(s.rand.Int64N(1500*ms), nil, n.start)
	case 2:
		n.stopped = s.now + s.rand.Int64N(2500*ms)
	case 3:
		s.cut[[2]int{n.index, other.index}] = true
	case 4, 10, 11: // cut off from the others, not from clients
		for _, o := range s.nodes {
			s.cut[[2]int{n.index, o.index}] = true
			s.cut[[2]int{o.index, n.index}] = s.rand.IntN(3) > 0
		}
	case 5, 6:
		clear(s.cut)
	case 7:
		n.slow = !n.slow
	case 8, 9:
		n.transfer(other)
		switch s.rand.IntN(3) {
		case 0:
			third := s.nodes[max(0, 3-n.index-other.index)]
			s.after(s.rand.Int64N(200*ms), nil, func() { other.transfer(third) })
		case 1: // a message names a later term before it has begun, or soon after
			s.after(s.rand.Int64N(20*ms), nil, other.stepDown)
		}
	case 12, 14, 15: // another one has the whole log, and no heartbeat for a time
		s.idle = true
		s.cut[[2]int{n.index, other.index}] = true
		s.after(hold+s.rand.Int64N(300*ms), nil, func() {
			s.idle = false
			n.stepDown()
		})
	default:
		for _, n := range s.nodes {
			if s.rand.IntN(3) > 0 {
				n.crash()
				s.after(s.rand.Int64N(300*ms), nil, n.start)
			}
		}
	}
}

// client sends increments, reads and registrations of readers to nodes, most to those that lead.
func (s *sim) client() {
	s.after(1+s.rand.Int64N(15*ms), nil, s.client)
	n := s.nodes[s.rand.IntN(len(s.nodes))]
	for range len(s.nodes) {
		if n.machine == nil {
			n = s.nodes[s.rand.IntN(len(s.nodes))]
		}
	}
	req := request{kind: s.kind(), sentLocal: s.nodes[0].clock(), floor: s.check.seen}
	s.after(s.latency(), n, func() { n.serve(req) })
}

// kind is that of the next request: a read, a registration or an increment.
func (s *sim) kind() int {
	switch {
	case s.idle:
		return s.rand.IntN(2)
	case s.members != nil:
		return s.rand.IntN(4)
	}
	return s.rand.IntN(3)
}

func (s *sim) latency() int64 {
	switch s.rand.IntN(50) {
	case 0:
		return s.rand.Int64N(1500 * ms)
	case 1:
		return s.rand.Int64N(100 * ms)
	}
	return 50_000 + s.rand.Int64N(s.delay)
}

// post sends a message between nodes.
func (s *sim) post(from, to *node, m consensus.Message) {
	copies := 1
	if s.faulty {
		switch s.rand.IntN(30) {
		case 0:
			copies = 0
		case 1:
			copies = 2
		}
	}
	raw, err := m.Raft.Marshal()
	if err != nil {
		panic(err)
	}
	for range copies {
		d := s.latency()
		s.after(d, nil, func() {
			if s.cut[[2]int{from.index, to.index}] || to.down {
				return
			}
			c := m
			c.Raft = raftpb.Message{}
			if err := c.Raft.Unmarshal(raw); err != nil {
				panic(err)
			}
			s.damage(&c)
			s.after(0, to, func() { to.receive(&c) })
		})
	}
}

// checker is what must hold, by the real time of the simulation.
type checker struct {
	sim       *sim
	violation string
	// log is what was applied at each position. seen is the greatest count that was acknowledged or read, reported the
	// greatest of each term.
	log      map[consensus.Position]consensus.Entry
	seen     uint64
	reported map[consensus.Term]uint64
	// began is the greatest term that has begun.
	began consensus.Term
	// readers are registrations, each valid until a real time.
	readers  []registration
	progress bool
	// trace, if it is not nil, gets what happens.
	trace func(format string, args ...any)
	// begins counts leaders, steps counts what they did.
	begins, steps int
}

type registration struct {
	term  consensus.Term
	until int64
}

func (c *checker) note(format string, args ...any) {
	if c.trace != nil {
		c.trace(fmt.Sprintf("%d us: ", c.sim.now/1000)+format, args...)
	}
}

func (c *checker) fail(format string, args ...any) {
	if c.violation == "" {
		c.violation = fmt.Sprintf("%d ms: ", c.sim.now/ms) + fmt.Sprintf(format, args...)
	}
}

// applied compares an entry with what other replicas applied at its position.
func (c *checker) applied(n *node, e consensus.Entry) {
	if c.log == nil {
		c.log = map[consensus.Position]consensus.Entry{}
	}
	if old, ok := c.log[e.Position]; ok && (old.Term != e.Term || string(old.Data) != string(e.Data)) {
		c.fail("node %d applies %v at %d, another applied %v", n.index, e, e.Position, old)
	}
	c.log[e.Position] = e
}

// step is called when a machine takes a step under its lease (R3.11).
func (c *checker) step(n *node, term consensus.Term) {
	c.steps++
	if term < c.began {
		c.fail("node %d steps in term %d, and term %d has begun", n.index, term, c.began)
	}
	for _, o := range c.sim.nodes {
		if o != n && o.replica != nil && o.replica.LeaseEnd(o.clock()) != 0 && o.stopped <= c.sim.now {
			c.fail("nodes %d and %d have leases", n.index, o.index)
		}
	}
}

// decides is called when a machine decides an update.
func (c *checker) decides(n *node, term consensus.Term) {
	for _, r := range c.readers {
		if r.term < term && r.until > c.sim.now {
			c.fail("node %d decides in term %d, a reader of term %d is registered for %d us", n.index, term, r.term,
				(r.until-c.sim.now)/1000)
		}
	}
}

// observed is called when a client learns a count; least is what was known when it asked.
func (c *checker) observed(n *node, count, least uint64) {
	if count < least {
		c.fail("node %d reports %d, and %d was known before the request", n.index, count, least)
	}
	c.note("node %d reports %d", n.index, count)
	c.seen = max(c.seen, count)
	if c.reported == nil {
		c.reported = map[consensus.Term]uint64{}
	}
	c.reported[n.machine.term] = max(c.reported[n.machine.term], count)
}

// begin is called when a machine begins: it has all that leaders of earlier terms have reported. It may lack what
// later ones have, if its process was stopped between its election and now; then it has no lease.
func (c *checker) begin(n *node, m *machine) {
	c.begins++
	c.began = max(c.began, m.term)
	for term, count := range c.reported {
		if term < m.term && m.count < count {
			c.fail("node %d begins term %d at %d, and term %d has reported %d", n.index, m.term, m.count, term, count)
		}
	}
}

func encode(count uint64) []byte { return binary.BigEndian.AppendUint64(nil, count) }
