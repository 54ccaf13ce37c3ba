package sim

import (
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
)

// Refusals of gateways are checked by the one-shots of clients that are in flight at each gateway, in runs in which no
// other call counts for a key.

// admission returns the bounds of the gateways. That each slot is released is checked when the cluster is idle
// (txn.Gateway.Quiet).
func (o *Options) admission() admission.Options {
	return admission.Options{PerKey: o.KeySlots, Always: min(o.KeySlots, 2)}
}

// checksRefusals reports whether refusals can be checked.
func (o *Options) checksRefusals() bool {
	return o.Slots > 0 && o.KeySlots > 0 && o.Mix.Interactive+o.Mix.InteractiveRead+o.Mix.Snapshot == 0
}

// requestCount returns how many of the one-shots in flight at a node name a key.
func (n *node) requestCount(key []byte) (count int) {
	for _, c := range n.calls {
		if slices.ContainsFunc(c.ops, func(op msg.Op) bool { return !op.IsRange() && string(op.Key) == string(key) }) {
			count++
		}
	}
	return count
}

// checkRefusal checks a refusal at the moment when it is made; c is no longer in flight.
func (n *node) checkRefusal(c *openCall, d *txn.Done) {
	o, f := &n.w.opt, d.Failure
	if f == nil || f.Reason != msg.ReasonExhausted || kv.Kind(f.Kind) != kv.KindResourceExhausted ||
		!strings.Contains(f.Text, "at this gateway") {
		return
	}
	n.w.sum.Refused++
	if f.RetryAfterNanos < int64(admission.MinRetry) || f.RetryAfterNanos > int64(admission.MaxRetry) {
		n.w.Fail("%v refused a call without a valid retry time: %+v", n.ID, f)
	}
	if !o.checksRefusals() {
		return
	}
	if len(f.Key) > 0 {
		if others, least := n.requestCount(f.Key), o.admission().Always; others < least {
			n.w.Fail("%v refused a call because of key %q, which only %d other calls name: %s", n.ID, f.Key, others, f.Text)
		}
		return
	}
	for _, other := range n.calls {
		for i := range other.ops {
			if op := &other.ops[i]; !op.IsRange() && n.requestCount(op.Key) > o.KeySlots {
				n.w.Fail("%v refused a call without key %q, although %d calls of that key exceed its share: %s", n.ID, op.Key,
					n.requestCount(op.Key), f.Text)
			}
		}
	}
}
