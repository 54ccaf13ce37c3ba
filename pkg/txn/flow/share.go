package flow

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// sharing connects identical reads that share one result (combining; Holt 2016, section 4.3.3).
// leader is the read whose result this one waits for; followers wait for the result of this one.
//
// Sequence: 100 clients read the hot key k within one flush. One read is sent; 99 are followers. If
// the leader fails for its own reasons, the followers are started in turn, and the first of them that
// is not sent yet becomes a leader.
type sharing struct {
	leader    *OneShot
	followers []*OneShot
}

// maxUnsent bounds the reads with which a new one is compared. Somewhat arbitrary: one flush seldom
// has more.
const maxUnsent = 16

// SharedReads are the reads that others can share: those since the last Flush. A read that has been
// sent is never joined. It may be executed before the second request arrives, and would miss writes
// that the second client knows to be committed.
type SharedReads struct {
	unsent []*OneShot
	// Count counts the reads that have shared the result of another.
	Count uint64
}

// tryJoin makes a one-shot read wait for the result of an identical one that has not been sent yet.
// The result is current at an instant after both have begun.
func (s *SharedReads) tryJoin(gw *Gateway, o *OneShot) bool {
	// A retry may have been redirected; it reads on its own.
	if gw.NoSharing || o.Ref.Attempt > 1 || !o.How.isDefault() || o.hasDistinct(gw) {
		return false
	}
	// A response that fits the bound of one client may exceed that of another.
	i := slices.IndexFunc(s.unsent, func(x *OneShot) bool {
		return x.How.MaxResponse == o.How.MaxResponse && sameReads(gw, x.ops, o.ops)
	})
	if i < 0 {
		if len(s.unsent) < maxUnsent {
			s.unsent = append(s.unsent, o)
		}
		return false
	}
	o.Phase, o.leader = Sharing, s.unsent[i]
	o.leader.followers = append(o.leader.followers, o)
	gw.WakeAt(o.AbortAt())
	s.Count++
	return true
}

// isDistinct reports whether the result of an operation is for its caller only, as a unique
// identifier is.
func isDistinct(op msg.Op) bool {
	if !op.IsCall() {
		return false
	}
	m, err := adt.Find(&op)
	return err != nil || m.Distinct
}

// sameReads reports whether two lists of operations have the same results.
func sameReads(gw *Gateway, a, b []msg.Op) bool {
	return slices.EqualFunc(a, b, func(x, y msg.Op) bool {
		return x.Kind == y.Kind && bytes.Equal(x.Key, y.Key) && bytes.Equal(x.End, y.End) && x.Limit == y.Limit &&
			x.Expect == y.Expect && bytes.Equal(x.ExpectValue, y.ExpectValue) && x.ExpectVersion == y.ExpectVersion &&
			x.Type == y.Type && x.Method == y.Method && x.Stored == y.Stored &&
			sameArguments(gw, x.Args, y.Args)
	})
}

// End ends the sharing of a read. It returns the followers, and whether the result is theirs as
// well. If the read has failed for its own reasons, such as its deadline, the followers execute by
// themselves.
func (s *SharedReads) End(o *OneShot, d *Done) (followers []*OneShot, shared bool) {
	// A follower that ends first, by its deadline for example, leaves its leader.
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
	// A failure of an operation, such as a condition, is that of each follower, too.
	f := d.Failure
	shared = f == nil || f.Reason == msg.ReasonRequest && kv.Kind(f.Kind) != kv.KindDeadlineExceeded
	return followers, shared
}

// SharedDone is the result of a read, for a follower.
func (o *OneShot) SharedDone(of *OneShot, d *Done) Done {
	o.txnReceipt = msg.Worst(o.txnReceipt, of.txnReceipt)
	return Done{
		Committed:    d.Committed,
		Results:      d.Results,
		ResultsLost:  d.ResultsLost,
		Failure:      d.Failure,
		LastAgentCSN: d.LastAgentCSN,
		Plan:         d.Plan,
		ReadCSNs:     d.ReadCSNs,
	}
}
