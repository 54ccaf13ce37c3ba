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

var errDraining = &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "the node is draining", Hint: "nothing was applied; use another node"}

// Refuse refuses new transactions from now on. Those that are open go on. Nor does
// the gateway run shards' errands any more: moves of keys, states to be kept, and
// deletions of keys that are due, which can be had later.
func (g *Gateway) Refuse() { g.closed.Store(true) }

// Drain refuses new transactions and returns when none is under way, or with
// the context's error.
func (g *Gateway) Drain(ctx context.Context) error {
	g.Refuse()
	t := time.NewTicker(g.opt.TickEvery)
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

// errands leaves out what shards want done.
func errands(envs []*msg.Envelope) []*msg.Envelope {
	errand := func(env *msg.Envelope) bool { return msg.Is[msg.MoveKey](env) || msg.Is[msg.Due](env) }
	if !slices.ContainsFunc(envs, errand) {
		return envs
	}
	return slices.DeleteFunc(slices.Clone(envs), errand)
}

// leaving is what is known of nodes that are about to stop.
type leaving struct {
	mu sync.Mutex
	// heard has the incarnations of which nodes have heard that shards here are leaving, by shard.
	heard map[kv.ShardID]map[kv.NodeID]kv.Incarnation
}

// announced handles an Announcement.
func (g *Gateway) announced(env *msg.Envelope) {
	switch a := msg.As[msg.Announcement](env); {
	case a.Heard:
		g.leaving.mu.Lock()
		defer g.leaving.mu.Unlock()
		if g.leaving.heard == nil {
			g.leaving.heard = map[kv.ShardID]map[kv.NodeID]kv.Incarnation{}
		}
		if g.leaving.heard[a.Shard] == nil {
			g.leaving.heard[a.Shard] = map[kv.NodeID]kv.Incarnation{}
		}
		heard := g.leaving.heard[a.Shard]
		heard[env.From] = max(heard[env.From], a.Incarnation)
	case a.Leaving:
		g.SetLeaving(a.Shard, a.Incarnation)
		if env.From != 0 {
			// On one stream this comes after what has been sent before.
			heard := msg.ToGateway(env.From)
			heard.Body = &msg.Announcement{Shard: a.Shard, Incarnation: a.Incarnation, Heard: true}
			g.opt.Send([]*msg.Envelope{heard})
		}
	default:
		g.LearnAborts(a.Shard, kv.Known{Incarnation: a.Incarnation, Aborts: a.Aborts})
		g.hearTimes(env)
	}
}

// hearTimes notes what another node says of its clock, and of the time by which one of
// its shards forgets. A late copy is harmless: the time of forgetting only rises, and a clock that
// seems to be behind, until the next Announce, has shards forget later.
func (g *Gateway) hearTimes(env *msg.Envelope) {
	a, now := msg.As[msg.Announcement](env), g.opt.Clock.Now()
	if a.IdTime != 0 {
		g.opt.Clock.Push(a.IdTime - now)
	}
	if a.Clock != 0 && env.From != 0 {
		g.opt.Clock.Heard(env.From, now, a.Clock)
	}
}

// SetLeaving says that a shard, in this incarnation, is about to stop.
func (g *Gateway) SetLeaving(sh kv.ShardID, inc kv.Incarnation) {
	for _, s := range g.stripes {
		g.run(s, func(m *txn.Gateway, _ int64) { m.Shards().SetLeaving(sh, inc) })
	}
}

// Leaving reports whether nothing new is begun on a shard because its node is about to
// stop. What has been heard of its next incarnation, all machines know.
func (g *Gateway) Leaving(sh kv.ShardID) (is bool) {
	last := g.stripes[len(g.stripes)-1] // which hears of everything after the others
	g.run(last, func(m *txn.Gateway, _ int64) { is = m.Shards().IsLeaving(sh) })
	return is
}

// Heard reports whether a node has heard that a shard of this one, in this incarnation, is leaving.
func (g *Gateway) Heard(sh kv.ShardID, inc kv.Incarnation, by kv.NodeID) bool {
	g.leaving.mu.Lock()
	defer g.leaving.mu.Unlock()
	return g.leaving.heard[sh][by] >= inc
}
