package sim

import (
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// disk is a log with the shards that share it. The code of package node decides what is appended and which messages
// wait. Entries that are appended while an fsync runs are part of the next one.
type disk struct {
	w           *world
	n           *node
	store       *memstore.Store
	shards      []*shell
	up          bool
	incarnation int
	// syncing: an fsync is running. Fsyncs that begin before slowUntil take slowBy longer.
	syncing   bool
	slowBy    time.Duration
	slowUntil int64
	// level is the level of free space, since the instant since.
	level shard.Disk
	since int64
	group groupcommit.Group
	// committing: an append of the submitted steps is scheduled.
	committing bool
	// pending holds the events of steps that are not appended yet; volatile holds those of steps that are not durable.
	pending  map[*groupcommit.Step][]*logEvent
	volatile []*logEvent
	// written are the positions of the last entries of each shard.
	written map[*groupcommit.Shard]engine.Position
}

func newDisk(n *node) *disk {
	d := &disk{w: n.w, n: n, store: memstore.New()}
	d.reset()
	return d
}

// reset drops everything in memory, at a start.
func (d *disk) reset() {
	d.group, d.written = groupcommit.Group{Mutants: d.w.opt.Mutants}, map[*groupcommit.Shard]engine.Position{}
	d.pending, d.volatile, d.syncing, d.committing = map[*groupcommit.Step][]*logEvent{}, nil, false, false
}

// notAppended is the position of a step that is submitted and not appended.
const notAppended = engine.Position(math.MaxUint64)

// submit submits a step. It is appended at once, or in a batch with steps that follow.
func (d *disk) submit(s *groupcommit.Step, events []*logEvent) {
	w := d.w
	d.group.Submit(s)
	for _, n := range events {
		n.position = notAppended
	}
	d.pending[s] = events
	d.volatile = append(d.volatile, events...)
	if d.committing {
		return
	}
	wait := w.upTo(w.opt.Step)
	switch w.rng.IntN(8) {
	case 0, 1:
		d.commit()
		return
	case 2:
		wait = w.about(w.opt.Sync)
	}
	d.committing = true
	incarnation := d.incarnation
	w.after(wait, func() {
		if d.incarnation == incarnation {
			d.committing = false
			d.commit()
		}
	})
}

// commit appends the submitted steps, starts their reads and registers their messages with the log positions that they
// wait for.
func (d *disk) commit() {
	batch := d.group.Take()
	var at engine.Position
	if len(batch.Groups) > 0 {
		var err error
		at, err = d.store.Append(batch.Groups)
		if err != nil {
			panic(err) // a shard never writes an entry that the store rejects
		}
		d.sync()
	}
	d.setPositions(batch, at)
	batch.OnApplied()
	d.group.Written(batch, at, 0)
	now, _ := batch.Pass(d.w.opt.Mutants, nil)
	batch.Hold()
	for _, s := range batch.Steps {
		sh := d.w.shards[d.w.shardAt(s.Shard.ID)]
		for _, reads := range s.Shard.Reads(nil) {
			for _, r := range reads.Start {
				sh.startRead(r)
			}
		}
	}
	d.send(now)
}

// setPositions sets the log positions of the events of a batch. A step without entries has the position of the last
// entry before it, since it depends on that.
func (d *disk) setPositions(batch groupcommit.Batch, at engine.Position) {
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

func (d *disk) send(envs []*msg.Envelope) {
	for _, env := range envs {
		d.w.send(d.n, env)
	}
}

// sync begins an fsync unless one is running.
func (d *disk) sync() {
	if d.syncing || d.store.Last() == d.store.Durable() {
		return
	}
	d.syncing = true
	target, incarnation := engine.Position(0), d.incarnation
	w := d.w
	// The fsync includes entries that other steps append at this instant.
	w.after(w.upTo(w.opt.Sync/4), func() { target = d.store.Last() })
	took := w.opt.Sync/4 + w.about(w.opt.Sync) + d.extraSyncTime()
	if w.chance(0.01) {
		took *= 10
	}
	w.after(took, func() {
		d.n.whenAwake(func() {
			if d.incarnation != incarnation {
				return
			}
			d.syncing = false
			d.store.SyncTo(target)
			d.onDurable()
			d.sync()
		})
	})
}

// onDurable sends the messages that waited for the log.
func (d *disk) onDurable() {
	p := d.store.Durable()
	n := 0
	for n < len(d.volatile) && d.volatile[n].position <= p {
		n++
	}
	d.volatile = d.volatile[n:]
	d.group.OnDurable(p)
	d.send(d.group.Sends(nil))
}

// crash drops the memory of the shards, and a random part of the log that is not durable.
func (d *disk) crash() {
	w := d.w
	if !d.up {
		return
	}
	w.sum.Crashes++
	if w.opt.CleanStops && w.rng.IntN(3) == 0 {
		d.shutDown()
	}
	from, to := d.store.Durable(), d.store.Last()
	keep := from + engine.Position(w.rng.Int64N(int64(to-from)+1))
	w.trace("%v log CRASH keeps %d of %d..%d", d.n.id, keep, from, to)
	d.store.Crash(keep)
	for _, note := range d.volatile {
		note.lost = note.position > keep
	}
	d.reset()
	d.up = false
	d.incarnation++
	incarnation := d.incarnation
	w.after(w.upTo(w.opt.Down), func() {
		if d.incarnation == incarnation && !d.up {
			d.start()
			d.n.announceDown(false)
		}
	})
}

// shutDown shuts the shards down cleanly: the log ends with the entry of a clean shutdown and is durable.
func (d *disk) shutDown() {
	for _, s := range d.shards {
		if entries := s.m.Shutdown(); len(entries) > 0 {
			d.group.Submit(&groupcommit.Step{Shard: s.log, Out: shard.Output{Entries: entries}})
		}
	}
	d.commit()
	d.store.SyncTo(d.store.Last())
	d.onDurable()
}

// start recovers the shards.
func (d *disk) start() {
	d.up = true
	d.incarnation++
	for _, s := range d.shards {
		s.start()
	}
}
