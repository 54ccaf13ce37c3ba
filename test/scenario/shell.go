package scenario

import (
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// shell runs one shard's machine, with a log that is durable at once.
type shell struct {
	c       *Cluster
	id      kv.ShardID
	machine *shard.Machine
	log     *memstore.Store
	next    int64
}

func newShell(c *Cluster, id kv.ShardID, shards int) *shell {
	s := &shell{c: c, id: id, log: memstore.New()}
	var out shard.Output
	s.machine, out = shard.New(shard.Config{ID: id, Mutants: c.broken, Home: placement(shards).Shard,
		Trace: shard.Trace{Committed: s.onCommitted, Visible: s.onVisible}},
		shard.Recovered{}, c.now, c.now)
	s.perform(out)
	return s
}

// step runs the machine with these messages, and its timers.
func (s *shell) step(envs ...*msg.Envelope) { s.input(shard.Input{Messages: envs}) }

func (s *shell) input(in shard.Input) {
	in.Now, in.Wall = s.c.now, s.c.now
	out := s.machine.Step(in)
	if s.c.broken == (mutant.Set{}) {
		if err := s.machine.Check(); err != nil {
			s.c.t.Fatal(err)
		}
	}
	s.perform(out)
}

// perform executes the output of a step; reads from disk return at once.
func (s *shell) perform(out shard.Output) {
	if len(out.Entries) > 0 {
		p, err := s.log.Append([]entry.Group{{Shard: s.id, Entries: out.Entries}})
		if err != nil {
			s.c.t.Fatal(err)
		}
		s.log.SyncTo(p)
	}
	s.next = out.Next
	s.c.send(s.id.String(), out.Urgent)
	s.c.send(s.id.String(), out.Send)
	if len(out.Reads) == 0 {
		return
	}
	var in shard.Input
	for _, r := range out.Reads {
		in.Reads = append(in.Reads, s.log.Read(s.id, r))
	}
	s.input(in)
}

// onCommitted is called at the instant F of an update; see shard.Trace.
func (s *shell) onCommitted(ref kv.TxnRef) {
	if x := s.c.callOf(ref.TxnID); x.writes {
		s.c.logf("  %v decides %s", s.id, x.Name)
	}
}

func (s *shell) onVisible(ref kv.TxnRef, e *entry.Effect, v entry.Value, at kv.CSN) {
	x := s.c.callOf(ref.TxnID)
	if e.Kind == entry.EffectMoveOut || e.Kind == entry.EffectMoveIn {
		s.c.logf("  %v makes visible that %s moves", s.id, e.Key)
		return
	}
	s.c.logf("  %v makes visible %s=%s", s.id, e.Key, x.Name)
	x.addVersion(string(e.Key), v.Version, int64(v.Version.Moves)<<40|int64(at))
}

// gateway runs one gateway's machine. Gateways' clocks show different times, since they are never compared.
type gateway struct {
	c       *Cluster
	id      kv.NodeID
	machine *txn.Gateway
	// due is the time of the next timer, on the cluster's clock.
	due int64
}

func newGateway(c *Cluster, id kv.NodeID, shards int) *gateway {
	return &gateway{c: c, id: id, due: math.MaxInt64,
		machine: txn.NewGateway(txn.Config{Node: id, Router: placement(shards), Mutants: c.broken})}
}

func (g *gateway) offset() int64 { return int64(g.id) * int64(time.Hour) }

// clock returns the time of the gateway's clock.
func (g *gateway) clock() int64 { return g.c.now + g.offset() }

func (g *gateway) deliver(env *msg.Envelope) {
	g.machine.Deliver(g.clock(), env)
	g.flush()
}

func (g *gateway) tick() {
	g.machine.Tick(g.clock())
	g.flush()
}

// flush sends the messages of the gateway and completes its calls.
func (g *gateway) flush() {
	out := g.machine.Flush()
	g.due = out.Next
	if g.due != math.MaxInt64 {
		g.due -= g.offset()
	}
	g.c.send(g.id.String(), out.Send)
	for _, d := range out.Done {
		d.Handle.(func(txn.Done))(d)
	}
}
