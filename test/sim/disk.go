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

// disk is a log with the shards that share it. What is appended, and which messages
// wait for what, is decided by the code of package node. Whatever is appended while
// an fsync runs is in the next.
type disk struct {
	w      *world
	n      *node
	store  *memstore.Store
	shards []*shell
	up     bool
	life   int
	// syncing: an fsync is under way. Those that begin before slowUntil are slower by slowBy.
	syncing   bool
	slowBy    time.Duration
	slowUntil int64
	// level is how much room it has for what is new, since when.
	level    shard.Disk
	since    int64
	gather   groupcommit.Gather
	releases groupcommit.Releases
	// committing: what was submitted will be appended.
	committing bool
	// notes are the trace's on steps that are not appended, fresh those on what is
	// not durable.
	notes map[*groupcommit.Step][]*note
	fresh []*note
}

func newDisk(n *node) *disk {
	d := &disk{w: n.w, n: n, store: memstore.New()}
	d.forget()
	return d
}

// forget begins a life.
func (d *disk) forget() {
	d.gather, d.releases = groupcommit.Gather{Mutants: d.w.opt.Mutants}, groupcommit.Releases{}
	d.notes, d.fresh, d.syncing, d.committing = map[*groupcommit.Step][]*note{}, nil, false, false
}

// notAppended is where a step is that has only been submitted.
const notAppended = engine.Position(math.MaxUint64)

// submit hands a step on. It is appended at once, or together with others that come
// meanwhile.
func (d *disk) submit(s *groupcommit.Step, notes []*note) {
	w := d.w
	d.gather.Submit(s)
	for _, n := range notes {
		n.at = notAppended
	}
	d.notes[s] = notes
	d.fresh = append(d.fresh, notes...)
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
	life := d.life
	w.after(wait, func() {
		if d.life == life {
			d.committing = false
			d.commit()
		}
	})
}

// commit appends what was submitted, starts its reads and has its messages wait.
func (d *disk) commit() {
	batch := d.gather.Take()
	groups := batch.Groups()
	var at engine.Position
	if len(groups) > 0 {
		var err error
		at, err = d.store.Append(groups)
		if err != nil {
			panic(err) // a shard never writes what cannot be stored
		}
		d.sync()
	}
	d.place(batch, at)
	now, wait := batch.Appended(at, d.store.Durable())
	if !wait.Empty() {
		d.releases.Add(wait)
	}
	for _, s := range batch.Steps {
		sh := d.w.shards[d.w.shardAt(s.Shard.ID)]
		for _, r := range s.Out.Reads {
			sh.read(r)
		}
	}
	d.send(now)
}

// place says in the notes on a batch's steps where these are: those that wrote
// nothing are where the last that did is.
func (d *disk) place(batch groupcommit.Batch, at engine.Position) {
	last := map[*groupcommit.Shard]engine.Position{}
	for _, s := range batch.Steps {
		if len(s.Out.Entries) > 0 {
			last[s.Shard] = at
		}
		for _, n := range d.notes[s] {
			n.at = max(last[s.Shard], s.Shard.Appended)
		}
		delete(d.notes, s)
	}
}

func (d *disk) send(envs []*msg.Envelope) {
	for _, env := range envs {
		d.w.send(d.n, env)
	}
}

// sync begins an fsync unless one is under way.
func (d *disk) sync() {
	if d.syncing || d.store.Last() == d.store.Durable() {
		return
	}
	d.syncing = true
	target, life := engine.Position(0), d.life
	w := d.w
	// The fsync takes in what this instant's steps still append.
	w.after(w.upTo(w.opt.Sync/4), func() { target = d.store.Last() })
	took := w.opt.Sync/4 + w.about(w.opt.Sync) + d.slower()
	if w.chance(0.01) {
		took *= 10
	}
	w.after(took, func() {
		d.n.whenAwake(func() {
			if d.life != life {
				return
			}
			d.syncing = false
			d.store.SyncTo(target)
			d.durable()
			d.sync()
		})
	})
}

// durable lets go what waited for the log.
func (d *disk) durable() {
	p := d.store.Durable()
	n := 0
	for n < len(d.fresh) && d.fresh[n].at <= p {
		n++
	}
	d.fresh = d.fresh[n:]
	d.releases.Advance(p)
	for _, x := range d.releases.Ready() {
		d.send(x.Sends)
	}
}

// crash loses the memory of the shards and some of what is not durable.
func (d *disk) crash() {
	w := d.w
	if !d.up {
		return
	}
	w.sum.Crashes++
	if w.opt.CleanStops && w.rng.IntN(3) == 0 {
		d.rest()
	}
	from, to := d.store.Durable(), d.store.Last()
	keep := from + engine.Position(w.rng.Int64N(int64(to-from)+1))
	w.trace("%v log CRASH keeps %d of %d..%d", d.n.id, keep, from, to)
	d.store.Crash(keep)
	for _, note := range d.fresh {
		note.lost = note.at > keep
	}
	d.forget()
	d.up = false
	d.life++
	life := d.life
	w.after(w.upTo(w.opt.Down), func() {
		if d.life == life && !d.up {
			d.start()
			d.n.tellDown(false)
		}
	})
}

// rest ends the shards cleanly, to the last entry.
func (d *disk) rest() {
	for _, s := range d.shards {
		if entries := s.m.Rest(); len(entries) > 0 {
			d.gather.Submit(&groupcommit.Step{Shard: &s.log, Out: shard.Output{Entries: entries}})
		}
	}
	d.commit()
	d.store.SyncTo(d.store.Last())
	d.durable()
}

// start recovers the shards.
func (d *disk) start() {
	d.up = true
	d.life++
	for _, s := range d.shards {
		s.start()
	}
}
