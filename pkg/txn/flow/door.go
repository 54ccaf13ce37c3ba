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
type Door struct {
	*admission.Places
	host *Host
	// returning are the interactive transactions whose next attempt may come.
	returning returning
}

func newDoor(h *Host, under func(yield func(Flow))) *Door {
	opt := h.Admission
	opt.Shards, opt.Places, opt.Mutants = h.Router.Shards(), h.MaxInFlight, h.Mutants
	places := admission.New(opt, func(yield func(admission.Claim)) {
		under(func(f Flow) {
			if f.Base().Ticket.Held() {
				yield(f.Claim())
			}
		})
	})
	return &Door{Places: places, host: h}
}

// Admit gives a one-shot its place, or says why not.
func (d *Door) Admit(o *OneShot, ps piece.Pieces) *msg.Failure {
	if !o.Ticket.Held() {
		for i := range ps {
			r := d.CheckKeys(d.host.Now, ps[i].Shard, ps[i].Ops)
			if r != nil {
				return d.full(r)
			}
		}
		var room [4]kv.ShardID
		all := room[:0]
		for i := range ps {
			all = append(all, ps[i].Shard)
		}
		f := d.takePlace(o, all)
		if f != nil {
			return f
		}
	}
	if d.host.Shards.AllThere() {
		return nil
	}
	return d.host.Shards.Refusing(ps.Shards())
}

// AdmitScan gives a scan its place, or says why not.
func (d *Door) AdmitScan(s *Scan) *msg.Failure {
	all := d.host.EveryShard()
	if !s.Ticket.Held() {
		f := d.takePlace(s, all)
		if f != nil {
			return f
		}
	}
	return d.host.Shards.Refusing(all)
}

// takePlace takes a place of the node and of shards.
func (d *Door) takePlace(f Flow, all []kv.ShardID) *msg.Failure {
	for _, s := range all {
		r := d.CheckShard(d.host.Now, s)
		if r != nil {
			return d.full(r)
		}
	}
	r := d.CheckNode(d.host.Now)
	if r != nil {
		return d.full(r)
	}
	t := &f.Base().Ticket
	d.Take(d.host.Now, t, false, f.Claim())
	for _, s := range all {
		d.TakeShard(d.host.Now, t, s)
	}
	return nil
}

// GiveBack gives a call's place back.
func (d *Door) GiveBack(f Flow, why *msg.Failure) {
	t := &f.Base().Ticket
	if !t.Held() {
		return
	}
	if f.Base().Kind.Open() && why != nil && kv.Kind(why.Kind) == kv.KindAborted {
		d.returning.note(f)
	}
	bounced := why != nil && why.Reason == msg.ReasonExhausted && kv.Kind(why.Kind) == kv.KindResourceExhausted
	d.Give(d.host.Now, t, f.Claim(), bounced)
	if bounced && len(why.Key) > 0 {
		d.Bounced(d.host.Now, why.Key)
	}
}

// AdmitOpen gives an interactive transaction its place, or says why not.
func (d *Door) AdmitOpen(c *Call) *msg.Failure {
	check := d.CheckOpen
	if d.returning.follows(c.Ref) {
		check = d.CheckReturning
	}
	r := check(d.host.Now)
	if r != nil {
		return d.full(r)
	}
	d.returning.forget(c.Ref.TxnID)
	d.Take(d.host.Now, &c.Ticket, true, admission.Claim{})
	return nil
}

// begunBefore is when an attempt of an interactive transaction counts as begun: with its first
// attempt, if that was aborted here. Through another gateway it is a first attempt again, and
// counts as younger. No attempt counts as begun more than kv.MaxTxnAge before it arrived, so that
// ids cannot be kept for later.
func (d *Door) begunBefore(ref kv.TxnRef, how *How) int64 {
	first := begun(d.host, how)
	if first == 0 || !d.returning.follows(ref) || d.host.Mutants.Has(mutant.AttemptsBeginAnew) {
		return first
	}
	return max(d.returning.last[ref.TxnID].begun, first-int64(kv.MaxTxnAge))
}

// AdmitCall has an interactive transaction counted with what a call names. It refuses the first
// one.
func (d *Door) AdmitCall(o *Interactive) *msg.Failure {
	ops := o.ops
	if o.wants == nil {
		for i := range ops {
			f := d.admitOp(o, &ops[i])
			if f != nil {
				return f
			}
		}
		o.wants = map[string]bool{}
	}
	from := len(o.claimed)
	claimed := o.claimed
	for i := range ops {
		op := &ops[i]
		if op.IsRange() {
			for _, s := range d.host.EveryShard() {
				d.TakeShard(d.host.Now, &o.Ticket, s)
			}
			continue
		}
		d.TakeShard(d.host.Now, &o.Ticket, d.host.place(&o.Call, op.Key))
		if !o.wants[string(op.Key)] {
			o.wants[string(op.Key)] = true
			claimed = append(claimed, op.Key)
		}
	}
	d.TakeKeys(d.host.Now, admission.Claim{Keys: claimed[from:]})
	o.claimed = claimed
	return nil
}

func (d *Door) admitOp(o *Interactive, op *msg.Op) *msg.Failure {
	all := d.host.EveryShard()
	if !op.IsRange() {
		all = []kv.ShardID{d.host.place(&o.Call, op.Key)}
		r := d.CheckKeys(d.host.Now, all[0], []msg.Op{*op})
		if r != nil {
			return d.full(r)
		}
	}
	for _, s := range all {
		r := d.CheckShard(d.host.Now, s)
		if r != nil {
			return d.full(r)
		}
	}
	return nil
}

// full puts a refusal into words.
func (d *Door) full(r *admission.Refusal) *msg.Failure {
	f := env.Failure(msg.ReasonExhausted, kv.KindResourceExhausted, "")
	f.RetryAfterNanos = int64(r.Retry)
	n, places := r.Under, d.host.MaxInFlight
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
