package world

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/node/replication"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/shardlog"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Replica is a replica of a shard on a node. The code of package replication decides what is proposed, applied and
// released; the log of the node and its rows are this package's.
type Replica struct {
	w     *World
	shard *Shard
	disk  *Disk
	node  *Node
	group *group
	id    consensus.ReplicaID
	log   *raft.MemoryStorage
	// rep is nil while the process is down, and after the end of the replica. starts counts its starts and ends; events
	// that an earlier one scheduled are dropped.
	rep    *replication.Replica
	starts int
	// isDestroyed: the replica was removed, and its rows are not the node's any more. isUnfit and
	// isStopped: it knows that it is unfit, or that the shard has stopped.
	isDestroyed, isUnfit, isStopped bool
	// applied is the last position that is applied, flushed the last one whose rows are durable.
	applied, flushed consensus.Position
	// staged are the chunks of the Raft snapshots that have arrived, by their positions.
	staged map[consensus.Position][][]byte
	// applying are the batches that are not in the store yet, oldest first.
	applying []*replication.Apply
	// notes are those of steps that are not proposed. proposing: a proposal is scheduled. last is the last proposal.
	notes     []*Note
	proposing bool
	last      entryName
	// unconfirmed are the notes of steps without entries, if there are no leases.
	unconfirmed []unconfirmed
	// next is when a tick is scheduled.
	next int64
}

// unconfirmed are notes of steps that did not happen unless a later heartbeat shows that the replica led (R3.14).
type unconfirmed struct {
	at    shardlog.Position
	after entryName
	notes []*Note
}

// entryName names an entry of a group.
type entryName struct {
	position consensus.Position
	term     consensus.Term
}

// newReplica makes a replica, which is empty.
func newReplica(s *Shard, id consensus.ReplicaID) *Replica {
	r := &Replica{w: s.w, shard: s, disk: s.Disk, node: s.Node, group: s.w.groups[s.ID], id: id,
		log: raft.NewMemoryStorage(), staged: map[consensus.Position][][]byte{}}
	r.group.homes[id] = s
	s.replica, s.greatest = r, max(s.greatest, id)
	return r
}

// bootstrap gives a replica the log and the rows of a group that is formed with these voters.
func (r *Replica) bootstrap(voters []consensus.ReplicaID) {
	rows, state := replication.Bootstrap(voters)
	r.group.state = state
	store := r.disk.Store
	if _, err := store.Append([]entry.Group{{Shard: r.shard.ID, Entries: rows}}); err != nil {
		panic(err)
	}
	store.SyncTo(store.Last())
	meta := raftpb.SnapshotMetadata{ConfState: state.Conf, Index: uint64(state.Position), Term: uint64(state.Term)}
	_ = r.log.ApplySnapshot(raftpb.Snapshot{Metadata: meta}) // fails only for an older one
	_ = r.log.SetHardState(raftpb.HardState{Term: uint64(state.Term), Commit: uint64(state.Position)})
}

// start starts the replica with what the disk has kept.
func (r *Replica) start() {
	w := r.w
	var err error
	r.rep, err = r.open(consensus.Config{Group: r.shard.ID, ID: r.id, Hold: w.Hold, MaxHold: w.Hold,
		Heartbeat: w.Hold / 8, NoLeases: w.NoLeases, CheckEvery: w.CheckEvery, Storage: r.log, Rand: r.draw,
		Mutants: w.Mutants})
	if err != nil {
		w.Fail("%v on %v: %v", r.shard.ID, r.node.ID, err)
		return
	}
	r.next = 0
	r.starts++
	r.schedule()
}

// draw draws a number below n. Without randomness, replicas draw different ones.
func (r *Replica) draw(n int64) int64 {
	if r.w.Rng == nil {
		return n * (int64(r.id-1) % int64(r.w.Replicas)) / int64(r.w.Replicas)
	}
	return r.w.Rng.Int64N(n)
}

// stop drops what is in memory.
func (r *Replica) stop() {
	r.loseNotes()
	r.rep, r.applying, r.proposing, r.last = nil, nil, false, entryName{}
	r.isUnfit, r.isStopped = false, false
	r.applied, r.starts = r.flushed, r.starts+1
	clear(r.staged)
	r.shard.end()
}

