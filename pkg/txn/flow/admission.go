package flow

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// Door gives flows their places (package admission). Which take one, and when:
//
//   - A one-shot takes one when its first attempt begins, and keeps it over all its attempts; it
//     counts for its keys and for the shards where they were looked for first. A range counts
//     for every shard, and for no key.
//   - So does a scan, from its opening to its end.
//   - An interactive transaction takes one when it begins, of the part that is for such, and
//     counts for keys and shards as it names them. With its first call it is still new: nothing
//     is locked or buffered, and if its keys or shards have their share it is refused, and over.
//     Afterwards it goes on whatever it wants; that may bring a key above its share, but not
//     beyond the part that is for interactive ones. If its attempt is aborted, the next one is not
//     new when it begins at the same machine: then there are half as many places more.
//   - Moves of keys, rounds and questions to the hot shard take none: they are few, and they
//     are what helps. Nor do status queries: they are about what was admitted.
type Admitter struct {
	*admission.Places
	gw *Gateway
	// returning are the interactive transactions whose next attempt may come.
	aborted abortedTxns
}

func newAdmitter(gw *Gateway, under func(yield func(Flow))) *Admitter {
	opt := gw.Admission
	opt.Shards, opt.Places, opt.Mutants = gw.Router.Shards(), gw.MaxInFlight, gw.Mutants
	places := admission.New(opt, func(yield func(admission.Claim)) {
		under(func(f Flow) {
			if f.Base().Ticket.Held() {
				yield(f.Claim())
			}
		})
	})
	return &Admitter{Places: places, gw: gw}
}

// Admit gives a one-shot its place, or says why not.
func (d *Admitter) Admit(o *OneShot, ps piece.Pieces) *msg.Failure {
	if !o.Ticket.Held() {
		for i := range ps {
			r := d.CheckKeys(d.gw.Now, ps[i].Shard, ps[i].Ops)
			if r != nil {
				return d.exhausted(r)
			}
		}
		var room [4]kv.ShardID
		all := room[:0]
		for i := range ps {
			all = append(all, ps[i].Shard)
		}
		f := d.takeSlots(o, all)
		if f != nil {
			return f
		}
	}
	if d.gw.Shards.AllThere() {
		return nil
	}
	return d.gw.Shards.Refusing(ps.Shards())
}

// AdmitScan gives a scan its place, or says why not.
func (d *Admitter) AdmitScan(s *Scan) *msg.Failure {
	all := d.gw.EveryShard()
	if !s.Ticket.Held() {
		f := d.takeSlots(s, all)
		if f != nil {
			return f
		}
	}
	return d.gw.Shards.Refusing(all)
}

// takePlace takes a place of the node and of shards.
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
	d.Take(d.gw.Now, t, false, f.Claim())
	for _, s := range all {
		d.TakeShard(d.gw.Now, t, s)
	}
	return nil
}

// GiveBack gives a call's place back.
func (d *Admitter) ReleaseSlot(f Flow, why *msg.Failure) {
	t := &f.Base().Ticket
	if !t.Held() {
		return
	}
	if f.Base().Kind.IsInteractive() && why != nil && kv.Kind(why.Kind) == kv.KindAborted {
		d.aborted.add(f)
	}
	bounced := why != nil && why.Reason == msg.ReasonExhausted && kv.Kind(why.Kind) == kv.KindResourceExhausted
	d.Give(d.gw.Now, t, f.Claim(), bounced)
	if bounced && len(why.Key) > 0 {
		d.Bounced(d.gw.Now, why.Key)
	}
}

// AdmitOpen gives an interactive transaction its place, or says why not.
func (d *Admitter) AdmitOpen(c *Call) *msg.Failure {
	check := d.CheckOpen
	if d.aborted.isNextAttempt(c.Ref) {
		check = d.CheckReturning
	}
	r := check(d.gw.Now)
	if r != nil {
		return d.exhausted(r)
	}
	d.aborted.remove(c.Ref.TxnID)
	d.Take(d.gw.Now, &c.Ticket, true, admission.Claim{})
	return nil
}

// begunBefore is when an attempt of an interactive transaction counts as begun: with its first
// attempt, if that was aborted here. Through another gateway it is a first attempt again, and
// counts as younger. No attempt counts as begun more than kv.MaxTxnAge before it arrived, so that
// ids cannot be kept for later.
func (d *Admitter) firstBeginTime(ref kv.TxnRef, how *How) int64 {
	first := beginTime(d.gw, how)
	if first == 0 || !d.aborted.isNextAttempt(ref) || d.gw.Mutants.Has(mutant.AttemptsBeginAnew) {
		return first
	}
	return max(d.aborted.last[ref.TxnID].beginTime, first-int64(kv.MaxTxnAge))
}

// AdmitCall has an interactive transaction counted with what a call names. It refuses the first
// one.
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
				d.TakeShard(d.gw.Now, &o.Ticket, s)
			}
			continue
		}
		d.TakeShard(d.gw.Now, &o.Ticket, d.gw.shardOf(&o.Call, op.Key))
		if !o.namedKeys[string(op.Key)] {
			o.namedKeys[string(op.Key)] = true
			claimed = append(claimed, op.Key)
		}
	}
	d.TakeKeys(d.gw.Now, admission.Claim{Keys: claimed[from:]})
	o.claimedKeys = claimed
	return nil
}

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

// full puts a refusal into words.
func (d *Admitter) exhausted(r *admission.Refusal) *msg.Failure {
	f := env.Failure(msg.ReasonExhausted, kv.KindResourceExhausted, "")
	f.RetryAfterNanos = int64(r.Retry)
	n, places := r.Under, d.gw.MaxInFlight
	switch r.Cause {
	case admission.ByKey:
		f.Key = r.Key
		f.Text = fmt.Sprintf("too many transactions want the key: %d are in flight at this gateway, "+
			"whose share is %d slots", n, places)
	case admission.ByShard:
		f.Text = fmt.Sprintf("too many transactions use shard %v: %d are in flight at this gateway, "+
			"whose share is %d slots", r.Shard, n, places)
	case admission.ByOpen:
		f.Text = fmt.Sprintf("too many interactive transactions are open: %d at this gateway, "+
			"whose share is %d slots", n, places)
	default:
		f.Text = fmt.Sprintf("too many transactions are in flight at this gateway: %d", n)
	}
	f.Hint = fmt.Sprintf("retry in %v", r.Retry.Round(100_000))
	return f
}
