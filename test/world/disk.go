package world

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// Disk is a log with the shards that share it. The code of package node decides what is appended and which messages
// wait. Entries that are appended while an fsync runs are part of the next one.
type Disk struct {
	w      *World
	Node   *Node
	Store  *memstore.Store
	Shards []*Shard
	// Up: the shards run.
	Up bool
	// SlowBy is the additional time of fsyncs that begin before SlowUntil.
	SlowBy    time.Duration
	SlowUntil int64
	// Level is the level of free space, which the shards learn with each step.
	Level shard.Disk

	incarnation int
	// syncing: an fsync is running. committing: an append of the submitted steps is scheduled.
	syncing, committing bool
	group               groupcommit.Group
	// pending holds the notes of steps that are not appended yet; volatile holds those of steps that are not durable.
	pending  map[*groupcommit.Step][]*Note
	volatile []*Note
	// written are the positions of the last entries of each shard.
	written map[*groupcommit.Shard]engine.Position
	// writes are those of replicas that are not on the disk, oldest first. stamp numbers the disks that the node has had.
	writes []write
	stamp  int
	// busySince is since when an fsync for replicas is running, by the node's clock; zero if none is.
	busySince int64
}

// Note is attached to a step of a shard, and shares its fate: if a crash truncates the log before the step, what the
// note says never happened.
type Note struct {
	position engine.Position
	// Lost: a crash has revoked the step.
	Lost bool
}

// notAppended is the position of a step that is submitted and not appended.
const notAppended = engine.Position(math.MaxUint64)

func newDisk(n *Node) *Disk {
	d := &Disk{w: n.w, Node: n, Store: memstore.New()}
	if n.w.NoSync {
		d.Store = memstore.NewAutoSync()
	}
	d.reset()
	return d
}

// reset drops everything in memory, at a start.
func (d *Disk) reset() {
	d.group, d.written = groupcommit.Group{Mutants: d.w.Mutants}, map[*groupcommit.Shard]engine.Position{}
	d.pending, d.volatile, d.syncing, d.committing = map[*groupcommit.Step][]*Note{}, nil, false, false
	d.busySince = 0
}

// submit submits a step. It is appended at once, or in a batch with steps that follow.
func (d *Disk) submit(s *groupcommit.Step, notes []*Note) {
	w := d.w
	d.group.Submit(s)
	for _, n := range notes {
		n.position = notAppended
	}
	d.pending[s] = notes
	d.volatile = append(d.volatile, notes...)
	if d.committing {
		return
	}
	wait := w.UpTo(w.Step)
	kind := 0
	if w.Rng != nil {
		kind = w.Rng.IntN(8)
	}
	switch kind {
	case 0, 1:
		d.commit()
		return
	case 2:
		wait = w.About(w.Sync)
	}
	d.committing = true
	incarnation := d.incarnation
	w.After(wait, func() {
		if d.incarnation == incarnation {
			d.committing = false
			d.commit()
		}
	})
}

// commit appends the submitted steps, starts their reads and registers their messages with the log positions that they
// wait for.
func (d *Disk) commit() {
	batch := d.group.Take()
	var at engine.Position
	if len(batch.Groups) > 0 {
		var err error
		at, err = d.Store.Append(batch.Groups)
		if err != nil {
			panic(err) // a shard never writes an entry that the store rejects
		}
		d.sync()
	}
	d.setPositions(batch, at)
	batch.OnApplied()
	d.group.Written(batch, at, 0)
	d.group.OnDurable(d.Store.Durable())
	now, _ := d.group.Pass(batch, nil)
	batch.Hold()
	for _, s := range batch.Steps {
		for _, reads := range s.Shard.Reads(nil) {
			for _, r := range reads.Start {
				d.w.Shards[s.Shard.ID].startRead(r)
			}
		}
	}
	d.send(now)
}

// setPositions sets the log positions of the notes of a batch. A step without entries has the position of the last
// entry before it, since it depends on that.
func (d *Disk) setPositions(batch groupcommit.Batch, at engine.Position) {
	for _, s := range batch.Steps {
		if len(s.Out.Entries) > 0 {
			d.written[s.Shard] = at
		}
		for _, n := range d.pending[s] {
			n.position = d.written[s.Shard]
		}
		delete(d.pending, s)
	}
}

func (d *Disk) send(envs []*msg.Envelope) {
	for _, env := range envs {
		d.w.Send(Source{d.Node, true}, env)
	}
}

