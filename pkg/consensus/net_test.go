package consensus_test

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// net is a group without randomness: a message takes 1 ms, a write with its fsync 0.5 ms, applying takes no time, and
// all clocks agree. Tests decide what fails.
type net struct {
	mutants mutant.Set
	now     int64
	seq     int64
	later   []timed
	peers   map[consensus.ReplicaID]*peer
	// checkEvery is the interval of checks, in nanoseconds.
	checkEvery int64
	// lost reports whether a message is lost. out gets what happens, if it is not nil.
	lost func(m *consensus.Message) bool
	out  *strings.Builder
}

type timed struct {
	at, seq int64
	do      func()
}

// peer is a replica with its log, the state of its rows, and the fate of its work.
type peer struct {
	net     *net
	id      consensus.ReplicaID
	replica *consensus.Replica
	log     *raft.MemoryStorage
	state   consensus.State
	begin   *consensus.Begin
	applied []string
	unfit   bool
	gone    bool
	// stuck: its disk does not end writes. slow: entries are not reported as applied, and are in unreported.
	stuck      bool
	slow       bool
	unreported []*consensus.Apply
	writes     []*consensus.Write
	// delay is how much longer its writes take, written when the last one ends, and busySince what the node reports of
	// its disk.
	delay, written, busySince int64
	low                       bool
	// rows is added to the checksum of its rows, which takes the time checking. noted is the last one that out has.
	rows, checking int64
	noted          consensus.Position
	stopped        bool
}

const step = ms / 2

func newNet(mutants mutant.Set) *net { return newNetOf(mutants, 1, 2, 3) }

func newNetOf(mutants mutant.Set, voters ...uint64) *net { return newCheckedNet(mutants, 0, voters...) }

// newCheckedNet makes a group whose leaders have the rows checked.
func newCheckedNet(mutants mutant.Set, checkEvery int64, voters ...uint64) *net {
	n := &net{mutants: mutants, now: 1000 * ms, checkEvery: checkEvery, peers: map[consensus.ReplicaID]*peer{}}
	n.lost = func(*consensus.Message) bool { return false }
	for _, v := range voters {
		id := consensus.ReplicaID(v)
		log, rows := bootstrapOf(voters...)
		n.peers[id] = &peer{net: n, id: id, log: log, state: rows[0].state}
		n.peers[id].start()
	}
	return n
}

func (p *peer) start() {
	r, err := consensus.New(p.config(), p.net.now)
	if err != nil {
		panic(err)
	}
	p.replica, p.begin, p.writes, p.unfit, p.stopped = r, nil, nil, false, false
}

func (p *peer) config() consensus.Config {
	return consensus.Config{Group: 1, ID: p.id, Hold: time.Duration(hold), MaxHold: time.Duration(hold),
		Heartbeat:  100 * time.Millisecond,
		CheckEvery: time.Duration(p.net.checkEvery), Storage: p.log, State: p.state, Mutants: p.net.mutants,
		Rand: func(n int64) int64 { return n * int64(p.id-1) / 8 }}
}

// crash ends the process of a replica; its log and rows stay.
func (p *peer) crash() { p.replica = nil }

// sorted are the replicas in the order of their numbers.
func (n *net) sorted() []*peer {
	var all []*peer
	for _, p := range n.peers {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *peer) int { return cmp.Compare(a.id, b.id) })
	return all
}

