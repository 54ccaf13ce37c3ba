package txn

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
)

// Tick repeats what has no answer and ends what is late.
func (g *Gateway) Tick(now int64) {
	g.host.At(now)
	if g.host.Now < g.host.Env.Next {
		return
	}
	g.host.Env.Next = env.Never
	for _, f := range g.flows.byAge() {
		if g.flows.find(f.Base().Ref) == f {
			g.tickCall(f)
		}
	}
	g.host.Shards.TickProbes()
	g.flows.beginRound()
	g.status.Tick()
	g.endQueries()
	g.host.Rounds.Tick()
}

func (g *Gateway) tickCall(f flow.Flow) {
	c := f.Base()
	switch c.Phase {
	case flow.Idle:
		g.flows.handle(f, f.Repeat(g.host))
		return
	case flow.Committing:
		g.tickCommit(f.(flow.Committer))
		return
	case flow.Backoff:
		if g.host.Now >= c.RetryAt {
			g.flows.handle(f, f.Start(g.host))
			return
		}
		g.host.Timed(c.RetryAt)
	}
	why := g.overdue(f)
	if why != nil {
		g.flows.Abort(f, why)
		return
	}
	g.host.Timed(c.EndAt())
	if c.Phase == flow.Asking {
		c.RepeatQuestion(g.host.Env)
		return
	}
	g.flows.handle(f, f.Repeat(g.host))
}

// awaits lists the shards that have not answered a call which can be given up.
func (g *Gateway) awaits(f flow.Flow) []kv.ShardID {
	if f.Base().Phase == flow.Asking {
		return []kv.ShardID{g.host.Hot()}
	}
	return f.Awaits()
}

// overdue says why a call that has not asked to commit is given up now: it is late, or waits
// for a node that is down; nil if it is not.
func (g *Gateway) overdue(f flow.Flow) *msg.Failure {
	c := f.Base()
	if g.host.Now >= c.EndAt() {
		if c.GivenUpEarly(g.host.Now) {
			return g.flows.late(f)
		}
		return env.Failure(msg.ReasonCancelled, kv.KindAborted, "")
	}
	if c.Kind == flow.FixingKind {
		return nil // it goes on without that node's shards
	}
	down := g.host.Shards.Unreachable(g.awaits(f)...)
	if down != nil && c.Phase == flow.Asking {
		down.Hint = "the change may be applied; send it again when the node is back"
	}
	return down
}

// tickCommit repeats the commit; near the deadline it asks for an end, and at the deadline the
// outcome is unknown, unless there is nothing to apply.
func (g *Gateway) tickCommit(f flow.Committer) {
	c := f.Base()
	if g.host.Shards.AnyDown() && g.meetDown(f) {
		return
	}
	if g.host.Now < c.Deadline() {
		g.host.Timed(c.Deadline())
		if f.Commit().Tick(g.host.Env, c.LastRepeat(), c.CancelAt()) {
			g.host.Shards.Suspect(f.Commit().Last())
		}
		return
	}
	if f.OnlyReads() {
		g.flows.Finish(f, Done{Failure: g.flows.late(f)})
		return
	}
	text := "the commit of transaction " + c.Ref.TxnID.String() +
		" had no response in time; query its outcome by that id"
	g.flows.Finish(f, Done{Failure: env.Failure(msg.ReasonCancelled, kv.KindOutcomeUnknown, text)})
}

// endQueries answers the status queries that have ended.
func (g *Gateway) endQueries() {
	for _, e := range g.status.TakeEnded() {
		d := Done{
			Txn:         kv.TxnRef{TxnID: e.ID},
			Committed:   e.Committed,
			Results:     e.Results,
			ResultsLost: e.ResultsLost,
			Failure:     e.Failure,
		}
		for _, t := range e.Handles {
			d.Token = t
			g.host.Done = append(g.host.Done, d)
		}
	}
}
