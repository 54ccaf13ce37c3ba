package flow

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// Admitter gives flows their slots (package admission):
//
//   - A one-shot gets a slot when its first attempt begins, and keeps it over all attempts. It counts
//     for its keys and for the shards where the first attempt looked for them. A range counts for
//     every shard, and for no key.
//   - A scan does so from its opening to its end.
//   - An interactive transaction gets one of the slots for interactive transactions when it begins,
//     and counts for keys and shards as its requests name them. Its first request may be refused,
//     which ends it: nothing is locked or buffered yet. Later requests are never refused, so a key may
//     exceed its share, but not the share of all interactive transactions. If the attempt is aborted,
//     the next one at the same machine is admitted against a share that is larger by half.
//   - Moves, rounds and queries of the hot shard need no slot: they are few, and they reduce the
//     contention. Outcome queries need none: their transactions were admitted.
type Admitter struct {
	*admission.Slots
	gw *Gateway
	// aborted are the transactions whose next attempt is admitted as a retry.
	aborted abortedTxns
}

func newAdmitter(gw *Gateway, under func(yield func(Flow))) *Admitter {
	opt := gw.Admission
	opt.Shards, opt.Slots, opt.Mutants = gw.Router.Shards(), gw.MaxInFlight, gw.Mutants
	slots := admission.New(opt, func(yield func(admission.Claim)) {
		under(func(f Flow) {
			if f.Base().Ticket.Held() {
				yield(f.Claim())
			}
		})
	})
	return &Admitter{Slots: slots, gw: gw}
}

// Admit gives a one-shot its slot, or returns why not.
//
// Nothing is occupied unless all checks pass: first the keys, then the shards, then the node, so that the failure
// names the narrowest bottleneck.
func (d *Admitter) Admit(o *OneShot, ps piece.Pieces) *msg.Failure {
	if !o.Ticket.Held() {
		for i := range ps {
			r := d.CheckKeys(d.gw.Now, ps[i].Shard, ps[i].Ops)
			if r != nil {
				return d.exhausted(r)
			}
		}
		var buf [4]kv.ShardID
		all := buf[:0]
		for i := range ps {
			all = append(all, ps[i].Shard)
		}
		f := d.takeSlots(o, all)
		if f != nil {
			return f
		}
	}
	if d.gw.Shards.AllAvailable() {
		return nil
	}
	return o.HeldUpBy(d.gw.Shards.WhyUnavailable(ps.Shards()))
}

// AdmitScan gives a scan its slot, or returns why not.
func (d *Admitter) AdmitScan(s *Scan) *msg.Failure {
	all := d.gw.EveryShard()
	if !s.Ticket.Held() {
		f := d.takeSlots(s, all)
		if f != nil {
			return f
		}
	}
	return s.HeldUpBy(d.gw.Shards.WhyUnavailable(all))
}

// takeSlots takes a slot of the node and of each shard.
func (d *Admitter) takeSlots(f Flow, all []kv.ShardID) *msg.Failure {
	for _, s := range all {
		r := d.CheckShard(d.gw.Now, s)
		if r != nil {
			return d.exhausted(r)
		}
	}
	r := d.CheckNode(d.gw.Now)
	if r != nil {
		return d.exhausted(r)
	}
	t := &f.Base().Ticket
	d.Occupy(d.gw.Now, t, false, f.Claim())
	for _, s := range all {
		d.AddShard(d.gw.Now, t, s)
	}
	return nil
}

// ReleaseSlot returns the slot of a call that has ended with failure why. If a shard has rejected the
// call because too many transactions of all gateways queue for a key there, fewer are admitted for
// that key from now on: others would travel to the shard only to be rejected.
func (d *Admitter) ReleaseSlot(f Flow, why *msg.Failure) {
	t := &f.Base().Ticket
	if !t.Held() {
		return
	}
	// Its client may begin the next attempt, which keeps the age and is admitted as a retry.
	if f.Base().Kind.IsInteractive() && why != nil && kv.Kind(why.Kind) == kv.KindAborted {
		d.aborted.add(f)
	}
	rejected := why != nil && why.Reason == msg.ReasonExhausted && kv.Kind(why.Kind) == kv.KindResourceExhausted
	d.Free(d.gw.Now, t, f.Claim(), rejected)
	if rejected && len(why.Key) > 0 {
		d.OnShardRefusal(d.gw.Now, why.Key)
	}
}

