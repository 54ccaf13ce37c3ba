package simulated

import (
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// shell runs one shard's machine.
type shell struct {
	n     *node
	id    kv.ShardID
	m     *shard.Machine
	inbox []*msg.Envelope
	next  int64 // when its timer goes off
	// last is the position of its newest entry.
	last logPosition
}

func newShell(n *node, id kv.ShardID) *shell {
	o := &n.c.opt
	s := &shell{n: n, id: id, next: never}
	cfg := shard.Config{ID: id, Sharing: o.Sharing, UnsealAfter: o.UnsealAfter, HoldBound: o.HoldBound}
	if o.OneBound {
		cfg.Lock.MaxKeyWaiters, cfg.MaxKeyReferences = kv.DefaultMaxWaiters, math.MaxInt
	}
	if !o.NoHeat {
		cfg.Heat = shard.HeatConfig{Every: kv.DefaultHeatInterval / 10, Hot: n.c.router.HotShard(), Nodes: len(n.c.nodes),
			Node: n.c.router.Node(n.c.router.HotShard())}
		if !o.Auto {
			cfg.Heat.Mode = hotshard.ModePinned // without a pin
		}
		if id == n.c.router.HotShard() {
			cfg.Home = n.c.router.Shard
		}
	}
	m, out := shard.New(cfg, shard.Recovered{}, n.c.now, wallBase+n.c.now)
	s.m = m
	s.take(&out)
	return s
}

// step runs one, its log included, and tells how long that really took.
func (s *shell) step(msgs []*msg.Envelope, reads []entry.ReadResult) (out output, took time.Duration) {
	begin := time.Now()
	o := s.m.Step(shard.Input{Now: s.n.c.now, Wall: wallBase + s.n.c.now, Messages: msgs, Reads: reads, Busy: s.n.share()})
	s.take(&o)
	took = time.Since(begin)
	return output{shard: s, send: o.Send, urgent: o.Urgent, synced: s.last, reads: o.Reads, rows: len(o.Entries)}, took
}

// take logs a step's entries and sets the timer.
func (s *shell) take(o *shard.Output) {
	if len(o.Entries) > 0 {
		s.last = s.n.disk.append(s.id, o.Entries)
	}
	if o.Next < s.next {
		s.next = o.Next
		s.n.c.at(o.Next, func() {
			if s.next == o.Next {
				s.next = never
				s.n.queue(job{shard: s})
			}
		})
	}
}

type logPosition = engine.Position

// disk is a node's log. Whatever is appended while an fsync runs is in the
// next.
type disk struct {
	n       *node
	store   *memstore.Store
	syncing bool
	held    []held
}

// held are messages that wait for a position, in the order of positions.
type held struct {
	at   logPosition
	envs []*msg.Envelope
}

func newDisk(n *node) *disk {
	d := &disk{n: n, store: memstore.NewAutoSync()}
	if n.c.opt.Fsync > 0 {
		d.store = memstore.New()
	}
	return d
}

func (d *disk) append(id kv.ShardID, entries []entry.Entry) logPosition {
	d.n.c.tally.rows += len(entries)
	p, err := d.store.Append([]entry.Group{{Shard: id, Entries: entries}})
	if err != nil {
		panic(err) // a shard never writes what cannot be stored
	}
	return p
}

// release sends messages, now or when a position is durable.
func (d *disk) release(p logPosition, envs []*msg.Envelope) {
	if p <= d.store.Durable() {
		for _, env := range envs {
			d.n.c.send(d.n, env)
		}
	} else if len(envs) > 0 {
		d.held = append(d.held, held{p, envs})
	}
	d.sync()
}

// sync begins an fsync unless one is under way or there is nothing to do.
func (d *disk) sync() {
	target := d.store.Last()
	if d.syncing || target == d.store.Durable() {
		return
	}
	if d.n.c.free {
		d.durable(target)
		return
	}
	d.syncing = true
	d.n.c.tally.syncs++
	d.n.c.at(d.n.c.now+int64(d.n.c.opt.Fsync), func() {
		d.syncing = false
		d.durable(target)
		d.sync()
	})
}

func (d *disk) durable(p logPosition) {
	d.store.SyncTo(p)
	for len(d.held) > 0 && d.held[0].at <= p {
		envs := d.held[0].envs
		d.held = d.held[1:]
		for _, env := range envs {
			d.n.c.send(d.n, env)
		}
	}
}
