package txn

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
	"github.com/linchpindb/linchpin/pkg/txn/shards"
	"github.com/linchpindb/linchpin/pkg/txn/status"
)

// Gateway is one machine of a gateway: the calls of its clients. Its methods are not for
// concurrent use; each takes the time in nanoseconds, and what it wants done is collected by
// Flush.
type Gateway struct {
	// host is what the flows see: time and output, and what is known of the cluster.
	gw *flow.Gateway
	// flows are those under way; status has the queries about lost answers.
	flows  flowTable
	status *status.Queries
	// due is the call by which the snapshot registry gets a state that it wants.
	historyFlow *flow.Snapshot
	// dueFrom is from when it may get the next one although shards are left out of rounds.
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

// InFlight is the number of transactions, scans and status queries under way.
func (g *Gateway) InFlight() int { return g.flows.len() + g.status.InFlight() }

// Quiet reports what is left when no transaction is under way: nil if there is nothing.
func (g *Gateway) Quiet() error {
	gw, n := g.gw, g.InFlight()
	if n+len(gw.Readers)+len(gw.Pages) > 0 || !gw.Rounds.Quiet() {
		return fmt.Errorf("gateway %v: not quiet: %d in flight, %d readers, %d pages asked for, rounds are quiet: %v",
			gw.Node, n, len(gw.Readers), len(gw.Pages), gw.Rounds.Quiet())
	}
	err := gw.Admitter.Quiet()
	if err != nil {
		return fmt.Errorf("gateway %v: %w", gw.Node, err)
	}
	return nil
}

// Stats are what the machine has counted.
func (g *Gateway) Stats() Stats {
	return Stats{Rounds: g.gw.Rounds.Begun(), Shared: g.gw.SharedReads.Count, Admission: g.gw.Admitter.Counters()}
}

// Flush drains what the calls since the last Flush want done.
func (g *Gateway) Flush() Output {
	var out Output
	g.FlushInto(&out)
	return out
}

// FlushInto is Flush with the room of an earlier output, of which nothing may be needed any more.
func (g *Gateway) FlushInto(out *Output) {
	gw := g.gw
	gw.Out, out.Send = out.Send[:0], gw.Out
	gw.Done, out.Done = out.Done[:0], gw.Done
	gw.Rounds.GiveBack, out.GiveBack = out.GiveBack[:0], gw.Rounds.GiveBack
	gw.LeftOut, out.LeftOut = out.LeftOut[:0], gw.LeftOut
	out.Borrow, gw.Rounds.Borrow = gw.Rounds.Borrow, false
	out.Next = gw.Env.Next
	if !gw.Mutants.Has(mutant.SharedAfterSent) {
		gw.SharedReads.OnFlush()
	}
	g.flows.pool.Recycle()
}

// SetDown says whether a node is known to be down. While it is, new transactions that need it
// are refused at once, and those under way that wait for it are ended.
func (g *Gateway) SetDown(now int64, n kv.NodeID, down bool) {
	g.gw.At(now)
	if g.gw.Shards.SetDown(n, down) && g.InFlight() > 0 {
		g.gw.Timed(g.gw.Now)
	}
}

// Shards is what the machine knows of the shards, to be told more.
func (g *Gateway) Shards() *shards.Shards { return g.gw.Shards }

// LearnMoved takes which keys the hot shard has taken in, as of an epoch, from wherever it is
// remembered; what is reported of a later one goes before it.
func (g *Gateway) LearnMoved(epoch uint64, keys [][]byte) { g.gw.Places.Learn(epoch, keys) }

// SetHeat says from now on which keys are hot.
func (g *Gateway) SetHeat(now int64, heat *Heat) {
	g.gw.At(now)
	g.gw.Places.Learn(heat.Epoch, heat.Moved)
	g.gw.Heat.Set(heat)
}
