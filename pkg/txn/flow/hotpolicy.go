package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// HotPolicy queries the planner of hot keys, which is on the hot shard, for its status, or sets a
// placement rule or its mode.
type HotPolicy struct {
	Call
	// set is the rule and the mode to set, nil for a query.
	set *msg.SetHotPolicy
}

// NewHotPolicy makes a query of the status, or an update of the policy if set is not nil.
func NewHotPolicy(gw *Gateway, handle CallHandle, id kv.TxnID, set *msg.SetHotPolicy, deadline int64) *HotPolicy {
	return &HotPolicy{Call: newInternalCall(gw, HotPolicyKind, handle, id, deadline), set: set}
}

// Start queries the current policy. An update names the change number that it replaces
// (compare-and-set).
func (r *HotPolicy) Start(gw *Gateway) Outcome {
	return gw.query(r, func(e *msg.Envelope, request kv.TxnRef) {
		e.Body = &msg.HotStatusRequest{Request: request, Gateway: gw.Node}
	})
}

// OnQueryResponse sends the update after the query, or finishes. If another update was applied in
// between, the hot shard has rejected this one, and it starts again.
func (r *HotPolicy) OnQueryResponse(gw *Gateway, sent, m *msg.Envelope) Outcome {
	q := msg.As[msg.HotStatusResponse](m)
	switch {
	// Sequence: this call queries change 7, another client sets change 8, and the update of this one
	// names 7.
	case q.Failure != nil && q.Failure.Reason == msg.ReasonStaleRead:
		return r.Start(gw)
	case q.Failure != nil:
		return Aborted(q.Failure)
	case r.set == nil || msg.Is[msg.SetHotPolicy](sent):
		return Finished(Done{Committed: true, Hot: q})
	}
	return gw.query(r, func(e *msg.Envelope, request kv.TxnRef) {
		set := *r.set // an earlier request shares r.set and may still be in flight
		set.Request, set.Gateway, set.Incarnation, set.Change = request, gw.Node, q.Incarnation, q.Change
		e.Body = &set
	})
}

// HotPolicyUnknown is the failure of an update whose response did not arrive in time.
func HotPolicyUnknown() *msg.Failure {
	text := "the hot shard did not respond before the deadline; the change may be applied"
	f := env.Failure(msg.ReasonCancelled, kv.KindDeadlineExceeded, text)
	f.Hint = "send it again: rules and modes are idempotent"
	return f
}
