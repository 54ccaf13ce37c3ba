package replication

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/shardlog"
	"github.com/linchpindb/linchpin/pkg/shardlog/logtest"
)

// group is a shard with three replicas, which share a clock. Messages arrive in the order in which they were sent.
type group struct {
	id       kv.ShardID
	noLeases bool
	now      int64
	replicas [3]*member
	sent     []consensus.Message
	begun    *Begin
	released []*msg.Envelope
	reads    []shardlog.Reads
	ended    int
}

// member is a replica with its disk, whose log and rows are not lost.
type member struct {
	*Replica
	log    *raft.MemoryStorage
	store  *memstore.Store
	writes []*consensus.Write
	apply  []*Apply
}

const hold = 800 * time.Millisecond

func newGroup(id kv.ShardID) *group { return newGroupOf(id, false) }

func newGroupOf(id kv.ShardID, noLeases bool) *group {
	g := &group{id: id, noLeases: noLeases, now: 1}
	for i := range g.replicas {
		m := &member{log: raft.NewMemoryStorage(), store: memstore.NewAutoSync()}
		rows, state := Bootstrap([]consensus.ReplicaID{1, 2, 3})
		_, err := m.store.Append([]entry.Group{{Shard: id, Entries: rows}})
		must(err)
		must(m.log.ApplySnapshot(raftpb.Snapshot{Metadata: raftpb.SnapshotMetadata{ConfState: state.Conf,
			Index: uint64(state.Position), Term: uint64(state.Term)}}))
		must(m.log.SetHardState(raftpb.HardState{Term: 1, Commit: 1}))
		g.replicas[i] = m
		g.start(i)
	}
	g.elect()
	return g
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// start starts a replica from what its disk has.
func (g *group) start(i int) {
	m := g.replicas[i]
	row := m.store.Read(g.id, entry.Read{Kind: entry.ReadRow, Table: entry.TableReplica}).Rows[0].Value
	var err error
	m.Replica, err = New(consensus.Config{Group: g.id, ID: consensus.ReplicaID(i + 1), Hold: hold, MaxHold: hold,
		NoLeases: g.noLeases, Heartbeat: hold / 8, Storage: m.log,
		Rand: func(n int64) int64 { return n * int64(i) / 3 }}, row, g.now)
	must(err)
	m.writes, m.apply = nil, nil
}

// elect lets time pass until a machine begins.
func (g *group) elect() {
	g.begun = nil
	for g.begun == nil {
		g.pass(10 * time.Millisecond)
	}
}

// pass lets time pass, and everything be done.
func (g *group) pass(d time.Duration) {
	g.now += int64(d)
	for _, m := range g.replicas {
		if m.Replica != nil {
			m.Group().Tick(g.now)
		}
	}
	for g.work(nil) {
	}
}

// work does one thing that is to be done, any without a source, and reports whether there was one.
func (g *group) work(r *rand.Rand) bool {
	for i := range g.replicas {
		g.take(i)
	}
	for i, m := range g.replicas {
		switch {
		case m.Replica == nil || r != nil && r.IntN(3) == 0:
		case len(m.writes) > 0:
			w := m.writes[0]
			m.writes = m.writes[1:]
			must(m.log.Append(w.Entries))
			must(m.log.SetHardState(hardState(m.log, w)))
			m.Group().Written(g.now, w)
			g.take(i)
			return true
		case len(m.apply) > 0:
			a := m.apply[0]
			m.apply = m.apply[1:]
			_, err := m.store.Append([]entry.Group{a.Group})
			must(err)
			m.Applied(g.now, a)
			g.take(i)
			return true
		}
	}
	if len(g.sent) == 0 {
		return false
	}
	m := g.sent[0]
	g.sent = g.sent[1:]
	if to := g.replicas[m.To-1]; to.Replica != nil {
		to.Group().Step(g.now, &m)
		g.take(int(m.To - 1))
	}
	return true
}

// hardState is what the log has after a write.
func hardState(log *raft.MemoryStorage, w *consensus.Write) raftpb.HardState {
	if raft.IsEmptyHardState(w.HardState) {
		hs, _, _ := log.InitialState()
		return hs
	}
	return w.HardState
}

// take takes over what a replica wants.
func (g *group) take(i int) {
	m := g.replicas[i]
	for m.Replica != nil {
		rd, err := m.Ready()
		must(err)
		if rd.Empty() {
			return
		}
		g.sent = append(g.sent, rd.Send...)
		g.released, g.reads = append(g.released, rd.Release...), append(g.reads, rd.Reads...)
		if rd.Write != nil {
			m.writes = append(m.writes, rd.Write)
		}
		if rd.Apply != nil {
			m.apply = append(m.apply, rd.Apply)
		}
		if rd.Ended {
			g.ended++
		}
		if rd.Begin != nil {
			g.begun = rd.Begin
		}
	}
}

// leader returns the replica with a machine, and its number.
func (g *group) leader() (*member, int) {
	for i, m := range g.replicas {
		if m.Replica != nil && m.machine != nil {
			return m, i
		}
	}
	return nil, -1
}

// logs are those of some shards.
type logs map[kv.ShardID]*group

func (l logs) Log(s kv.ShardID) shardlog.Log {
	m, _ := l[s].leader()
	return &m.machine.log
}

func (l logs) Proceed(r *rand.Rand, all bool) {
	for s := range kv.ShardID(len(l)) {
		g := l[s]
		if m, _ := g.leader(); all || r.IntN(2) == 0 {
			_, err := m.Propose(g.now)
			must(err)
		}
		source := r
		if all {
			source = nil
		}
		for n := 0; g.work(source) && (all || n < 4); n++ {
		}
	}
}

// Crash stops the leaders, which lose what they have not written. The others elect new ones.
func (l logs) Crash(r *rand.Rand) {
	for s := range kv.ShardID(len(l)) {
		g := l[s]
		_, i := g.leader()
		g.replicas[i].Replica, g.replicas[i].writes, g.replicas[i].apply = nil, nil, nil
		g.elect()
		g.start(i)
		g.pass(10 * time.Millisecond)
	}
}

func (l logs) Read(s kv.ShardID, key []byte) []byte {
	m, _ := l[s].leader()
	rows := m.store.Read(s, entry.Read{Kind: entry.ReadRow, Table: entry.TableOutcome, Key: key}).Rows
	if len(rows) == 0 {
		return nil
	}
	return rows[0].Value
}

// TestLogs runs the contract of shard logs.
func TestLogs(t *testing.T) {
	logtest.Run(t, func() logtest.Logs {
		return logs{0: newGroup(0), 1: newGroup(1), 2: newGroup(2)}
	})
}

func message(n int) *msg.Envelope { return &msg.Envelope{Body: &msg.Read{Number: uint32(n)}} }

func writes(key string) []entry.Entry {
	return []entry.Entry{{Table: entry.TableOutcome, Key: []byte(key), Value: []byte("x")}}
}

// TestOutputWaitsForTheGroup: messages leave at the commit, reads start when the rows are there, and a step that wrote
// nothing waits for those before it.
func TestOutputWaitsForTheGroup(t *testing.T) {
	g := newGroup(1)
	m, _ := g.leader()
	m.Submit(&shard.Output{Send: []*msg.Envelope{message(1)}}, 5)
	g.take(0)
	require.Len(t, g.released, 1, "nothing is written yet")
	m.Submit(&shard.Output{Entries: writes("a"), Send: []*msg.Envelope{message(2)}, Reads: []entry.Read{{ID: 1}}}, 6)
	m.Submit(&shard.Output{Send: []*msg.Envelope{message(3)}}, 6)
	at, err := m.Propose(g.now)
	require.NoError(t, err)
	for m.Group().Committed() < at {
		require.Len(t, g.released, 1)
		require.True(t, g.work(nil))
	}
	g.take(0)
	require.Len(t, g.released, 3, "in order")
	require.Equal(t, uint32(3), msg.As[msg.Read](g.released[2]).Number)
	require.Empty(t, g.reads, "the rows are not there yet")
	for g.work(nil) {
	}
	require.Equal(t, []shardlog.Reads{{Start: []entry.Read{{ID: 1}}}}, g.reads)
	g.pass(hold / 8) // the next heartbeat reports the commit
	for _, o := range g.replicas {
		row := o.store.Read(1, entry.Read{Kind: entry.ReadRow, Table: entry.TableOutcome, Key: []byte("a")})
		require.NotEmpty(t, row.Rows)
		require.Equal(t, kv.CSN(6), o.csn, "the CSN travels with the entries")
	}
}

// TestPresentWaitsForHeartbeat: without leases, what a step without entries reports leaves when a majority has
// acknowledged a heartbeat that was sent after the step (R3.14). One heartbeat serves all that was submitted before.
func TestPresentWaitsForHeartbeat(t *testing.T) {
	g := newGroupOf(1, true)
	m, i := g.leader()
	submit := func(n int, entries []entry.Entry) {
		m.Submit(&shard.Output{Entries: entries, Send: []*msg.Envelope{message(n)}, Reads: []entry.Read{{ID: uint64(n)}}}, 5)
		g.take(i)
	}
	left := func() (n []uint32) {
		for _, env := range g.released {
			n = append(n, msg.As[msg.Read](env).Number)
		}
		return n
	}
	propose := func() (heartbeats int) {
		_, err := m.Propose(g.now)
		require.NoError(t, err)
		g.take(i)
		for _, x := range g.sent {
			if x.Raft.Type == raftpb.MsgHeartbeat {
				heartbeats++
			}
		}
		return heartbeats
	}
	m.Group().Leadership().Beat(g.now)
	g.take(i)
	earlier := g.sent
	g.sent = nil
	submit(1, nil)
	submit(2, nil)
	require.Empty(t, left(), "nothing is proposed")
	require.Equal(t, 2, propose(), "at once, to both followers, for both steps")
	after := g.sent
	g.sent = earlier
	for g.work(nil) {
	}
	require.Empty(t, left(), "heartbeats that were sent before the steps are acknowledged, in the same instant")
	require.Len(t, g.reads, 2, "reads of the store wait for no confirmation")
	submit(3, nil)
	g.sent = after[:1]
	for g.work(nil) {
	}
	require.Equal(t, []uint32{1, 2}, left(), "a majority has acknowledged those that were sent after them")

	submit(4, writes("a"))
	submit(5, nil)
	require.Zero(t, propose(), "the commit of the entry confirms the steps before and after it: it is proposed after them")
	for g.work(nil) {
	}
	require.Equal(t, []uint32{1, 2, 3, 4, 5}, left())

	term := m.Machine()
	submit(6, nil)
	propose()
	g.sent = nil // the leader is cut off
	m.Group().StepDown(g.now, term+1)
	g.take(i)
	require.Equal(t, 1, g.ended)
	require.Len(t, left(), 5, "an unconfirmed response never leaves")
}

// TestDeposedMachineIsSilent: what waits is dropped (R2.5), and the next leader begins with the CSN of the entries that
// were committed.
func TestDeposedMachineIsSilent(t *testing.T) {
	g := newGroup(1)
	m, i := g.leader()
	term := m.Machine()
	m.Submit(&shard.Output{Entries: writes("a")}, 7)
	_, err := m.Propose(g.now)
	require.NoError(t, err)
	g.pass(0)
	m.Submit(&shard.Output{Entries: writes("b"), Send: []*msg.Envelope{message(1)}}, 8)
	_, err = m.Propose(g.now)
	require.NoError(t, err)
	g.take(i)
	g.sent = nil // the followers do not get it
	m.Group().StepDown(g.now, term+1)
	g.take(i)
	require.Equal(t, 1, g.ended)
	require.Zero(t, m.Machine())
	require.Zero(t, m.LeaseEnd(g.now))
	m.writes = nil
	g.replicas[i].Replica = nil
	g.elect()
	require.Equal(t, kv.CSN(7), g.begun.CSN)
	require.Greater(t, g.begun.Incarnation, kv.Incarnation(term))
	require.Empty(t, g.released)
}

// TestMachineWaitsForTheGroup: a machine whose entries are not committed takes no step at the bound (R2.6), nor if its
// store has not applied too much.
func TestMachineWaitsForTheGroup(t *testing.T) {
	g := newGroup(1)
	m, i := g.leader()
	log := &m.machine.log
	log.unappliedBytes += maxUnappliedBytes + 1
	require.Zero(t, m.LeaseEnd(g.now))
	log.unappliedBytes -= maxUnappliedBytes + 1
	require.NotZero(t, m.LeaseEnd(g.now))
	for range maxUncommitted {
		m.Submit(&shard.Output{Entries: writes("a")}, 1)
		_, err := m.Propose(g.now)
		require.NoError(t, err)
	}
	g.take(i)
	require.Zero(t, m.LeaseEnd(g.now))
	for g.work(nil) {
	}
	require.NotZero(t, m.LeaseEnd(g.now))
	require.Zero(t, log.unappliedBytes)
}

// TestMachineEndsWhenRowsCannotBeRead: what waits is dropped, and another replica leads. The last fit one goes on.
func TestMachineEndsWhenRowsCannotBeRead(t *testing.T) {
	g := newGroup(1)
	for range 2 {
		m, i := g.leader()
		before, term := g.ended, m.Machine()
		g.released = nil
		m.Submit(&shard.Output{Entries: writes("a"), Send: []*msg.Envelope{message(1)}}, 7)
		require.True(t, m.SetUnfit(g.now))
		require.Zero(t, m.Machine())
		g.take(i)
		require.Equal(t, before+1, g.ended)
		g.elect()
		require.Greater(t, g.begun.Incarnation, kv.Incarnation(term))
		require.Empty(t, g.released)
		g.pass(hold / 4) // the leader learns which replicas are unfit
		g.pass(hold / 4)
	}
	m, _ := g.leader()
	require.False(t, m.SetUnfit(g.now))
	require.NotZero(t, m.LeaseEnd(g.now))
}

// TestDamagedRowIsRefused: a replica does not start with a row that it cannot decode.
func TestDamagedRowIsRefused(t *testing.T) {
	_, err := New(consensus.Config{Group: 1, ID: 2}, []byte{0xff}, 0)
	require.ErrorContains(t, err, "replica 2 of shard 1: its row cannot be decoded")
}