// act calls the group's replica and does what follows, if the process runs.
func (r *Replica) act(f func(g *consensus.Replica)) {
	if r.rep == nil {
		return
	}
	r.rep.Group().Disk.Set(r.disk.busySince, false)
	if r.w.ClocksMeasured {
		r.rep.Group().Leadership().SetClockOff(r.node.Clocks.IsOwnOff(r.peers()))
	}
	f(r.rep.Group())
	r.perform()
}

// perform does what the replica wants to be done.
func (r *Replica) perform() {
	if r.rep != nil {
		r.rep.Group().Disk.Set(r.disk.busySince, false)
	}
	for r.rep != nil && r.w.Err == nil {
		rd, err := r.rep.Ready()
		if err != nil {
			r.w.Fail("%v on %v: %v", r.shard.ID, r.node.ID, err)
			return
		}
		if rd.Empty() {
			break
		}
		r.handle(&rd)
	}
	if r.rep != nil {
		r.learnLeader()
		r.schedule()
	}
}

func (r *Replica) handle(rd *replication.Ready) {
	if r.group.reached(r.rep.Group().State()) {
		r.w.Counts.Changes++
	}
	for _, m := range rd.Send {
		r.post(m)
	}
	if rd.Write != nil {
		r.disk.write(r, rd.Write)
	}
	for _, to := range rd.Snapshots {
		r.sendSnapshot(to)
	}
	if rd.Apply != nil {
		r.applying = append(r.applying, rd.Apply)
		if len(r.applying) == 1 {
			r.apply()
		}
	}
	if rd.Ended {
		r.loseNotes() // what is not proposed is dropped with the machine
		r.shard.end()
	}
	r.confirmNotes()
	for _, env := range rd.Release {
		r.w.Send(Source{r.node, true}, env)
	}
	for _, reads := range rd.Reads {
		for _, q := range reads.Start {
			r.shard.startRead(q)
		}
	}
	if rd.Begin != nil {
		r.shard.begin(rd.Begin)
		r.announce(r.rep.Machine())
	}
	if to := r.group.homes[rd.Transfer]; to != nil {
		r.shard.Transfer(to.Node)
	}
	if rd.Unfit {
		r.onUnfit()
	}
	if rd.Stopped {
		r.isStopped = true
		r.w.Counts.Stopped++
	}
	if rd.Gone {
		r.destroy()
	}
}

// home returns where the replica is, or is to be, that a message is for; nil if there is no such place any more.
func (w *World) home(m *consensus.Message) *Shard {
	if s := w.groups[m.Group].homes[m.To]; s != nil {
		return s
	}
	for _, n := range w.Nodes {
		if s := n.shard(m.Group); s.Disk.place() == m.Place {
			return s
		}
	}
	return nil
}

// receive passes a message to the replica, with the rows of a Raft snapshot. The first message of a leader to a new
// replica makes it (R7.17).
func (s *Shard) receive(m *consensus.Message, chunks [][]byte) {
	if !s.Disk.Up {
		return
	}
	if r := s.replica; r != nil && r.isUnfit && consensus.MayCreate(m, s.Disk.place(), s.greatest, s.w.Mutants) {
		r.abandon()
	}
	if s.replica == nil && consensus.MayCreate(m, s.Disk.place(), s.greatest, s.w.Mutants) {
		s.w.Trace("%v makes replica %d of %v", s.Node.ID, m.To, s.ID)
		newReplica(s, m.To).start()
	}
	r := s.replica
	if r == nil {
		return
	}
	if chunks != nil {
		r.staged[consensus.Position(m.Raft.Snapshot.Metadata.Index)] = chunks
	}
	if from := r.group.homes[m.From]; from != nil && s.w.ClocksMeasured && m.IsExchange() {
		s.Node.Clocks.Observe(from.Node.ID, m.Echo, m.Sent, s.Node.Local())
	}
	r.act(func(g *consensus.Replica) { g.Step(r.node.Local(), m) })
}

// peers are the nodes of the other voters of the group.
func (r *Replica) peers() (out []kv.NodeID) {
	state := r.rep.Group().State()
	for _, v := range state.Conf.Voters {
		if home := r.group.homes[consensus.ReplicaID(v)]; home != nil && home != r.shard {
			out = append(out, home.Node.ID)
		}
	}
	return out
}

// noRows are the chunks of a shard without a replica.
func noRows() [][]byte {
	var c engine.ChunkEncoder
	c.Add(&engine.ShardRow{Table: entry.TableReplica})
	return [][]byte{c.Chunk(), c.Chunk()}
}

