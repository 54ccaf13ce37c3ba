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

// TestReadersWhileNodesDrain has nodes drain and stop, one after another, while readers of all kinds and updates run on
// a few keys. All reads must be consistent, including those of readers that could not get a snapshot, or were
// restarted. No transaction is rejected because of a node that it does not need, with one exception: an open view that
// blocks updates.
func TestReadersWhileNodesDrain(t *testing.T) {
	var refused refusals
	sum := sumOf(t, 60, func(seed int64) Options {
		o := drawUpdates(seed)
		plans := []txn.Plan{txn.PlanAny, txn.PlanParallel, txn.PlanHotLast}
		o.Reads, o.Plan, o.Lease, o.Order = txn.SnapshotReads, plans[seed%3], time.Second, txn.HotLast
		o.Shards, o.Nodes, o.Registers, o.Counters, o.HotKeys, o.Clients, o.Txns = 3, 3, 4, 1, 2, 10, 25
		o.Crashes, o.Cuts, o.Drains, o.Down = 0, 0, 4, 100*time.Millisecond
		o.OpenBudget, o.HoldBound = time.Duration(1+seed%5)*time.Millisecond, time.Duration(1+seed%3)*time.Millisecond
		o.EarlySnapshotsFor, o.Machines = 20*time.Millisecond, int(1+seed%4)
		o.Mix = Mix{OneShot: 8, OneShotRead: 8, Interactive: 2, InteractiveRead: 10, Scan: 1, MaxOps: 4,
			Think: time.Millisecond, Ops: OpMix{Get: 6, Put: 8, Add: 2, Scan: 1, Require: 1}}
		return o
	}, refused.add)
	// A view that has deregistered from a shard and cannot get a snapshot must drop its reads, or the checks fail. Readers
	// of a node that goes away are restarted; hardly any reader returns an aborted attempt.
	require.Less(t, 100*sum.ReaderAborts, sum.Readers)
	t.Logf("%d drains; %d readers, %d aborted; %d commits, %d updates aborted; "+
		"%d refused for a node that they need, %d views; %d for another",
		sum.Drains, sum.Readers, sum.ReaderAborts, sum.Committed, sum.Aborted,
		refused.sameNode, refused.views, len(refused.others))
	require.Greater(t, sum.Drains, 60)
	require.Greater(t, sum.Readers, 2000)
	require.Empty(t, refused.others)
	require.Greater(t, refused.sameNode, 1000)
	require.Less(t, refused.views, 100)
}

// refusals are transactions that were rejected because a node was down or draining.
type refusals struct {
	// sameNode counts those that needed a key of that node. views counts open views that needed it for a snapshot, because
	// they blocked updates.
	sameNode, views int
	// others lists those that did not need it.
	others []string
}

func (r *refusals) add(w *sim) {
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
			case slices.ContainsFunc(w.shardsOf(x), func(s kv.ShardID) bool {
				return strings.Contains(f.Text,
					"shard "+s.String()+" ")
			}):
				r.sameNode++
			default:
				r.others = append(r.others, name(x.ref)+": "+f.Text)
			}
		}
	}
}

// shardsOf lists the shards of a transaction's keys; a range needs all.
func (w *sim) shardsOf(x *txnRecord) (out []kv.ShardID) {
	ops, all := slices.Clone(x.closedBy), x.kind == scan
	for _, c := range x.calls {
		ops = append(ops, c.ops...)
	}
	for i := range ops {
		all = all || ops[i].IsRange()
		out = append(out, w.Router.Shard(ops[i].Key))
	}
	for s := range w.Router.Shards() {
		if all {
			out = append(out, kv.ShardID(s))
		}
	}
	return out
}
