package txn

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Hot asks what is known of hot keys. Done.Hot is the answer.
func (g *Gateway) Hot(now int64, token Token, id kv.TxnID, deadline int64) {
	g.now = max(g.now, now)
	if c := g.newAsking(ruling, token, id, deadline); c != nil {
		g.ask(c, func(e *msg.Envelope, request kv.TxnRef) {
			e.AskHot = &msg.AskHot{Request: request, Gateway: g.cfg.Node}
		})
	}
}

// SetHot has the hot shard keep a rule about hot keys, unless it is nil, and go by
// a mode, unless that is 0 (msg.SetHot). To do so twice is the same. Done.Hot is
// what is known after that.
func (g *Gateway) SetHot(now int64, token Token, id kv.TxnID, rule *msg.HotRule, mode uint32, deadline int64) {
	g.now = max(g.now, now)
	if c := g.newAsking(ruling, token, id, deadline); c != nil {
		g.ask(c, func(e *msg.Envelope, request kv.TxnRef) {
			e.SetHot = &msg.SetHot{Request: request, Gateway: g.cfg.Node, Rule: rule, Mode: mode}
		})
	}
}

func (g *Gateway) onHotReply(r *msg.HotReply) {
	switch c, _ := g.answered(r.Request); {
	case c == nil:
	case r.Failure != nil:
		g.abort(c, r.Failure)
	default:
		g.finish(c, Done{Committed: true, Hot: r})
	}
}

// unruled is the failure of a rule of which it is not known whether it is kept.
func unruled() *msg.Failure {
	f := failure(msg.ReasonCancelled, kv.KindDeadline, "the hot shard did not answer before the deadline; what was asked of it may have been done")
	f.Hint = "ask again; to do so twice is the same as once"
	return f
}