// destroy ends the replica, as it was removed. The node keeps its number.
func (r *Replica) destroy() {
	r.w.Trace("%v destroys replica %d of %v", r.node.ID, r.id, r.shard.ID)
	if !r.group.released[r.id] {
		r.w.Fail("%v destroys replica %d of %v, which is not released", r.node.ID, r.id, r.shard.ID)
	}
	r.stop()
	r.swapRows(noRows())
	r.isDestroyed, r.shard.replica = true, nil
}

// post sends a message to another replica of the group.
func (r *Replica) post(m consensus.Message) {
	w, home := r.w, r.w.home(&m)
	if home == nil || !w.Calm && (w.isCut(r.node, home.Node) || w.Chance(w.Loss)) {
		return
	}
	raw, err := m.Raft.Marshal()
	if err != nil {
		w.Fail("a message of %v cannot be encoded: %v", m.Group, err)
		return
	}
	copies := 1
	if w.Chance(w.Dup) {
		copies = 2
	}
	for range copies {
		w.After(w.latency(false), func() {
			c := m
			c.Raft = raftpb.Message{}
			if err := c.Raft.Unmarshal(raw); err != nil {
				w.Fail("a message of %v cannot be decoded: %v", m.Group, err)
				return
			}
			home.Node.WhenAwake(func() { home.receive(&c, nil) })
		})
	}
}

// apply sets the rows of the oldest batch.
func (r *Replica) apply() {
	starts := r.starts
	r.w.After(r.w.UpTo(r.w.Sync/4), func() {
		r.node.WhenAwake(func() {
			if r.starts != starts {
				return
			}
			a := r.applying[0]
			if _, err := r.disk.Store.Append([]entry.Group{a.Group}); err != nil {
				r.w.Fail("%v on %v: %v", r.shard.ID, r.node.ID, err)
				return
			}
			r.applied = a.Last
			if a.Check {
				r.check(a.Last)
			}
			if r.w.OneIn(20) {
				r.disk.flush()
			}
			if err := r.group.onApplied(a.Entries); err != nil {
				r.w.Fail("%v: %v", r.shard.ID, err)
			}
			r.rep.Applied(r.node.Local(), a)
			r.applying = r.applying[1:]
			if len(r.applying) > 0 {
				r.apply()
			}
			r.perform()
		})
	})
}

// submit takes the output of a step of the machine. It is proposed at once, or together with steps that follow.
func (r *Replica) submit(out *shard.Output, notes []*Note) {
	w := r.w
	r.rep.Submit(out, r.shard.M.CSN())
	r.notes = append(r.notes, notes...)
	if r.proposing {
		return
	}
	if w.Rng == nil || w.OneIn(3) {
		r.propose()
		return
	}
	r.proposing = true
	starts := r.starts
	w.After(w.UpTo(w.Step+w.Sync/8), func() {
		if r.starts == starts {
			r.proposing = false
			r.propose()
		}
	})
}

// propose proposes what has been submitted. Steps that wrote nothing share the fate of the last entry before them.
func (r *Replica) propose() {
	at, err := r.rep.Propose(r.node.Local())
	notes := r.notes
	r.notes = nil
	switch {
	case err != nil:
		r.lose(notes)
	case at != 0:
		r.last = entryName{at, r.rep.Machine()}
		fallthrough
	case !r.w.NoLeases:
		r.group.attach(r.last, notes)
	default:
		r.unconfirmed = append(r.unconfirmed, unconfirmed{r.rep.Appended(), r.last, notes})
	}
	r.perform()
}

// confirmNotes attaches the notes of steps whose messages may leave.
func (r *Replica) confirmNotes() {
	n := 0
	for ; n < len(r.unconfirmed) && r.unconfirmed[n].at <= r.rep.Durable(); n++ {
		r.group.attach(r.unconfirmed[n].after, r.unconfirmed[n].notes)
	}
	r.unconfirmed = r.unconfirmed[n:]
}

// loseNotes makes the notes Lost of steps that the end of the machine drops.
func (r *Replica) loseNotes() {
	r.lose(r.notes)
	for i := range r.unconfirmed {
		r.lose(r.unconfirmed[i].notes)
	}
	r.notes, r.unconfirmed = nil, nil
}

