package flow

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// sharing is what connects reads that are answered by one (combining at the gateway; Holt 2016,
// section 4.3.3): leader is the read whose answer this one waits for, followers are those that
// wait for this one's.
type sharing struct {
	leader    *OneShot
	followers []*OneShot
}

// mostUnsent is up to how many reads are compared with a new one. Somewhat arbitrary: more are
// seldom in one flush.
const maxUnsent = 16

// Shared are the reads that can answer others: those that began since the last Flush.
type SharedReads struct {
	unsent []*OneShot
	// Count is how many reads were answered by another's.
	Count uint64
}

// join has a one-shot read wait for the answer to the same read of another client, if that has
// not been sent yet: then it is of a state that is current after both have begun.
func (s *SharedReads) tryJoin(gw *Gateway, o *OneShot) bool {
	unique := !gw.Mutants.Has(mutant.UniqueShared) && slices.ContainsFunc(o.ops, isDistinct)
	if gw.NoSharing || o.Ref.Attempt > 1 || !o.How.isDefault() || unique {
		return false
	}
	unlike := gw.Mutants.Has(mutant.SharedUnlike)
	i := slices.IndexFunc(s.unsent, func(x *OneShot) bool {
		return x.How.MaxResponse == o.How.MaxResponse && sameReads(x.ops, o.ops, unlike)
	})
	if i < 0 {
		if len(s.unsent) < maxUnsent {
			s.unsent = append(s.unsent, o)
		}
		return false
	}
	o.Phase, o.leader = Sharing, s.unsent[i]
	o.leader.followers = append(o.leader.followers, o)
	gw.Timed(o.AbortAt())
	s.Count++
	return true
}

// distinct reports whether the answer to an operation is for its caller alone.
func isDistinct(op msg.Op) bool {
	if !op.IsCall() {
		return false
	}
	m, err := adt.Find(&op)
	return err != nil || m.Distinct
}

func sameReads(a, b []msg.Op, unlike bool) bool {
	return slices.EqualFunc(a, b, func(x, y msg.Op) bool {
		return x.Kind == y.Kind && bytes.Equal(x.Key, y.Key) && bytes.Equal(x.End, y.End) && x.Limit == y.Limit &&
			x.Expect == y.Expect && bytes.Equal(x.ExpectValue, y.ExpectValue) && x.ExpectVersion == y.ExpectVersion &&
			x.Type == y.Type && x.Method == y.Method && x.Stored == y.Stored &&
			(unlike || slices.EqualFunc(x.Args, y.Args, sameDatum))
	})
}

func sameDatum(x, y msg.Datum) bool {
	return x.Kind == y.Kind && x.Int == y.Int && x.Float == y.Float && bytes.Equal(x.Bytes, y.Bytes)
}

// Sent forgets the reads that have been sent.
func (s *SharedReads) OnFlush() { s.unsent = s.unsent[:0] }

// End ends what a read shares with others. It gives those that wait for its answer, and whether
// they are to have it: a failure that is not about what they asked for has them read by
// themselves.
func (s *SharedReads) End(o *OneShot, d *Done) (followers []*OneShot, answered bool) {
	if o.leader != nil {
		o.leader.followers = slices.DeleteFunc(o.leader.followers, func(f *OneShot) bool { return f == o })
		o.leader = nil
	}
	s.unsent = slices.DeleteFunc(s.unsent, func(x *OneShot) bool { return x == o })
	followers = o.followers
	o.followers = nil
	for _, f := range followers {
		f.leader = nil
	}
	answered = d.Failure == nil || d.Failure.Reason == msg.ReasonRequest && kv.Kind(d.Failure.Kind) != kv.KindDeadlineExceeded
	return followers, answered
}

// Share is the answer of a read, for one that has waited for it.
func (o *OneShot) SharedDone(of *OneShot, d *Done) Done {
	o.txnReceipt = msg.Worst(o.txnReceipt, of.txnReceipt)
	return Done{
		Committed:   d.Committed,
		Results:     d.Results,
		ResultsLost: d.ResultsLost,
		Failure:     d.Failure,
		Index:       d.Index,
		Plan:        d.Plan,
		At:          d.At,
	}
}
