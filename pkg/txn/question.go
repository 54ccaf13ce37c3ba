package txn

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// question is one to the hot shard, which keeps the pins and has the planner of
// hot keys. request is a name that no other question has.
type question struct {
	request kv.TxnRef
	env     *msg.Envelope
	wait    int64
	next    int64
}

// newAsking makes a call that is no transaction, but asks the hot shard.
func (g *Gateway) newAsking(kind callKind, token Token, id kv.TxnID, deadline int64) *call {
	c := &call{ref: kv.TxnRef{TxnID: id, Attempt: 1}, kind: kind, token: token, readOnly: true, started: g.now}
	c.deadline = min(deadline, g.now+int64(g.cfg.MaxAge))
	if f := g.taken(id); f != nil {
		g.done(c, Done{Failure: f, Closed: true})
		return nil
	}
	g.enter(c)
	g.timed(c.deadline)
	return c
}

// ask asks the hot shard until it answers.
func (g *Gateway) ask(c *call, fill func(e *msg.Envelope, request kv.TxnRef)) {
	c.questions++
	c.phase = phaseAsking
	c.question = &question{request: kv.TxnRef{TxnID: c.ref.TxnID, Attempt: c.questions}, wait: int64(g.cfg.Repeat)}
	if f := g.unreachable([]kv.ShardID{g.cfg.Router.HotShard()}); f != nil {
		g.abort(c, f)
		return
	}
	c.question.env = g.sendShard(g.cfg.Router.HotShard(), func(e *msg.Envelope) { fill(e, c.question.request) })
	c.question.next = g.now + c.question.wait
	g.timed(min(c.question.next, c.deadline))
}

func (g *Gateway) repeatQuestion(c *call) {
	q := c.question
	if g.now >= q.next {
		q.wait = min(2*q.wait, int64(g.cfg.Liveness))
		q.next = g.now + q.wait
		g.out.Send = append(g.out.Send, q.env)
	}
	g.timed(q.next)
}

// answered ends a question: it gives the call and what was asked, nil if nobody
// waits for the answer any more.
func (g *Gateway) answered(request kv.TxnRef) (*call, *msg.Envelope) {
	c := g.ids[request.TxnID]
	if c == nil || c.phase != phaseAsking || c.question.request != request {
		return nil, nil
	}
	asked := c.question.env
	c.question = nil
	return c, asked
}