func (r *Replica) lose(notes []*Note) {
	for _, n := range notes {
		n.Lost = true
	}
}

// learnLeader has the node know the leader of the group.
func (r *Replica) learnLeader() {
	lead, term := r.rep.Group().Leader()
	if home := r.group.homes[lead]; home != nil {
		r.node.learnLeader(r.shard.ID, term, home.Node.ID)
	}
}

// learnLeader records the leader of a shard in a term, which is the incarnation of its machine.
func (n *Node) learnLeader(s kv.ShardID, term consensus.Term, leader kv.NodeID) {
	if n.leaders.Learn(s, term, leader) && n.GatewayUp {
		n.OnAllMachines(func(m *txn.Gateway) { m.Learn(n.Local(), s, kv.Incarnation(term)) })
	}
}

// announce informs the nodes without a replica of the leader, and repeats it as long as this replica leads (R4.4). A
// node may not know yet that its replica was removed; if all others that this replica knows are removed too, no other
// message reaches it.
func (r *Replica) announce(term consensus.Term) {
	w := r.w
	if r.rep == nil || r.rep.Machine() != term {
		return
	}
	state := r.rep.Group().State()
	for _, n := range w.Nodes {
		other := n.replica(r.shard.ID)
		isMember := other != nil && (state.IsVoter(other.id) || state.IsLearner(other.id))
		if !isMember && (w.Calm || !w.isCut(r.node, n) && !w.Chance(w.Loss)) {
			w.After(w.latency(false), func() { n.WhenAwake(func() { n.learnLeader(r.shard.ID, term, r.node.ID) }) })
		}
	}
	w.After(w.Hold/8, func() { r.node.WhenAwake(func() { r.announce(term) }) })
}

// schedule schedules a tick.
func (r *Replica) schedule() {
	at := min(r.node.instant(r.rep.Group().Next()), r.w.now+int64(r.w.Hold/16))
	at = max(at, r.w.now+int64(r.w.Hold/1024))
	if r.next > r.w.now && r.next <= at {
		return
	}
	r.next = at
	starts := r.starts
	r.w.At(at, func() {
		r.node.WhenAwake(func() {
			if r.starts == starts && r.next == at {
				r.next = 0
				r.act(func(g *consensus.Replica) { g.Tick(r.node.Local()) })
			}
		})
	})
}

// Transfer has the shard's leader transfer leadership to another node. Before that, holders of locks may end (R14.3).
// It does nothing if there is no leader, or the other node has no voter.
func (s *Shard) Transfer(to *Node) {
	if s.M == nil || to == s.Node || s.replica.voterAt(to) == 0 {
		return
	}
	s.transferTo, s.transferBy = to, s.w.now+int64(s.w.Hold/4)
	s.wake(s.w.now)
	s.w.At(s.transferBy, func() {
		if s.transferTo != nil {
			s.wake(s.w.now)
		}
	})
}

// voterAt returns the voter of the group on a node, zero if it has none.
func (r *Replica) voterAt(n *Node) consensus.ReplicaID {
	o, state := n.replica(r.shard.ID), r.rep.Group().State()
	if o == nil || !state.IsVoter(o.id) {
		return 0
	}
	return o.id
}

// stepDown ends the leadership of a replica, because a message has named a later incarnation (R3.7).
func (r *Replica) stepDown(later kv.Incarnation) {
	r.w.Counts.Deposed++
	r.act(func(g *consensus.Replica) { g.StepDown(r.node.Local(), consensus.Term(later)) })
}

// transfer ends the machine with its last entries and the transfer entry.
func (r *Replica) transfer(to *Node) {
	successor := r.voterAt(to)
	if successor == 0 { // the configuration has changed
		r.shard.transferTo = nil
		return
	}
	r.propose()
	if r.shard.M == nil {
		return
	}
	registered := r.shard.M.RegisteredUntil()
	r.rep.Submit(&shard.Output{Entries: r.shard.M.TransferEntries()}, r.shard.M.CSN())
	r.propose()
	r.act(func(g *consensus.Replica) {
		err := g.Transfer(r.node.Local(), successor, registered)
		if err != nil { // the machine has ended all the same
			_, term := g.Leader()
			g.StepDown(r.node.Local(), term+1)
			return
		}
		r.w.Counts.Transfers++
		r.w.Trace("%v TRANSFERS %v to %v", r.node.ID, r.shard.ID, to.ID)
	})
}
