package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

var errDraining = &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "the node is draining",
	Hint: "nothing was applied; use another node"}

// RejectNew rejects new transactions from now on. Open ones continue. The gateway also stops the errands of
// shards: moves of keys and deletions of expired keys, which can be executed later.
func (g *Gateway) RejectNew() { g.closed.Store(true) }

// Drain rejects new transactions and returns when none is in flight, or with the context's error.
func (g *Gateway) Drain(ctx context.Context) error {
	g.RejectNew()
	t := time.NewTicker(tickInterval)
	defer t.Stop()
	for g.inFlight.Load() > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
	return nil
}

// dropErrands returns the envelopes without the errands of shards.
func dropErrands(envs []*msg.Envelope) []*msg.Envelope {
	isErrand := func(env *msg.Envelope) bool { return msg.Is[msg.MoveKey](env) || msg.Is[msg.Due](env) }
	if !slices.ContainsFunc(envs, isErrand) {
		return envs
	}
	return slices.DeleteFunc(slices.Clone(envs), isErrand)
}

// drainAcks are the acknowledgements of Draining announcements.
type drainAcks struct {
	mu sync.Mutex
	// acks are the highest acknowledged incarnations.
	acks map[shardAt]kv.Incarnation
}

// shardAt is a shard as another node knows it.
type shardAt struct {
	shard kv.ShardID
	node  kv.NodeID
}

func (l *drainAcks) record(s kv.ShardID, inc kv.Incarnation, by kv.NodeID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acks == nil {
		l.acks = map[shardAt]kv.Incarnation{}
	}
	at := shardAt{s, by}
	l.acks[at] = max(l.acks[at], inc)
}

// onAnnouncement handles an Announcement.
func (g *Gateway) onAnnouncement(env *msg.Envelope) {
	switch a := msg.As[msg.Announcement](env); {
	case a.Acknowledged:
		g.drainAcks.record(a.Shard, a.Incarnation, env.From)
	case a.Draining:
		g.SetDraining(a.Shard, a.Incarnation)
		if env.From != 0 {
			// On one stream the acknowledgement follows all requests that were sent before.
			ack := msg.ToGateway(env.From)
			ack.Body = &msg.Announcement{Shard: a.Shard, Incarnation: a.Incarnation, Acknowledged: true}
			g.opt.Send([]*msg.Envelope{ack})
		}
	default:
		g.SetAborts(a.Shard, kv.KnownState{Incarnation: a.Incarnation, Aborts: a.Aborts})
		g.applyClock(env)
	}
}

// applyClock applies the clock of another node, and the time by which one of its shards collects garbage. A
// delayed duplicate is harmless: the second only rises, and a clock that seems to be behind until the next
// announcement makes shards collect later.
func (g *Gateway) applyClock(env *msg.Envelope) {
	a, now := msg.As[msg.Announcement](env), g.opt.Clock.Now()
	if a.IdTime != 0 {
		g.opt.Clock.RaiseMinIDTime(a.IdTime - now)
	}
	if a.Clock != 0 && env.From != 0 {
		g.opt.Clock.ObservePeer(env.From, now, a.Clock)
	}
}

// SetDraining records that an incarnation of a shard is about to stop.
func (g *Gateway) SetDraining(sh kv.ShardID, inc kv.Incarnation) {
	g.runAll(func(m *txn.Gateway, _ int64) { m.Shards().SetDraining(sh, inc) })
}

// IsDraining reports whether nothing new is started on a shard because its node is about to stop. It is false
// only when all state machines know the next incarnation.
func (g *Gateway) IsDraining(sh kv.ShardID) (draining bool) {
	last := g.stripes[len(g.stripes)-1] // is updated after the others
	g.run(last, func(m *txn.Gateway, _ int64) { draining = m.Shards().IsDraining(sh) })
	return draining
}

// HasAcknowledgedDraining reports whether a node has acknowledged that an incarnation of a shard is draining.
func (g *Gateway) HasAcknowledgedDraining(sh kv.ShardID, inc kv.Incarnation, by kv.NodeID) bool {
	g.drainAcks.mu.Lock()
	defer g.drainAcks.mu.Unlock()
	return g.drainAcks.acks[shardAt{sh, by}] >= inc
}