// AdmitOpen gives an interactive transaction its slot, or returns why not.
func (d *Admitter) AdmitOpen(c *Call) *msg.Failure {
	// A retry of an aborted transaction may exceed the share by half. Otherwise new transactions would
	// take the slots that aborted ones have released, and an old transaction could starve outside of
	// wound-wait.
	check := d.CheckOpen
	if d.aborted.isNextAttempt(c.Ref) {
		check = d.CheckRetry
	}
	r := check(d.gw.Now)
	if r != nil {
		return d.exhausted(r)
	}
	d.aborted.remove(c.Ref.TxnID)
	d.Occupy(d.gw.Now, &c.Ticket, true, admission.Claim{})
	return nil
}

// firstBeginTime is the begin time of an attempt of an interactive transaction: that of its first
// attempt, if that was aborted here. At another gateway it counts as a first attempt, and so is
// younger. It is at most kv.MaxTxnAge ago: otherwise a client could prepare ids to use them when
// they are the oldest.
func (d *Admitter) firstBeginTime(ref kv.TxnRef, how *TxnOptions) int64 {
	first := beginTime(d.gw, how)
	if first == 0 || !d.isRetry(ref) {
		return first
	}
	return max(d.aborted.last[ref.TxnID].beginTime, first-int64(kv.MaxTxnAge))
}

// AdmitCall counts an interactive transaction for the keys and shards of its request. It can refuse
// the first request only.
//
// Sequence: A has read x, and B has as many requests for y as a key may have. A now reads y. If it
// were rejected, its client could only roll back, and lose the lock of x that others wait for; so A
// is admitted, and the next new transaction with y is not.
func (d *Admitter) AdmitCall(o *Interactive) *msg.Failure {
	ops := o.ops
	if o.namedKeys == nil {
		for i := range ops {
			f := d.checkOp(o, &ops[i])
			if f != nil {
				return f
			}
		}
		o.namedKeys = map[string]bool{}
	}
	from := len(o.claimedKeys)
	claimed := o.claimedKeys
	for i := range ops {
		op := &ops[i]
		if op.IsRange() {
			for _, s := range d.gw.EveryShard() {
				d.AddShard(d.gw.Now, &o.Ticket, s)
			}
			continue
		}
		d.AddShard(d.gw.Now, &o.Ticket, d.gw.shardOf(&o.Call, op.Key))
		if !o.namedKeys[string(op.Key)] {
			o.namedKeys[string(op.Key)] = true
			claimed = append(claimed, op.Key)
		}
	}
	d.AddKeys(d.gw.Now, admission.Claim{Keys: claimed[from:]})
	o.claimedKeys = claimed
	return nil
}

// checkOp returns why the key or shards of an operation have no free slot, nil if they have.
func (d *Admitter) checkOp(o *Interactive, op *msg.Op) *msg.Failure {
	all := d.gw.EveryShard()
	if !op.IsRange() {
		all = []kv.ShardID{d.gw.shardOf(&o.Call, op.Key)}
		r := d.CheckKeys(d.gw.Now, all[0], []msg.Op{*op})
		if r != nil {
			return d.exhausted(r)
		}
	}
	for _, s := range all {
		r := d.CheckShard(d.gw.Now, s)
		if r != nil {
			return d.exhausted(r)
		}
	}
	return nil
}

// exhausted is the failure of a refused call.
func (d *Admitter) exhausted(r *admission.Refusal) *msg.Failure {
	f := env.Failure(msg.ReasonExhausted, kv.KindResourceExhausted, "")
	f.RetryAfterNanos = int64(r.Retry)
	n, slots := r.InFlight, d.gw.MaxInFlight
	switch r.Cause {
	case admission.ByKey:
		f.Key = r.Key
		f.Text = fmt.Sprintf("too many transactions want the key: %d are in flight at this gateway, "+
			"whose share is %d slots", n, slots)
	case admission.ByShard:
		f.Text = fmt.Sprintf("too many transactions use shard %v: %d are in flight at this gateway, "+
			"whose share is %d slots", r.Shard, n, slots)
	case admission.ByOpen:
		f.Text = fmt.Sprintf("too many interactive transactions are open: %d at this gateway, "+
			"whose share is %d slots", n, slots)
	default:
		f.Text = fmt.Sprintf("too many transactions are in flight at this gateway: %d", n)
	}
	f.Hint = fmt.Sprintf("retry in %v", r.Retry.Round(100_000))
	return f
}
