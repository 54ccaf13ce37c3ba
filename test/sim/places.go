package sim

import (
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
)

// What the world knows of the places of gateways: which one-shots of clients are
// under way at each. It judges refusals by that, in runs in which nothing else
// counts for keys.

// admission are the bounds of the gateways. That a place was given back is looked
// at when all is quiet (txn.Gateway.Quiet).
func (o *Options) admission() admission.Options {
	return admission.Options{PerKey: o.KeyPlaces, Always: min(o.KeyPlaces, 2)}
}

// judgesPlaces reports whether refusals can be judged.
func (o *Options) judgesPlaces() bool {
	return o.Places > 0 && o.KeyPlaces > 0 && o.Mix.Interactive+o.Mix.InteractiveRead+o.Mix.Snapshot == 0
}

// want is how many of the one-shots under way at a node want a key.
func (n *node) want(key []byte) (count int) {
	for _, c := range n.calls {
		if slices.ContainsFunc(c.ops, func(op msg.Op) bool { return !op.IsRange() && string(op.Key) == string(key) }) {
			count++
		}
	}
	return count
}

// judge looks at a refusal, at the moment when it is made: c is not under way any
// more.
func (n *node) judge(c *openCall, d *txn.Done) {
	o, f := &n.w.opt, d.Failure
	if f == nil || f.Reason != msg.ReasonExhausted || kv.Kind(f.Kind) != kv.KindResourceExhausted || !strings.Contains(f.Text, "at this gateway") {
		return
	}
	n.w.sum.Refused++
	if f.RetryAfterNanos < int64(admission.MinRetry) || f.RetryAfterNanos > int64(admission.MaxRetry) {
		n.w.fail("%v refuses without saying when to come back: %+v", n.id, f)
	}
	if !o.judgesPlaces() {
		return
	}
	if len(f.Key) > 0 {
		if others, least := n.want(f.Key), o.admission().Always; others < least {
			n.w.fail("%v refuses for the sake of key %q, which %d others want: %s", n.id, f.Key, others, f.Text)
		}
		return
	}
	for _, other := range n.calls {
		for i := range other.ops {
			if op := &other.ops[i]; !op.IsRange() && n.want(op.Key) > o.KeyPlaces {
				n.w.fail("%v refuses what does not want key %q, of which %d have the places: %s", n.id, op.Key, n.want(op.Key), f.Text)
			}
		}
	}
}
