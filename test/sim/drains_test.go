package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// TestReadersWhileNodesDrain has nodes drain and stop one after the other while readers
// of all kinds and updates meet on a few keys. What readers saw was so, also where they
// could not be pinned, or began anew. No transaction is refused because of a node that it
// does not need, but for views that updates wait for, in the middle.
func TestReadersWhileNodesDrain(t *testing.T) {
	var sum Summary
	var refused refusals
	for seed := range int64(60) {
		o := drawUpdates(seed)
		plans := []txn.Plan{txn.PlanAny, txn.PlanParallel, txn.PlanHotLast}
		o.Reads, o.Plan, o.Lease, o.Order = txn.SnapshotReads, plans[seed%3], time.Second, txn.HotLast
		o.Shards, o.Nodes, o.Registers, o.Counters, o.HotKeys, o.Clients, o.Txns = 3, 3, 4, 1, 2, 10, 25
		o.Crashes, o.Cuts, o.Drains, o.Down = 0, 0, 4, 100*time.Millisecond
		o.OpenBudget, o.HoldBound = time.Duration(1+seed%5)*time.Millisecond, time.Duration(1+seed%3)*time.Millisecond
		o.CrowdFor, o.Machines = 20*time.Millisecond, int(1+seed%4)
		o.Mix = Mix{OneShot: 8, OneShotRead: 8, Interactive: 2, InteractiveRead: 10, Scan: 1, MaxOps: 4, Think: time.Millisecond,
			Ops: OpMix{Get: 6, Put: 8, Add: 2, Scan: 1, Require: 1}}
		w := newWorld(o)
		s, err := w.play()
		require.NoError(t, err, "seed %d", seed)
		sum.add(s)
		refused.count(w)
	}
	// A view that has left a shard and can have no state forgets what it has read, or the judge complains.
	// Readers whose node goes away begin anew; hardly any is told of an aborted attempt.
	require.Less(t, 100*sum.ReaderAborts, sum.Readers)
	t.Logf("%d drains; %d readers, %d aborted; %d commits, %d updates aborted; %d refused for a node that they need, %d views; %d for another",
		sum.Drains, sum.Readers, sum.ReaderAborts, sum.Committed, sum.Aborted,
		refused.own, refused.views, len(refused.others))
	require.Greater(t, sum.Drains, 60)
	require.Greater(t, sum.Readers, 2000)
	require.Empty(t, refused.others)
	require.Greater(t, refused.own, 1000)
	require.Less(t, refused.views, 100)
}

// refusals are transactions that were refused because a node was down or drained.
type refusals struct {
	// own needed that node. views needed it to read on at a fixed state, since updates wait for them.
	own, views int
	// others did not need it.
	others []string
}

func (r *refusals) count(w *world) {
	for _, x := range w.log.txns {
		fs := []*msg.Failure{x.failure}
		for _, c := range x.calls {
			fs = append(fs, c.failure)
		}
		for _, f := range fs {
			switch {
			case f == nil || !strings.Contains(f.Text, " is on node "):
			case strings.HasPrefix(f.Text, "the view cannot continue"):
				r.views++
			case slices.ContainsFunc(w.needs(x), func(s kv.ShardID) bool { return strings.Contains(f.Text, "shard "+s.String()+" ") }):
				r.own++
			default:
				r.others = append(r.others, name(x.ref)+": "+f.Text)
			}
		}
	}
}

// needs lists the shards of a transaction's keys; a range needs all.
func (w *world) needs(x *txnRecord) (out []kv.ShardID) {
	ops, all := slices.Clone(x.closedBy), x.kind == scan
	for _, c := range x.calls {
		ops = append(ops, c.ops...)
	}
	for i := range ops {
		all = all || ops[i].IsRange()
		out = append(out, w.router.Shard(ops[i].Key))
	}
	for s := range w.router.Shards() {
		if all {
			out = append(out, kv.ShardID(s))
		}
	}
	return out
}
