package txn

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
)

// Who takes places (package admission), and when:
//
//   - A one-shot takes one when its first attempt begins, and keeps it over all
//     its attempts; it counts for its keys and for the shards where they were
//     looked for first. A range counts for every shard, and for no key.
//   - So does a scan, from its opening to its end.
//   - An interactive transaction takes one when it begins, of the part that is
//     for such, and counts for keys and shards as it names them. With its first
//     call it is still new: nothing is locked or buffered, and if its keys or
//     shards have their share it is refused, and over. Afterwards it goes on
//     whatever it wants; that may bring a key above its share, but not beyond
//     the part that is for interactive ones. A further attempt is not new when
//     it begins.
//   - Moves of keys, rounds and what is asked of the hot shard take none: they
//     are few, and they are what helps. Nor do enquiries: they are about what
//     was admitted.

func (g *Gateway) newPlaces() *admission.Places {
	opt := g.cfg.Admission
	opt.Shards, opt.Places, opt.Mutants = g.cfg.Router.Shards(), g.cfg.MaxInFlight, g.cfg.Mutants
	return admission.New(opt, func(yield func(admission.Claim)) {
		for _, c := range g.ids {
			if c.ticket.Held() {
				yield(c.claim())
			}
		}
		for _, c := range g.earlier {
			if c.ticket.Held() {
				yield(c.claim())
			}
		}
	})
}

// Admission counts what was refused.
func (g *Gateway) Admission() admission.Counters { return g.places.Counters() }

// claim is what the call's ticket counts.
func (c *call) claim() admission.Claim {
	if c.kind == oneShot {
		return admission.Claim{Ops: c.ops}
	}
	if c.interest == nil {
		return admission.Claim{}
	}
	return admission.Claim{Keys: c.claimed}
}

// admit gives a one-shot its place, or says why not.
func (g *Gateway) admit(c *call, ps pieces) *msg.Failure {
	if !c.ticket.Held() {
		for i := range ps {
			if r := g.places.CheckKeys(g.now, ps[i].shard, ps[i].piece.Ops); r != nil {
				return g.refused(r)
			}
		}
		for i := range ps {
			if r := g.places.CheckShard(g.now, ps[i].shard); r != nil {
				return g.refused(r)
			}
		}
		if r := g.places.CheckNode(g.now, false); r != nil {
			return g.refused(r)
		}
		g.places.Take(g.now, &c.ticket, false, c.claim())
		for i := range ps {
			g.places.TakeShard(g.now, &c.ticket, ps[i].shard)
		}
	}
	if !g.avoids() {
		return nil
	}
	return g.refusing(ps.shards())
}

// giveBack gives a call's place back.
func (g *Gateway) giveBack(c *call, f *msg.Failure) {
	if !c.ticket.Held() {
		return
	}
	bounced := f != nil && f.Reason == msg.ReasonExhausted && kv.Kind(f.Kind) == kv.KindExhausted
	g.places.Give(g.now, &c.ticket, c.claim(), bounced)
	if bounced && len(f.Key) > 0 {
		g.places.Bounced(g.now, f.Key)
	}
}

// admitScan gives a scan its place, or says why not.
func (g *Gateway) admitScan(c *call) *msg.Failure {
	all := g.everyShard()
	if !c.ticket.Held() {
		for _, s := range all {
			if r := g.places.CheckShard(g.now, s); r != nil {
				return g.refused(r)
			}
		}
		if r := g.places.CheckNode(g.now, false); r != nil {
			return g.refused(r)
		}
		g.places.Take(g.now, &c.ticket, false, admission.Claim{})
		for _, s := range all {
			g.places.TakeShard(g.now, &c.ticket, s)
		}
	}
	return g.refusing(all)
}

// admitOpen gives an interactive transaction its place, or says why not.
func (g *Gateway) admitOpen(c *call) *msg.Failure {
	if c.ref.Attempt == 1 {
		if r := g.places.CheckNode(g.now, true); r != nil {
			return g.refused(r)
		}
	}
	g.places.Take(g.now, &c.ticket, true, admission.Claim{})
	return nil
}

// admitCall has an interactive transaction counted with what a call names. It
// refuses the first one.
func (g *Gateway) admitCall(c *call, ops []msg.Op) *msg.Failure {
	if c.interest == nil {
		for i := range ops {
			if f := g.admitOp(c, &ops[i]); f != nil {
				return f
			}
		}
		c.interest = &interest{wants: map[string]bool{}}
	}
	from := len(c.claimed)
	claimed := c.claimed
	for i := range ops {
		op := &ops[i]
		if op.IsRange() {
			for _, s := range g.everyShard() {
				g.places.TakeShard(g.now, &c.ticket, s)
			}
			continue
		}
		g.places.TakeShard(g.now, &c.ticket, g.place(c, op.Key))
		if !c.wants[string(op.Key)] {
			c.wants[string(op.Key)] = true
			claimed = append(claimed, op.Key)
		}
	}
	g.places.TakeKeys(g.now, admission.Claim{Keys: claimed[from:]})
	c.claimed = claimed
	return nil
}

func (g *Gateway) admitOp(c *call, op *msg.Op) *msg.Failure {
	shards := []kv.ShardID{g.place(c, op.Key)}
	if op.IsRange() {
		shards = g.everyShard()
	} else if r := g.places.CheckKeys(g.now, shards[0], []msg.Op{*op}); r != nil {
		return g.refused(r)
	}
	for _, s := range shards {
		if r := g.places.CheckShard(g.now, s); r != nil {
			return g.refused(r)
		}
	}
	return nil
}

// refused puts a refusal into words.
func (g *Gateway) refused(r *admission.Refusal) *msg.Failure {
	f := failure(msg.ReasonExhausted, kv.KindExhausted, "")
	f.RetryAfterNanos = int64(r.Retry)
	switch r.Cause {
	case admission.ByKey:
		f.Key = r.Key
		f.Text = fmt.Sprintf("too many transactions want the key: %d are under way at this gateway, which is its share of %d places", r.Under, g.cfg.MaxInFlight)
	case admission.ByShard:
		f.Text = fmt.Sprintf("too many transactions are under way on shard %v: %d at this gateway, which is its share of %d places", r.Shard, r.Under, g.cfg.MaxInFlight)
	case admission.ByOpen:
		f.Text = fmt.Sprintf("too many interactive transactions are open: %d at this gateway, which is their share of %d places", r.Under, g.cfg.MaxInFlight)
	default:
		f.Text = fmt.Sprintf("the node has too many transactions under way: %d at this gateway", r.Under)
	}
	f.Hint = fmt.Sprintf("try again in %v", r.Retry.Round(100_000))
	return f
}
