package world

import (
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/node/replication"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Replica is a replica of a shard on a node. The code of package replication decides what is proposed, applied and
// released; the log of the node and its rows are this package's.
type Replica struct {
	w     *World
	shard *Shard
	disk  *Disk
	node  *Node
	id    consensus.ReplicaID
	// peers are the nodes of the group, by replica.
	peers []*Node
	log   *raft.MemoryStorage
	// rep is nil while the process is down.
	rep *replication.Replica
	// applied is the last position that is applied, flushed the last one whose rows are durable.
	applied, flushed consensus.Position
	// staged are the chunks of the Raft snapshot that has arrived last.
	staged [][]byte
	// applying are the batches that are not in the store yet, oldest first.
	applying []*replication.Apply
	// notes are those of steps that are not proposed. proposing: a proposal is scheduled. last is the last proposal.
	notes     []*Note
	proposing bool
	last      entryName
	// next is when a tick is scheduled.
	next int64
}

// entryName names an entry of a group.
type entryName struct {
	position consensus.Position
	term     consensus.Term
}

// newReplica makes a replica of a group that is formed by all of these nodes.
func newReplica(s *Shard, d *Disk, id consensus.ReplicaID, peers []*Node) *Replica {
	r := &Replica{w: d.w, shard: s, disk: d, node: d.Node, id: id, peers: peers, log: raft.NewMemoryStorage()}
	voters := make([]consensus.ReplicaID, len(peers))
	for i := range peers {
		voters[i] = consensus.ReplicaID(i + 1)
	}
	rows, state := replication.Bootstrap(voters)
	if _, err := d.Store.Append([]entry.Group{{Shard: s.ID, Entries: rows}}); err != nil {
		panic(err)
	}
	d.Store.SyncTo(d.Store.Last())
	meta := raftpb.SnapshotMetadata{ConfState: state.Conf, Index: uint64(state.Position), Term: uint64(state.Term)}
	_ = r.log.ApplySnapshot(raftpb.Snapshot{Metadata: meta}) // fails only for an older one
	_ = r.log.SetHardState(raftpb.HardState{Term: uint64(state.Term), Commit: uint64(state.Position)})
	return r
}

// start starts the replica with what the disk has kept.
func (r *Replica) start() {
	w := r.w
	var err error
	r.rep, err = r.open(consensus.Config{Group: r.shard.ID, ID: r.id, Hold: w.Hold, MaxHold: w.Hold,
		Heartbeat: w.Hold / 8, Storage: r.log, Rand: r.draw, Mutants: w.Mutants})
	if err != nil {
		w.Fail("%v on %v: %v", r.shard.ID, r.node.ID, err)
		return
	}
	r.next = 0
	r.schedule()
}

// draw draws a number below n. Without randomness, replicas draw different ones.
func (r *Replica) draw(n int64) int64 {
	if r.w.Rng == nil {
		return n * int64(r.id-1) / int64(len(r.peers))
	}
	return r.w.Rng.Int64N(n)
}

// stop drops what is in memory.
func (r *Replica) stop() {
	r.lose(r.notes)
	r.rep, r.applying, r.notes, r.proposing, r.last, r.staged = nil, nil, nil, false, entryName{}, nil
	r.applied = r.flushed
	r.shard.end()
}

// act calls the group's replica and does what follows, if the process runs.
func (r *Replica) act(f func(g *consensus.Replica)) {
	if r.rep == nil {
		return
	}
	f(r.rep.Group())
	r.perform()
}

// perform does what the replica wants to be done.
func (r *Replica) perform() {
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
		r.shard.end()
	}
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
}

// post sends a message to another replica of the group.
func (r *Replica) post(m consensus.Message) {
	w, to := r.w, r.peers[m.To-1]
	if !w.Calm && (w.isCut(r.node, to) || w.Chance(w.Loss)) {
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
			to.WhenAwake(func() {
				o := to.replica(m.Group)
				o.act(func(g *consensus.Replica) { g.Step(to.Local(), &c) })
			})
		})
	}
}

