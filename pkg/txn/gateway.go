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
	host *flow.Host
	// flows are those under way; status has the queries about lost answers.
	flows  table
	status *status.Queries
	// due is the call by which the snapshot registry gets a state that it wants.
	due *flow.Snapshot
	// dueFrom is from when it may get the next one although shards are left out of rounds.
	dueFrom int64
}

// NewGateway makes a gateway without transactions.
func NewGateway(cfg Config) *Gateway {
	g := &Gateway{flows: table{ids: map[kv.TxnID]flow.Flow{}, earlier: map[kv.TxnRef]flow.Flow{}}}
	g.host = flow.NewHost(env.New(cfg), g.flows.each)
	g.flows.host = g.host
	g.status = status.New(g.host.Env, g.host.Shards)
	return g
}

// InFlight is the number of transactions, scans and status queries under way.
func (g *Gateway) InFlight() int { return g.flows.len() + g.status.InFlight() }

// Quiet reports what is left when no transaction is under way: nil if there is nothing.
func (g *Gateway) Quiet() error {
	h, n := g.host, g.InFlight()
	if n+len(h.Readers)+len(h.Pages) > 0 || !h.Rounds.Quiet() {
		return fmt.Errorf("gateway %v: not quiet: %d in flight, %d readers, %d pages asked for, rounds are quiet: %v",
			h.Node, n, len(h.Readers), len(h.Pages), h.Rounds.Quiet())
	}
	err := h.Door.Quiet()
	if err != nil {
		return fmt.Errorf("gateway %v: %w", h.Node, err)
	}
	return nil
}

// Stats are what the machine has counted.
func (g *Gateway) Stats() Stats {
	return Stats{Rounds: g.host.Rounds.Begun(), Shared: g.host.Shared.Count, Admission: g.host.Door.Counters()}
}

// Flush drains what the calls since the last Flush want done.
func (g *Gateway) Flush() Output {
	var out Output
	g.FlushInto(&out)
	return out
}

// FlushInto is Flush with the room of an earlier output, of which nothing may be needed any more.
func (g *Gateway) FlushInto(out *Output) {
	h := g.host
	h.Out, out.Send = out.Send[:0], h.Out
	h.Done, out.Done = out.Done[:0], h.Done
	h.Rounds.GiveBack, out.GiveBack = out.GiveBack[:0], h.Rounds.GiveBack
	h.LeftOut, out.LeftOut = out.LeftOut[:0], h.LeftOut
	out.Borrow, h.Rounds.Borrow = h.Rounds.Borrow, false
	out.Next = h.Env.Next
	if !h.Mutants.Has(mutant.SharedAfterSent) {
		h.Shared.Sent()
	}
	g.flows.pool.Recycle()
}

// SetDown says whether a node is known to be down. While it is, new transactions that need it
// are refused at once, and those under way that wait for it are ended.
func (g *Gateway) SetDown(now int64, n kv.NodeID, down bool) {
	g.host.At(now)
	if g.host.Shards.SetDown(n, down) && g.InFlight() > 0 {
		g.host.Timed(g.host.Now)
	}
}

// Shards is what the machine knows of the shards, to be told more.
func (g *Gateway) Shards() *shards.Shards { return g.host.Shards }

// LearnMoved takes which keys the hot shard has taken in, as of an epoch, from wherever it is
// remembered; what is reported of a later one goes before it.
func (g *Gateway) LearnMoved(epoch uint64, keys [][]byte) { g.host.Places.Learn(epoch, keys) }

// SetHeat says from now on which keys are hot.
func (g *Gateway) SetHeat(now int64, h *Heat) {
	g.host.At(now)
	g.host.Places.Learn(h.Epoch, h.Moved)
	g.host.Heat.Set(h)
}
