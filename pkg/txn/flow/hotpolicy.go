package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// Rule asks the planner of hot keys, which is on the hot shard: what is hot, or to go by a rule.
type HotPolicy struct {
	Call
	// set is the rule and the mode to go by, nil to ask only.
	set *msg.SetHotPolicy
}

// NewRule makes one that asks what is hot, or has the planner go by a rule.
func NewHotPolicy(gw *Gateway, token Token, id kv.TxnID, set *msg.SetHotPolicy, deadline int64) *HotPolicy {
	return &HotPolicy{Call: newInternalCall(gw, HotPolicyKind, token, id, deadline), set: set}
}

// Start asks for the rules. What is to be set names their state.
func (r *HotPolicy) Start(gw *Gateway) Outcome {
	return gw.query(r, func(e *msg.Envelope, request kv.TxnRef) {
		e.Body = &msg.HotStatusRequest{Request: request, Gateway: gw.Node}
	})
}

// Replied takes the planner's answer.
func (r *HotPolicy) OnQueryResponse(gw *Gateway, asked, m *msg.Envelope) Outcome {
	q := msg.As[msg.HotStatusResponse](m)
	switch {
	case q.Failure != nil && q.Failure.Reason == msg.ReasonStaleRead:
		return r.Start(gw) // another request was first, and this one has not been applied
	case q.Failure != nil:
		return Aborted(q.Failure)
	case r.set == nil || msg.Is[msg.SetHotPolicy](asked):
		return Finished(Done{Committed: true, Hot: q})
	}
	return gw.query(r, func(e *msg.Envelope, request kv.TxnRef) {
		set := *r.set // a copy of an earlier request may still be in flight
		set.Request, set.Gateway, set.Incarnation, set.Change = request, gw.Node, q.Incarnation, q.Change
		e.Body = &set
	})
}

// Unruled is the failure of a rule of which it is not known whether it is kept.
func HotPolicyUnknown() *msg.Failure {
	text := "the hot shard did not respond before the deadline; the change may be applied"
	f := env.Failure(msg.ReasonCancelled, kv.KindDeadlineExceeded, text)
	f.Hint = "send it again: rules and modes are idempotent"
	return f
}
