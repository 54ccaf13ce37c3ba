package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// Rule asks the planner of hot keys, which is on the hot shard: what is hot, or to go by a rule.
type Rule struct {
	Call
	// set is what to go by, nil to ask only.
	set *msg.SetHot
}

// NewRule makes one that asks what is hot, or has the planner go by a rule.
func NewRule(h *Host, token Token, id kv.TxnID, set *msg.SetHot, deadline int64) *Rule {
	return &Rule{Call: newQuestion(h, RuleKind, token, id, deadline), set: set}
}

// Start asks.
func (r *Rule) Start(h *Host) Outcome {
	return h.ask(r, func(e *msg.Envelope, request kv.TxnRef) {
		if r.set == nil {
			e.AskHot = &msg.AskHot{Request: request, Gateway: h.Node}
			return
		}
		r.set.Request, r.set.Gateway = request, h.Node
		e.SetHot = r.set
	})
}

// Replied takes the planner's answer.
func (r *Rule) Replied(_ *Host, _, m *msg.Envelope) Outcome {
	if m.HotReply.Failure != nil {
		return Aborted(m.HotReply.Failure)
	}
	return Over(Done{Committed: true, Hot: m.HotReply})
}

// Unruled is the failure of a rule of which it is not known whether it is kept.
func Unruled() *msg.Failure {
	text := "the hot shard did not answer before the deadline; what was asked of it may have been done"
	f := env.Failure(msg.ReasonCancelled, kv.KindDeadline, text)
	f.Hint = "ask again; to do so twice is the same as once"
	return f
}
