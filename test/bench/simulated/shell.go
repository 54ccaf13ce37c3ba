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
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// shell runs one shard's machine.
type shell struct {
	n     *node
	id    kv.ShardID
	m     *shard.Machine
	inbox []*msg.Envelope
	next  int64 // when its timer goes off
	log   *groupcommit.Shard
}

func newShell(n *node, id kv.ShardID) *shell {
	o := &n.c.opt
	s := &shell{n: n, id: id, next: never}
	cfg := shard.Config{ID: id, Sharing: o.Sharing, UnsealAfter: o.UnsealAfter}
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
	m, out := shard.New(cfg, shard.Recovered{}, n.c.Now(), wallBase+n.c.Now())
	s.m = m
	s.log = n.disk.group.NewShard(id)
	n.disk.write(&groupcommit.Step{Shard: s.log, Out: shard.Output{Entries: out.Entries}}, s.take(&out))
	return s
}

// step runs a step and appends its entries. It returns how long that took in reality.
func (s *shell) step(msgs []*msg.Envelope, reads []entry.ReadResult) (out output, took time.Duration) {
	begin := time.Now()
	o := s.m.Step(shard.Input{Now: s.n.c.Now(), Wall: wallBase + s.n.c.Now(), Messages: msgs, Reads: reads,
		Busy: s.n.share()})
	at := s.take(&o)
	took = time.Since(begin)
	return output{shard: s, send: o.Send, urgent: o.Urgent, reads: o.Reads, entries: o.Entries, at: at}, took
}

// take appends a step's entries, returns their position, and sets the timer.
func (s *shell) take(o *shard.Output) (at engine.Position) {
	if len(o.Entries) > 0 {
		at = s.n.disk.append(s.id, o.Entries)
	}
	if o.Next < s.next {
		s.next = o.Next
		s.n.c.At(o.Next, func() {
			if s.next == o.Next {
				s.next = never
				s.n.queue(job{shard: s})
			}
		})
	}
	return at
}

// disk is a node's log. What is appended while an fsync runs is part of the next one.
type disk struct {
	n       *node
	store   *memstore.Store
	syncing bool
	group   groupcommit.Group
}

func newDisk(n *node) *disk {
	d := &disk{n: n, store: memstore.NewAutoSync()}
	if n.c.opt.Fsync > 0 {
		d.store = memstore.New()
	}
	return d
}

func (d *disk) append(id kv.ShardID, entries []entry.Entry) engine.Position {
	d.n.c.tally.rows += len(entries)
	p, err := d.store.Append([]entry.Group{{Shard: id, Entries: entries}})
	if err != nil {
		panic(err) // a shard never writes what cannot be stored
	}
	return p
}

// release sends the messages of a step: now, or when the log is durable.
func (d *disk) release(o *output) {
	if o.shard == nil {
		d.send(o.send)
		return
	}
	d.write(&groupcommit.Step{Shard: o.shard.log, Out: shard.Output{Entries: o.entries, Send: o.send}}, o.at)
	d.sync()
}

// write adds a step, whose entries are in the store at a position, to the log of its shard.
func (d *disk) write(s *groupcommit.Step, at engine.Position) {
	d.group.Submit(s)
	batch := d.group.Take()
	batch.OnApplied()
	d.group.Written(batch, at, 0)
	d.group.OnDurable(d.store.Durable())
	now, _ := d.group.Pass(batch, nil)
	d.send(now)
	batch.Hold()
}

func (d *disk) send(envs []*msg.Envelope) {
	for _, env := range envs {
		d.n.c.send(d.n, env)
	}
}

// sync begins an fsync unless one is running or everything is durable.
func (d *disk) sync() {
	target := d.store.Last()
	if d.syncing || target == d.store.Durable() {
		return
	}
	if d.n.c.free {
		d.onDurable(target)
		return
	}
	d.syncing = true
	d.n.c.tally.syncs++
	d.n.c.After(d.n.c.opt.Fsync, func() {
		d.syncing = false
		d.onDurable(target)
		d.sync()
	})
}

func (d *disk) onDurable(p engine.Position) {
	d.store.SyncTo(p)
	d.group.OnDurable(p)
	d.send(d.group.Sends(nil))
}
