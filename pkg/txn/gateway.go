package txn

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
	"github.com/linchpindb/linchpin/pkg/txn/shards"
	"github.com/linchpindb/linchpin/pkg/txn/status"
)

// Gateway is one state machine of a gateway: the calls of some of its clients. Its methods are not
// safe for concurrent use. Each takes the time in nanoseconds, by a monotonic clock; Flush returns
// what they have requested.
type Gateway struct {
	// gw is the state that the flows share: time, output, and what is known of the cluster.
	gw *flow.Gateway
	// flows are in flight. status has the outcome queries.
	flows  flowTable
	status *status.Queries
	// historyFlow is the last request to retain a snapshot for the history. historyFrom is from when
	// there may be another one although shards are excluded from rounds.
	historyFlow *flow.Snapshot
	historyFrom int64
}

// NewGateway makes a gateway without transactions.
func NewGateway(cfg Config) *Gateway {
	g := &Gateway{flows: flowTable{ids: map[kv.TxnID]flow.Flow{}, earlier: map[kv.TxnRef]flow.Flow{}}}
	g.gw = flow.NewGateway(env.New(cfg), g.flows.each)
	g.flows.gw = g.gw
	g.status = status.New(g.gw.Env, g.gw.Shards)
	return g
}

// InFlight counts the calls in flight, outcome queries included.
func (g *Gateway) InFlight() int { return g.flows.len() + g.status.InFlightCount() }

// CheckQuiescent returns an error that lists what is left over when no transaction is in flight; nil if
// nothing is. Tests use it to detect leaks.
func (g *Gateway) CheckQuiescent() error {
	gw, n := g.gw, g.InFlight()
	if n+len(gw.Readers)+len(gw.Pages) > 0 || !gw.Rounds.IsIdle() {
		return fmt.Errorf("gateway %v: not quiet: %d in flight, %d readers, %d pages requested, rounds are quiet: %v",
			gw.Node, n, len(gw.Readers), len(gw.Pages), gw.Rounds.IsIdle())
	}
	err := gw.Admitter.CheckEmpty()
	if err != nil {
		return fmt.Errorf("gateway %v: %w", gw.Node, err)
	}
	return nil
}

// Stats returns the counters of the machine.
func (g *Gateway) Stats() Stats {
	return Stats{Rounds: g.gw.Rounds.BegunCount(), SharedReads: g.gw.SharedReads.Count,
		Admission: g.gw.Admitter.Counters()}
}

// Flush returns what the calls since the last Flush have requested.
func (g *Gateway) Flush() Output {
	var out Output
	g.FlushInto(&out)
	return out
}

// FlushInto is Flush into an earlier output, whose buffers are reused: nothing may refer to them
// any more.
func (g *Gateway) FlushInto(out *Output) {
	gw := g.gw
	gw.Out, out.Send = out.Send[:0], gw.Out
	gw.Done, out.Done = out.Done[:0], gw.Done
	gw.Rounds.GiveBack, out.ReturnSnapshots = out.ReturnSnapshots[:0], gw.Rounds.GiveBack
	gw.LeftOut, out.ExcludedShards = out.ExcludedShards[:0], gw.LeftOut
	out.BorrowSnapshot, gw.Rounds.Borrow = gw.Rounds.Borrow, false
	out.Next = gw.Env.Next
	gw.SharedReads.OnFlush(gw)
	g.flows.pool.Recycle()
}

// SetDown reports whether a node is down. While it is, new transactions that need its shards are
// rejected at once, and those that wait for it end at the next Tick.
//
// With kv.NoLeader it reports whether shards with several replicas have no leader, which has the same effect.
func (g *Gateway) SetDown(now int64, n kv.NodeID, down bool, leaderless ...kv.ShardID) {
	g.gw.AdvanceTo(now)
	if g.gw.Shards.SetDown(n, down, leaderless...) && g.InFlight() > 0 {
		g.gw.WakeAt(g.gw.Now)
	}
}

// Learn stores the incarnation of a shard. Requests that wait are retried if it is that of a new leader.
func (g *Gateway) Learn(now int64, of kv.ShardID, inc kv.Incarnation) {
	g.gw.AdvanceTo(now)
	g.gw.Shards.Learn(of, inc)
}

// Shards is what the machine knows of the shards.
func (g *Gateway) Shards() *shards.Shards { return g.gw.Shards }

// SetMovedKeys sets the keys that are on the hot shard, as of an epoch, from the node's catalog. A
// list of a later epoch replaces it.
//
// The list may be old or missing: it saves redirects after a start.
func (g *Gateway) SetMovedKeys(epoch uint64, keys [][]byte) { g.gw.Places.Learn(epoch, keys) }

// SetHeat sets the heat map.
func (g *Gateway) SetHeat(now int64, heat *Heat) {
	g.gw.AdvanceTo(now)
	g.gw.Places.Learn(heat.Epoch, heat.Moved)
	g.gw.Heat.Set(heat)
}
