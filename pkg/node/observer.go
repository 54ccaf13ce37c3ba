package node

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/activity"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// observer records finished transactions in the metrics and the journal. Either may be nil.
type observer struct {
	m         *metrics.Node
	j         *activity.Journal
	conflicts contentionCounters
}

var kinds = map[gateway.Kind]metrics.TxnKind{
	gateway.OneShot: metrics.OneShot, gateway.OneShotRead: metrics.OneShotRead, gateway.Interactive: metrics.Interactive,
	gateway.InteractiveRead: metrics.InteractiveRead, gateway.ScanKind: metrics.Scan,
	gateway.OutcomeQuery: metrics.OutcomeQuery,
}

var plans = map[txn.Plan]metrics.ReadPlan{
	txn.PlanAny: metrics.ReadLocked, txn.PlanOneShard: metrics.ReadOneShard, txn.PlanParallel: metrics.ReadParallel,
	txn.PlanHotLast: metrics.ReadHotLast, txn.PlanInteractive: metrics.ReadInteractive,
	txn.PlanSnapshot: metrics.ReadSnapshot,
}

// Ended implements gateway.Observer.
func (o *observer) Ended(k gateway.Kind, r *gateway.Response, took time.Duration) {
	kind := kinds[k]
	outcome := kv.KindOK
	if r.Err != nil {
		outcome = r.Err.Kind
	}
	if o.j != nil {
		o.j.Ended(&activity.Ended{ID: r.ID, Kind: kind, Took: took, Outcome: outcome, Attempts: r.Attempts,
			Contention: &r.Contention})
	}
	if o.m == nil {
		return
	}
	o.m.Transaction(kind, outcome, took)
	if k.ReadsOnly() && r.Err == nil {
		o.m.Read(plans[r.Plan])
	}
	o.m.Stage(metrics.Gateway).Observe(took)
	if w := &r.Receipt; w.WaitedNanos > 0 {
		o.conflicts.counter(o.m, w).Waited(time.Duration(w.WaitedNanos))
	}
	if r.Ended.Count > 0 {
		o.conflicts.counter(o.m, abortCause(&r.Ended)).Aborted(int(r.Ended.Count))
	}
	for _, reason := range r.Aborts {
		o.m.Retry(reason)
	}
}

// sealJournal ends the journal's current second, once per second.
func (n *Node) sealJournal() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-n.stop:
			return
		case now := <-t.C:
			n.opt.Journal.Seal(now)
		}
	}
}