// sync begins an fsync unless one is running.
func (d *Disk) sync() {
	if d.syncing || d.Store.Last() == d.Store.Durable() {
		return
	}
	d.syncing = true
	target, incarnation := engine.Position(0), d.incarnation
	w := d.w
	w.Counts.Syncs++
	// The fsync includes entries that other steps append at this instant.
	w.After(w.UpTo(w.Sync/4), func() { target = d.Store.Last() })
	took := w.Sync/4 + w.About(w.Sync) + d.extraSyncTime()
	if w.Chance(0.01) {
		took *= 10
	}
	w.After(took, func() {
		d.Node.WhenAwake(func() {
			if d.incarnation != incarnation {
				return
			}
			d.syncing = false
			d.Store.SyncTo(target)
			d.onDurable()
			d.sync()
		})
	})
}

// extraSyncTime returns the additional time of an fsync that begins now.
func (d *Disk) extraSyncTime() time.Duration {
	if d.SlowUntil <= d.w.now || d.w.Calm {
		return 0
	}
	return d.SlowBy
}

// onDurable sends the messages that waited for the log.
func (d *Disk) onDurable() {
	p := d.Store.Durable()
	n := 0
	for n < len(d.volatile) && d.volatile[n].position <= p {
		n++
	}
	d.volatile = d.volatile[n:]
	d.group.OnDurable(p)
	d.send(d.group.Sends(nil))
}

// Crash drops the memory of the shards, and a random part of the log that is not durable. The shards start again some
// time later. With CleanStops, one crash in three is a clean shutdown instead.
func (d *Disk) Crash() {
	w := d.w
	if !d.Up {
		return
	}
	w.Counts.Crashes++
	if w.CleanStops && w.Replicas == 0 && w.OneIn(3) {
		d.shutDown()
	}
	from, to := d.Store.Durable(), d.Store.Last()
	keep := from + engine.Position(w.Rng.Int64N(int64(to-from)+1))
	if w.Replicas > 0 {
		d.crashReplicas()
	}
	w.Trace("%v log CRASH keeps %d of %d..%d", d.Node.ID, keep, from, to)
	d.Store.Crash(keep)
	for _, note := range d.volatile {
		note.Lost = note.position > keep
	}
	d.reset()
	d.Up = false
	d.incarnation++
	incarnation := d.incarnation
	w.After(w.UpTo(w.Down), func() {
		if d.incarnation == incarnation && !d.Up {
			d.start()
			d.Node.AnnounceDown(false)
		}
	})
}

// shutDown shuts the shards down cleanly: the log ends with the entry of a clean shutdown and is durable.
func (d *Disk) shutDown() {
	for _, s := range d.Shards {
		if entries := s.M.Shutdown(); len(entries) > 0 {
			d.group.Submit(&groupcommit.Step{Shard: s.log, Out: shard.Output{Entries: entries}})
		}
	}
	d.commit()
	d.Store.SyncTo(d.Store.Last())
	d.onDurable()
}

// start recovers the shards.
func (d *Disk) start() {
	d.Up = true
	d.incarnation++
	for _, s := range d.Shards {
		switch {
		case s.replica != nil:
			s.replica.start()
		case d.w.Replicas == 0:
			s.start()
		}
	}
}

// place names a disk of a node.
func (d *Disk) place() string { return fmt.Sprintf("%v/%d", d.Node.ID, d.stamp) }

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
		x.chunks = r.staged[cw.State.Position]
		maps.DeleteFunc(r.staged, func(at consensus.Position, _ [][]byte) bool { return at <= cw.State.Position })
	}
	d.writes = append(d.writes, x)
	d.syncWrites()
}

func (d *Disk) syncWrites() {
	if d.syncing || len(d.writes) == 0 {
		return
	}
	d.syncing, d.busySince = true, d.Node.Local()
	w, n, incarnation := d.w, len(d.writes), d.incarnation
	w.After(d.syncTime(), func() {
		d.Node.WhenAwake(func() {
			if d.incarnation != incarnation {
				return
			}
			done := d.writes[:n:n]
			d.writes, d.syncing, d.busySince = append([]write(nil), d.writes[n:]...), false, 0
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

// syncTime is how long the next fsync takes. Writes that store nothing need none.
func (d *Disk) syncTime() time.Duration {
	w := d.w
	if w.NoSync || !slices.ContainsFunc(d.writes, func(x write) bool { return !x.write.IsEmpty() }) {
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
	if x.replica.isDestroyed {
		return
	}
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
		if s.replica != nil {
			s.replica.stop()
		}
	}
}
