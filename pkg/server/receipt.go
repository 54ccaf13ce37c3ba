package server

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// receipt returns nil if there is no wait to report, and no aborted attempt.
func receipt(c *txn.Contention) *pb.Receipt {
	r, e := &c.Receipt, &c.Ended
	reported := isReported(r)
	if !reported && e.Count == 0 {
		return nil
	}
	out := new(pb.Receipt)
	if reported {
		out.WaitedUs, out.Waiting = uint64(r.WaitedNanos)/1000, r.Open
		out.Wait = conflict(r)
	}
	if e.Count > 0 {
		out.Aborted, out.Reason, out.Abort = e.Count, e.Reason.Word(), conflict(e.By)
	}
	return out
}

// isReported reports whether a wait is in the receipt. Waits for a snapshot round are below 1 ms as a rule,
// come with every round of the history, and have no remedy.
func isReported(r *msg.Receipt) bool {
	least := int64(time.Microsecond)
	if r.Cause == msg.CauseSnapshot {
		least = int64(detail.LeastWait)
	}
	return r.WaitedNanos >= least
}

// conflict returns nil for nil. Causes have the same numbers in both packages.
func conflict(r *msg.Receipt) *pb.Conflict {
	if r == nil {
		return nil
	}
	mine, theirs := adt.Mode(r.Mode), adt.Mode(r.HolderMode)
	did, holderDid := adt.Methods(r.Methods), adt.Methods(r.HolderMethods)
	return &pb.Conflict{Cause: pb.Cause(r.Cause), Key: r.Key, Holder: r.Holder.TxnID, Others: uint32(r.Others),
		Operations: did.Names(), Lock: mine.Name(), Interactive: did&adt.Interactive != 0,
		HolderOperations: holderDid.Names(), HolderLock: theirs.Name(), HolderInteractive: holderDid&adt.Interactive != 0,
		Advice: adviceOf(mine, theirs, did, holderDid), Shortage: shortage(r.Shortage), HolderOwn: r.Own}
}

func shortage(s *msg.Shortage) *pb.Shortage {
	if s == nil {
		return nil
	}
	return &pb.Shortage{Left: s.Left, Requested: s.Requested}
}

// adviceOf is nil if there is none.
func adviceOf(mine, theirs adt.Mode, did, holderDid adt.Methods) *pb.Advice {
	if a, ok := adt.AdviseTyped(mine, theirs); ok {
		return &pb.Advice{Instead: a.Mine.FullName(), HolderInstead: a.Theirs.FullName(), Apart: a.OtherPartOnly}
	}
	if a, ok := adt.Advise(did, holderDid); ok {
		return &pb.Advice{Instead: instead(a.Mine), HolderInstead: instead(a.Theirs)}
	}
	return nil
}

// instead is empty for no change.
func instead(m adt.Method) string {
	if m == adt.MethodNone {
		return ""
	}
	return m.String()
}

// worded adds the sentence to a receipt.
func worded(r *pb.Receipt) *pb.Receipt {
	if r != nil {
		r.Sentence = detail.Sentence(r)
	}
	return r
}
