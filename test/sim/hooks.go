package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/world"
)

// hooks is the user of the simulated world: it configures the machines from the options, and records what the checks
// need.
type hooks struct{ w *sim }

// GatewayConfig implements world.User.
func (h hooks) GatewayConfig(*world.Node) txn.Config {
	o := &h.w.opt
	return txn.Config{Order: o.Order, NoOptimistic: o.NoOptimistic, NoEarlyLocks: o.NoEarlyLocks, Reads: o.Reads,
		NoSharing: bool(o.Sharing.Combining), Plan: o.Plan, Lease: o.Lease, OpenBudget: o.OpenBudget,
		SnapshotFirstFor: o.EarlySnapshotsFor, Repeat: o.Repeat, Liveness: o.Liveness, IdleTimeout: o.IdleGrace,
		MaxAge: o.MaxAge, MaxInFlight: o.Slots, Admission: o.admission(), RoundGap: kv.MinRoundPause(o.Nodes),
		Round: o.Round}
}

// ShardConfig implements world.User.
func (h hooks) ShardConfig(at *world.Shard) shard.Config {
	s, o := h.w.shards[at.ID], &h.w.opt
	c := shard.Config{ID: s.ID, Node: s.Node.ID, Sharing: o.Sharing, Paging: o.Paging, CacheBytes: o.CacheBytes,
		Memory: o.Memory, Retention: o.Retention, Repeat: o.Repeat,
		Liveness: o.Liveness, GarbageBatch: o.GarbageBatch, Mutants: o.Mutants,
		Lease: o.Lease, UnsealAfter: o.UnsealAfter, HoldBound: o.HoldBound,
		Snapshots: h.w.snapshotConfig(), Heat: h.w.heat(), ExpiryInterval: dueEvery, ExpiryRetry: dueRetry,
		Trace: s.trace(at)}
	if o.AbortsReported {
		c.Nodes = o.Nodes
	}
	if s.ID == h.w.Router.HotShard() {
		c.Home = h.w.Router.Shard
	}
	c.Lock.MaxWaiters, c.Lock.MaxPhaseCount = o.MaxWaiters, o.PhaseCount
	c.Lock.MaxKeyWaiters, c.MaxKeyReferences = o.KeyWaiters, o.KeyReferences
	return c
}

// OnRecovered implements world.User.
func (h hooks) OnRecovered(at *world.Shard, rec *shard.Recovered) {
	s := h.w.shards[at.ID]
	s.Shard, s.n = at, h.w.nodes[at.Node.ID-1]
	s.fixed = map[int64]int64{}
	if h.w.opt.SentOnce { // then no id has to be looked up
		rec.State.Newest, rec.State.Ahead = -1, nil
	}
	if h.w.opt.KnownLeases {
		rec.Leases = shard.Leases{Known: s.granter == rec.State.Incarnation, Until: s.leases}
	}
}

// OnInput implements world.User.
func (h hooks) OnInput(at *world.Shard, in *shard.Input) {
	s := h.w.shards[at.ID]
	s.messageCount += len(in.Messages)
	for _, env := range in.Messages {
		s.recordArrival(env)
	}
	in.IDTime, in.Busy, in.Peers = s.idTime(), s.load(), s.peers()
}

// OnOutput implements world.User.
func (h hooks) OnOutput(at *world.Shard, out *shard.Output) {
	s := h.w.shards[at.ID]
	s.leases, s.granter = at.M.LeaseHorizon(), at.M.Incarnation()
	s.recordFixing(s.Node.Local(), out.Urgent)
	s.recordFixing(s.Node.Local(), out.Send)
	s.recordExpiries(out.Send)
	s.raiseClock(at.M)
}

// OnSend implements world.User.
func (h hooks) OnSend(_ world.Source, env *msg.Envelope) (lateBy time.Duration, ok bool) {
	w := h.w
	if w.isLost != nil && w.isLost(env) {
		return 0, false
	}
	switch m := env.Body.(type) {
	case *msg.MoveKey:
		if !w.movers[m.Txn.TxnID] {
			w.movers[m.Txn.TxnID] = true
			w.sum.Planned++
		}
		return 0, !w.isAnchor(m.Key)
	case *msg.DecisionAck:
		return w.opt.AckLate, true
	}
	return 0, true
}

// OnDeliver implements world.User.
func (h hooks) OnDeliver(_ *world.Node, env *msg.Envelope) {
	if m := msg.As[msg.HeatMap](env); m != nil {
		h.w.maxHeatMap = max(h.w.maxHeatMap, m.Number)
	}
}

// OnDone implements world.User. The client runs in an event of its own, so that it may call the gateway again.
func (h hooks) OnDone(at *world.Node, d txn.Done) {
	n, oc := h.w.nodes[at.ID-1], d.Handle.(*openCall)
	for i, c := range n.calls {
		if c == oc {
			n.calls = append(n.calls[:i:i], n.calls[i+1:]...)
			break
		}
	}
	n.checkRefusal(oc, &d)
	h.w.After(0, func() { oc.finish(d, false) })
}

// OnGatewayCrash implements world.User.
func (h hooks) OnGatewayCrash(at *world.Node) {
	n := h.w.nodes[at.ID-1]
	calls := n.calls
	n.calls = nil
	for _, c := range calls {
		c.finish(txn.Done{}, true)
	}
}

// load returns the load that a shard reports: full and none by turns.
func (s *shell) load() float64 {
	if d := int64(s.w.opt.BusyFor); s.fullyLoaded || d > 0 && (s.w.Now()/d+int64(s.ID))%2 == 0 {
		return 1
	}
	return 0
}

// trace returns the functions that the machine at a node calls.
func (s *shell) trace(at *world.Shard) shard.Trace {
	return shard.Trace{
		Committed: func(txn kv.TxnRef) { s.onCommitted(at, txn) },
		Visible: func(txn kv.TxnRef, e *entry.Effect, v entry.Value, csn kv.CSN) {
			s.onVisible(at, txn, e, v, csn)
		},
		SnapshotRetained: s.onRetained,
	}
}

// onCommitted and onVisible are called by the machine; see shard.Trace.
func (s *shell) onCommitted(at *world.Shard, txn kv.TxnRef) {
	if s.w.movers[txn.TxnID] {
		return
	}
	txn = s.expiryRef(at, txn)
	s.record(at, &logEvent{decided: &decision{txn: txn, shard: s.ID, at: s.w.Now()}})
	s.w.Trace("%v COMMITS %v", s.ID, name(txn))
}

func (s *shell) onVisible(at *world.Shard, txn kv.TxnRef, e *entry.Effect, v entry.Value, csn kv.CSN) {
	if isMove(e.Kind) {
		s.w.Trace("%v makes VISIBLE that %q moves, %v at %d", s.ID, e.Key, v.Version, csn)
		return
	}
	s.checkSpace(txn, e, &v)
	s.recordDeadline(txn, e, &v)
	txn = s.expiryRef(at, txn)
	if e.Kind == entry.EffectDelete && e.Expires != 0 {
		s.w.sum.Expired++
	}
	s.record(at, &logEvent{visible: &visibleEffect{txn: txn, shard: s.ID, key: string(e.Key), kind: e.Kind, delta: e.Delta,
		value: v, csn: csn}})
	s.w.Trace("%v makes VISIBLE %v %v %q=%q %v at %d", s.ID, name(txn), e.Kind, e.Key, v.Payload, v.Version, csn)
}

// record records an event of the current step of the machine at a node.
func (s *shell) record(at *world.Shard, n *logEvent) {
	s.w.log.events = append(s.w.log.events, n)
	at.Attach(&n.Note)
}