// run lets a time pass.
func (n *net) run(d int64) {
	for end := n.now + d; n.now < end; {
		n.now += step
		due := n.later
		n.later = nil
		slices.SortFunc(due, func(a, b timed) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
		for _, e := range due {
			if e.at <= n.now {
				e.do()
			} else {
				n.later = append(n.later, e)
			}
		}
		for _, p := range n.sorted() {
			if p.replica != nil && p.replica.Next() <= n.now {
				p.act(func(r *consensus.Replica) { r.Tick(n.now) })
			}
		}
	}
}

func (n *net) after(d int64, do func()) {
	n.seq++
	n.later = append(n.later, timed{n.now + d, n.seq, do})
}

func (n *net) note(format string, args ...any) {
	if n.out != nil {
		fmt.Fprintf(n.out, "%8.1f  "+format+"\n", append([]any{float64(n.now-1000*ms) / float64(ms)}, args...)...)
	}
}

// act calls a replica and does what it wants.
func (p *peer) act(call func(r *consensus.Replica)) {
	if p.replica == nil {
		return
	}
	p.replica.Disk.Set(p.busySince, p.low)
	call(p.replica)
	for p.replica != nil {
		rd := p.replica.Ready()
		if len(rd.Send)+len(rd.Snapshots) == 0 && rd.Write == nil && rd.Apply == nil && rd.Begin == nil && !rd.Gone &&
			!rd.Unfit && !rd.Stopped && rd.Transfer == 0 {
			return
		}
		p.handle(&rd)
	}
}

func (p *peer) handle(rd *consensus.Ready) {
	for i := range rd.Send {
		p.net.post(&rd.Send[i])
	}
	if rd.Write != nil {
		p.writes = append(p.writes, rd.Write)
		p.net.noteWrite(p, rd.Write)
		if !p.stuck {
			p.write()
		}
	}
	if rd.Apply != nil {
		p.apply(rd.Apply)
	}
	if rd.Transfer != 0 {
		p.net.note("%d: its disk is slow", p.id)
		p.act(func(r *consensus.Replica) { _ = r.Transfer(p.net.now, rd.Transfer, consensus.RegisteredUnknown) })
	}
	if rd.Begin != nil {
		p.begin = rd.Begin
		p.net.note("%d: begins to lead in term %d; may decide in %.1f ms", p.id, rd.Begin.Term,
			float64(max(0, rd.Begin.Wait-p.net.now))/float64(ms))
	}
	for _, to := range rd.Snapshots {
		p.sendSnapshot(to)
	}
	if rd.Gone {
		p.gone = true
		p.net.note("%d: is gone", p.id)
		p.crash()
		return
	}
	if rd.Unfit {
		p.unfit = true
		p.net.note("%d: is unfit", p.id)
	}
	if rd.Stopped {
		p.stopped = true
		p.net.note("%d: has stopped", p.id)
	}
}

// write ends the writes that wait.
func (p *peer) write() {
	ws, r := p.writes, p.replica
	p.writes = nil
	p.written = max(p.written, p.net.now+step+p.delay)
	p.net.after(p.written-p.net.now, func() {
		if p.replica != r {
			return
		}
		for _, w := range ws {
			p.persist(w)
			p.act(func(r *consensus.Replica) { r.Written(p.net.now, w) })
		}
	})
}

func (p *peer) persist(w *consensus.Write) {
	if w.Snapshot != nil {
		p.state = w.State
		_ = p.log.ApplySnapshot(*w.Snapshot) // fails only for an older one
	}
	if err := p.log.Append(w.Entries); err != nil {
		panic(err)
	}
	if !raft.IsEmptyHardState(w.HardState) {
		_ = p.log.SetHardState(w.HardState) // it never fails
	}
}

func (p *peer) apply(a *consensus.Apply) {
	what := describeConf(&p.state, &a.State)
	if a.Check {
		what += ", a check"
	}
	p.net.note("%d: applies up to %d%s", p.id, a.State.Position, what)
	for _, e := range a.Entries {
		p.applied = append(p.applied, string(e.Data))
	}
	p.state = a.State
	if a.Check {
		p.check(a.State.Position)
	}
	if p.slow {
		p.unreported = append(p.unreported, a)
		return
	}
	p.act(func(r *consensus.Replica) { r.Applied(p.net.now, a) })
}

// check computes the checksum of the rows as they are now.
func (p *peer) check(at consensus.Position) {
	sum := uint64(p.rows) + uint64(crc32.ChecksumIEEE([]byte(strings.Join(p.applied, ","))))
	r := p.replica
	p.net.after(p.checking, func() {
		if p.replica == r {
			p.act(func(r *consensus.Replica) { r.Damage().Checked(p.net.now, at, sum) })
		}
	})
}

func (n *net) post(m *consensus.Message) {
	n.noteMessage(m)
	if n.lost(m) {
		return
	}
	raw, err := m.Raft.Marshal()
	if err != nil {
		panic(err)
	}
	n.after(ms, func() {
		c := *m
		c.Raft = raftpb.Message{}
		if err := c.Raft.Unmarshal(raw); err != nil {
			panic(err)
		}
		n.deliver(&c)
	})
}

func (n *net) deliver(m *consensus.Message) {
	p := n.peers[m.To]
	if p == nil && consensus.MayCreate(m, m.Place, 0, n.mutants) {
		p = &peer{net: n, id: m.To, log: raft.NewMemoryStorage()}
		n.peers[m.To] = p
		p.start()
	}
	if p != nil {
		p.act(func(r *consensus.Replica) { r.Step(n.now, m) })
	}
}

// sendSnapshot sends the rows, which takes 10 ms.
func (p *peer) sendSnapshot(to consensus.ReplicaID) {
	m, err := p.replica.Snapshots().Message(p.net.now, to, &p.state)
	if err != nil {
		panic(err)
	}
	p.net.note("%d -> %d  rows as of %d", p.id, to, p.state.Position)
	p.net.after(9*ms, func() {
		p.net.post(&m)
		p.act(func(r *consensus.Replica) { r.Snapshots().Ended(p.net.now, to, true) })
	})
}

// lead runs until a replica has begun to lead.
func (n *net) lead() *peer {
	for range 4000 {
		n.run(step)
		for _, p := range n.sorted() {
			if p.replica != nil && p.begin != nil && p.replica.Leads() == p.begin.Term {
				return p
			}
		}
	}
	panic("no leader")
}

// propose appends an entry at a leader.
func (p *peer) propose(t *testing.T, data string) {
	p.act(func(r *consensus.Replica) {
		_, err := r.Propose([]byte(data))
		require.NoError(t, err)
	})
}

// do takes a step of a change, and waits until it is applied.
func (p *peer) do(t *testing.T, step func(r *consensus.Replica) error) {
	p.act(func(r *consensus.Replica) { require.NoError(t, step(r)) })
	p.net.run(10 * ms)
}

// addLearner adds replica 4 and waits until it has caught up.
func (p *peer) addLearner(t *testing.T) { require.Equal(t, consensus.ReplicaID(4), p.addNext(t)) }

// addNext adds a replica with the next number.
func (p *peer) addNext(t *testing.T) (id consensus.ReplicaID) {
	p.do(t, func(r *consensus.Replica) (err error) {
		id, err = r.Changes().AddLearner(p.net.now, "D")
		return err
	})
	p.net.run(1500 * ms)
	require.True(t, p.replica.Changes().HasCaughtUp(id))
	return id
}

// isolate loses all messages between two sets of replicas.
func (n *net) isolate(a ...consensus.ReplicaID) {
	n.lost = func(m *consensus.Message) bool { return slices.Contains(a, m.From) != slices.Contains(a, m.To) }
}

func (n *net) heal() { n.lost = func(*consensus.Message) bool { return false } }

var errNone = errors.New("no such replica")
