package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// leaderChanges is a cluster with three replicas of each shard, and the failures of calls.
type leaderChanges struct {
	*sim
	pending  int
	failures []*msg.Failure
}

func newLeaderChanges(t *testing.T, broken mutant.Set) *leaderChanges {
	o := replicated(steady(txn.HotLast))
	o.SnapshotEvery, o.History, o.Machines, o.Mutants = time.Second, time.Minute, 2, broken
	return &leaderChanges{sim: led(t, o)}
}

// call starts a call at each machine of a node, with an id of that machine.
func (w *leaderChanges) call(n *node, f func(g *txn.Gateway, now int64, tok txn.CallHandle, id kv.TxnID)) {
	for i := range n.Machines {
		id := w.newID()
		for n.Machine(id) != n.Machines[i] {
			id = w.newID()
		}
		w.pending++
		w.sim.call(n, func(now int64, tok txn.CallHandle) { f(n.Machines[i], now, tok, id) }, func(d txn.Done, _ bool) {
			w.pending--
			if d.Failure != nil {
				w.failures = append(w.failures, d.Failure)
			}
		})
	}
}

// callAll has a node write on each shard, read all at a snapshot, and retain one.
func (w *leaderChanges) callAll(n *node) {
	keys := keysOnShards(w.sim, 3)
	snapshot := txn.TxnOptions{Plan: txn.PlanSnapshot}
	for _, k := range keys {
		w.call(n, func(g *txn.Gateway, now int64, tok txn.CallHandle, id kv.TxnID) {
			g.Execute(now, tok, id, []msg.Op{put(k)}, forever, txn.TxnOptions{})
		})
	}
	w.call(n, func(g *txn.Gateway, now int64, tok txn.CallHandle, id kv.TxnID) {
		g.Execute(now, tok, id, []msg.Op{get(keys[0]), get(keys[1]), get(keys[2]), get(keys[3])}, forever, snapshot)
	})
	w.call(n, func(g *txn.Gateway, now int64, tok txn.CallHandle, id kv.TxnID) {
		g.RetainSnapshot(now, tok, id, "", int64(time.Hour), forever)
	})
}

// end runs until all calls have ended.
func (w *leaderChanges) end(t *testing.T) []*msg.Failure {
	w.Run(w.Now()+int64(time.Minute), func() bool { return w.pending == 0 })
	require.NoError(t, w.Err)
	require.Zero(t, w.pending, "calls that have not ended")
	return w.failures
}

// failuresOf has a node learn that another one is down, or drains, and returns the failures of its calls.
func failuresOf(t *testing.T, broken mutant.Set, drains bool) []*msg.Failure {
	w := newLeaderChanges(t, broken)
	gone := w.Shards[0].Node
	n := w.nodes[int(gone.ID)%len(w.nodes)]
	n.OnAllMachines(func(m *txn.Gateway) {
		if !drains {
			m.SetDown(n.Local(), gone.ID, true)
			return
		}
		for _, s := range w.Shards {
			m.Shards().SetDraining(s.ID, s.M.Incarnation())
		}
	})
	w.Run(w.Now()+int64(time.Second), nil)
	w.callAll(n)
	return w.end(t)
}

// TestNodeThatIsDownMakesNoShardUnavailable: nor does one that drains; its shards have other leaders, or will soon have
// some (R14.7).
func TestNodeThatIsDownMakesNoShardUnavailable(t *testing.T) {
	require.Empty(t, failuresOf(t, mutant.Set{}, false))
	require.Empty(t, failuresOf(t, mutant.Set{}, true))
}

// TestCallsSurviveChangesOfLeaders: one-shots, reads at a snapshot and rounds that meet a transfer, or a leader that is
// cut off, retry until there is another leader. None is refused (R14.7).
func TestCallsSurviveChangesOfLeaders(t *testing.T) {
	for id := range kv.ShardID(5) {
		for _, cut := range []bool{false, true} {
			for after := time.Duration(0); after < 3*oneWay; after += oneWay / 2 {
				w := newLeaderChanges(t, mutant.Set{})
				leader := w.Shards[id].Node
				next := w.nodes[int(leader.ID)%len(w.nodes)]
				w.callAll(next)
				w.Run(w.Now()+int64(after), nil)
				if cut {
					leader.CutUntil = w.Now() + int64(5*w.Hold)
				} else {
					w.Shards[id].Transfer(next.Node)
				}
				w.callAll(next)
				require.Empty(t, w.end(t), "%v, cut %v, after %v", id, cut, after)
				require.NotEqual(t, leader.ID, w.Shards[id].Node.ID)
			}
		}
	}
}

// disagreeing has two machines of a gateway know that all shards drain; one of them learns their next incarnations. It
// returns the failures of calls at both.
func disagreeing(t *testing.T, broken mutant.Set) []*msg.Failure {
	o := steady(txn.HotLast)
	o.Machines, o.Mutants = 2, broken
	w := &leaderChanges{sim: newSim(o)}
	n := w.nodes[0]
	w.Run(int64(time.Second), nil)
	for _, m := range n.Machines {
		for _, s := range w.Shards {
			m.Shards().SetDraining(s.ID, s.M.Incarnation())
		}
	}
	for _, d := range w.Disks {
		d.Crash()
	}
	w.Run(w.Now()+int64(10*time.Second), nil)
	for _, s := range w.Shards {
		n.Machines[1].Shards().Learn(s.ID, s.M.Incarnation())
	}
	keys := keysOnShards(w.sim, 3)
	w.call(n, func(g *txn.Gateway, now int64, tok txn.CallHandle, id kv.TxnID) {
		g.Execute(now, tok, id, []msg.Op{get(keys[0]), get(keys[1])}, forever, txn.TxnOptions{Plan: txn.PlanSnapshot})
	})
	return w.end(t)
}

// TestMachinesOfAGatewayAgreeOnIncarnations: a machine that borrows a snapshot is not refused by one that does not know
// that the shards are back (R14.9).
func TestMachinesOfAGatewayAgreeOnIncarnations(t *testing.T) {
	require.Empty(t, disagreeing(t, mutant.Set{}))
}
