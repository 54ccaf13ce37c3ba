package txn

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// sharing is what connects reads that are answered by one (combining at the
// gateway; Holt 2016, section 4.3.3).
type sharing struct {
	// leader is the read whose answer the call waits for, followers are those
	// that wait for this one's.
	leader    *call
	followers []*call
}

// mostUnsent is up to how many reads are looked through for one that is the
// same. Somewhat arbitrary: more are seldom in one flush.
const mostUnsent = 16

// share has a one-shot read wait for the answer to the same read of somebody
// else, if that has not been sent yet: then it is of a state that is current
// after both have begun.
func (g *Gateway) share(c *call) bool {
	if g.cfg.NoSharing || c.kind != oneShot || c.ref.Attempt > 1 || !c.how.plain() || !g.cfg.Mutants.Has(mutant.UniqueShared) && slices.ContainsFunc(c.ops, distinct) {
		return false
	}
	i := slices.IndexFunc(g.unsent, func(o *call) bool { return g.sameReads(o.ops, c.ops) })
	if i < 0 {
		if len(g.unsent) < mostUnsent {
			g.unsent = append(g.unsent, c)
		}
		return false
	}
	c.phase, c.leader = phaseSharing, g.unsent[i]
	c.leader.followers = append(c.leader.followers, c)
	g.timed(c.endAt())
	g.shared++
	return true
}

// Shared counts the reads that were answered by another's.
func (g *Gateway) Shared() uint64 { return g.shared }

// distinct reports whether the answer to an operation is for its caller alone.
func distinct(op msg.Op) bool {
	if !op.IsCall() {
		return false
	}
	m, err := adt.Find(&op)
	return err != nil || m.Distinct
}

func (g *Gateway) sameReads(a, b []msg.Op) bool {
	return slices.EqualFunc(a, b, func(x, y msg.Op) bool {
		return x.Kind == y.Kind && bytes.Equal(x.Key, y.Key) && bytes.Equal(x.End, y.End) && x.Limit == y.Limit &&
			x.Expect == y.Expect && bytes.Equal(x.ExpectValue, y.ExpectValue) && x.ExpectVersion == y.ExpectVersion &&
			x.Type == y.Type && x.Method == y.Method && x.Stored == y.Stored &&
			(g.cfg.Mutants.Has(mutant.SharedUnlike) || slices.EqualFunc(x.Args, y.Args, sameDatum))
	})
}

func sameDatum(x, y msg.Datum) bool {
	return x.Kind == y.Kind && x.Int == y.Int && x.Float == y.Float && bytes.Equal(x.Bytes, y.Bytes)
}

// endSharing ends what a call shares with others. Its own followers get its
// answer; if it is a failure that is not about what they asked for, they read by
// themselves.
func (g *Gateway) endSharing(c *call, d *Done) {
	if l := c.leader; l != nil {
		l.followers = slices.DeleteFunc(l.followers, func(f *call) bool { return f == c })
		c.leader = nil
	}
	g.unsent = slices.DeleteFunc(g.unsent, func(o *call) bool { return o == c })
	followers := c.followers
	c.followers = nil
	for _, f := range followers {
		f.leader = nil
		if d.Failure == nil || d.Failure.Reason == msg.ReasonRequest && kv.Kind(d.Failure.Kind) != kv.KindDeadline {
			f.receipt = msg.Worst(f.receipt, c.receipt)
			g.finish(f, Done{Committed: d.Committed, Results: d.Results, ResultsLost: d.ResultsLost, Failure: d.Failure, Index: d.Index, Plan: d.Plan, At: d.At})
			continue
		}
		g.start(f)
	}
}