// apply sets the rows of the oldest batch.
func (r *Replica) apply() {
	incarnation := r.disk.incarnation
	r.w.After(r.w.UpTo(r.w.Sync/4), func() {
		r.node.WhenAwake(func() {
			if r.disk.incarnation != incarnation {
				return
			}
			a := r.applying[0]
			if _, err := r.disk.Store.Append([]entry.Group{a.Group}); err != nil {
				r.w.Fail("%v on %v: %v", r.shard.ID, r.node.ID, err)
				return
			}
			r.applied = a.Last
			if r.w.OneIn(20) {
				r.disk.flush()
			}
			r.w.settle(r.shard.ID, a.Entries)
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
	incarnation := r.disk.incarnation
	w.After(w.UpTo(w.Step+w.Sync/8), func() {
		if r.disk.incarnation == incarnation {
			r.proposing = false
			r.propose()
		}
	})
}

// propose proposes what has been submitted. Steps that wrote nothing share the fate of the last entry before them.
func (r *Replica) propose() {
	at, err := r.rep.Propose()
	notes := r.notes
	r.notes = nil
	switch {
	case err != nil:
		r.lose(notes)
	case at != 0:
		r.last = entryName{at, r.rep.Machine()}
		fallthrough
	default:
		r.w.attach(r.shard.ID, r.last, notes)
	}
	r.perform()
}

func (r *Replica) lose(notes []*Note) {
	for _, n := range notes {
		n.Lost = true
	}
}

// learnLeader has the node know the leader of the group.
func (r *Replica) learnLeader() {
	lead, term := r.rep.Group().Leader()
	if lead != 0 {
		r.node.learnLeader(r.shard.ID, term, r.peers[lead-1].ID)
	}
}

// learnLeader records the leader of a shard in a term, which is the incarnation of its machine.
func (n *Node) learnLeader(s kv.ShardID, term consensus.Term, leader kv.NodeID) {
	if n.leaders.Learn(s, term, leader) && n.GatewayUp {
		n.OnAllMachines(func(m *txn.Gateway) { m.Shards().Learn(s, kv.Incarnation(term)) })
	}
}

// announce informs the nodes without a replica of the leader, and repeats it as long as this replica leads (R4.4).
func (r *Replica) announce(term consensus.Term) {
	w := r.w
	if r.rep == nil || r.rep.Machine() != term {
		return
	}
	for _, n := range w.Nodes {
		if !slices.Contains(r.peers, n) && (w.Calm || !w.isCut(r.node, n) && !w.Chance(w.Loss)) {
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
	incarnation := r.disk.incarnation
	r.w.At(at, func() {
		r.node.WhenAwake(func() {
			if r.disk.incarnation == incarnation && r.next == at {
				r.next = 0
				r.act(func(g *consensus.Replica) { g.Tick(r.node.Local()) })
			}
		})
	})
}

// Transfer has the shard's leader transfer leadership to another node. Before that, holders of locks may end (R14.3).
// It does nothing if there is no leader, or the other node has no replica.
func (s *Shard) Transfer(to *Node) {
	r := s.replica
	if r == nil || s.M == nil || to == s.Node || !slices.Contains(r.peers, to) {
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

// stepDown ends the leadership of a replica, because a message has named a later incarnation (R3.7).
func (r *Replica) stepDown(later kv.Incarnation) {
	r.w.Counts.Deposed++
	r.act(func(g *consensus.Replica) { g.StepDown(r.node.Local(), consensus.Term(later)) })
}

// transfer ends the machine with its last entries and the transfer entry.
func (r *Replica) transfer(to *Node) {
	r.propose()
	if r.shard.M == nil {
		return
	}
	r.rep.Submit(&shard.Output{Entries: r.shard.M.TransferEntries()}, r.shard.M.CSN())
	r.propose()
	r.act(func(g *consensus.Replica) {
		err := g.Transfer(r.node.Local(), consensus.ReplicaID(slices.Index(r.peers, to)+1), 0)
		if err != nil { // the machine has ended all the same
			_, term := g.Leader()
			g.StepDown(r.node.Local(), term+1)
			return
		}
		r.w.Counts.Transfers++
		r.w.Trace("%v TRANSFERS %v to %v", r.node.ID, r.shard.ID, to.ID)
	})
}

// groupHistory is what has happened to the replicas of a shard.
type groupHistory struct {
	// notes are those of steps whose entries no replica has applied, and terms are of the entries that one has applied.
	notes map[consensus.Position][]fate
	terms map[consensus.Position]consensus.Term
	// began is the greatest term that has begun.
	began kv.Incarnation
}

type fate struct {
	term  consensus.Term
	notes []*Note
}

// attach attaches notes to an entry of a group: they are Lost if another entry, or none, is committed at its position.
func (w *World) attach(s kv.ShardID, e entryName, notes []*Note) {
	f := w.groups[s]
	if len(notes) == 0 || e.position == 0 {
		return
	}
	f.notes[e.position] = append(f.notes[e.position], fate{e.term, notes})
	if _, ok := f.terms[e.position]; ok {
		f.settle(e.position)
	}
}

// settle is called when a replica has applied entries. All replicas must apply the same.
func (w *World) settle(s kv.ShardID, entries []consensus.Entry) {
	f := w.groups[s]
	for _, e := range entries {
		if t, ok := f.terms[e.Position]; ok && t != e.Term {
			w.Fail("%v: the entry at %d is of term %d on one replica, and of %d on another", s, e.Position, t, e.Term)
		}
		f.terms[e.Position] = e.Term
		f.settle(e.Position)
	}
}

func (f *groupHistory) settle(at consensus.Position) {
	for _, x := range f.notes[at] {
		for _, n := range x.notes {
			n.Lost = x.term != f.terms[at]
		}
	}
	delete(f.notes, at)
}

// SettleNotes makes the notes Lost whose entries no replica has applied. It is called when the cluster is idle.
func (w *World) SettleNotes() {
	for _, f := range w.groups {
		for _, all := range f.notes {
			for _, x := range all {
				for _, n := range x.notes {
					n.Lost = true
				}
			}
		}
	}
}

// write is a write of a replica to the log of its node.
type write struct {
	replica *Replica
	write   *consensus.Write
	// chunks are the rows of its Raft snapshot.
	chunks [][]byte
}

// write writes for a replica. Writes that arrive while an fsync runs are part of the next one.
func (d *Disk) write(r *Replica, cw *consensus.Write) {
	x := write{r, cw, nil}
	if cw.Snapshot != nil {
		x.chunks = r.staged
	}
	d.writes = append(d.writes, x)
	d.syncWrites()
}

func (d *Disk) syncWrites() {
	if d.syncing || len(d.writes) == 0 {
		return
	}
	d.syncing = true
	w, n, incarnation := d.w, len(d.writes), d.incarnation
	w.After(d.syncTime(), func() {
		d.Node.WhenAwake(func() {
			if d.incarnation != incarnation {
				return
			}
			done := d.writes[:n:n]
			d.writes, d.syncing = append([]write(nil), d.writes[n:]...), false
			for _, x := range done {
				x.persist()
			}
			for _, x := range done {
				x.replica.written(x.write)
			}
			d.syncWrites()
		})
	})
}

// syncTime is how long the next fsync takes. Without one, what only repeats a commit index is written at once.
func (d *Disk) syncTime() time.Duration {
	w := d.w
	if w.NoSync || !slices.ContainsFunc(d.writes, func(x write) bool { return x.write.MustSync() }) {
		return 0
	}
	w.Counts.Syncs++
	took := w.Sync/4 + w.About(w.Sync) + d.extraSyncTime()
	if w.Chance(0.01) {
		took *= 10
	}
	return took
}

// written reports a write.
func (r *Replica) written(cw *consensus.Write) {
	if r.rep == nil {
		return
	}
	if cw.Snapshot != nil {
		if err := r.rep.Restored(r.row()); err != nil {
			r.w.Fail("%v on %v: %v", r.shard.ID, r.node.ID, err)
			return
		}
		r.applied, r.flushed = cw.State.Position, cw.State.Position
	}
	r.act(func(g *consensus.Replica) { g.Written(r.node.Local(), cw) })
}

func (x *write) persist() {
	if x.write.Snapshot != nil {
		x.restore()
	}
	if err := x.replica.log.Append(x.write.Entries); err != nil {
		panic(err)
	}
	if !raft.IsEmptyHardState(x.write.HardState) {
		_ = x.replica.log.SetHardState(x.write.HardState) // it never fails
	}
}

// crashReplicas drops the memory of the replicas, and what the log and the rows have not made durable: of both, any
// suffix may be lost.
func (d *Disk) crashReplicas() {
	w := d.w
	keep := w.Rng.IntN(len(d.writes) + 1)
	for _, x := range d.writes[:keep] {
		x.persist()
	}
	if keep < len(d.writes) && d.writes[keep].write.Snapshot != nil && w.OneIn(2) {
		d.writes[keep].replica.swapRows(d.writes[keep].chunks)
	}
	d.writes = nil
	for _, s := range d.Shards {
		s.replica.stop()
	}
}
