package sim

import (
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// disk is a log with the shards that share it. Whatever is appended while an
// fsync runs is in the next.
type disk struct {
	w      *world
	n      *node
	store  *memstore.Store
	shards []*shell
	up     bool
	life   int
	// syncing: an fsync is under way.
	syncing bool
	// level is how much room it has for what is new, since when.
	level shard.Disk
	since int64
	// held are messages that wait for a position, in the order of positions.
	held []heldMessages
	// fresh are the trace's notes on positions that are not durable.
	fresh []*note
}

type heldMessages struct {
	at   engine.Position
	envs []*msg.Envelope
}

func newDisk(n *node) *disk { return &disk{w: n.w, n: n, store: memstore.New()} }

// append writes a step's entries.
func (d *disk) append(id kv.ShardID, entries []entry.Entry) engine.Position {
	p, err := d.store.Append([]entry.Group{{Shard: id, Entries: entries}})
	if err != nil {
		panic(err) // a shard never writes what cannot be stored
	}
	d.sync()
	return p
}

// release sends what a step said, now or when its position is durable.
func (d *disk) release(p engine.Position, envs []*msg.Envelope) {
	if len(envs) == 0 {
		return
	}
	if p <= d.store.Durable() || d.w.opt.Mutants.Has(mutant.SendBeforeDurable) {
		for _, env := range envs {
			d.w.send(d.n, env)
		}
		return
	}
	d.held = append(d.held, heldMessages{p, envs})
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
	took := w.opt.Sync/4 + w.about(w.opt.Sync)
	if w.chance(0.01) {
		took *= 10
	}
	w.after(took, func() {
		if d.life != life {
			return
		}
		d.syncing = false
		d.store.SyncTo(target)
		d.durable()
		d.sync()
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
	for len(d.held) > 0 && d.held[0].at <= p {
		envs := d.held[0].envs
		d.held = d.held[1:]
		for _, env := range envs {
			d.w.send(d.n, env)
		}
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
	d.fresh, d.held, d.syncing, d.up = nil, nil, false, false
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
			d.append(s.id, entries)
		}
	}
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
