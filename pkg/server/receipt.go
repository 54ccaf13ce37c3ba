package server

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// receipt gives nil when there was no waiting to tell of, and no attempt that
// others ended.
func receipt(r *msg.Receipt, e *txn.Ended) *pb.Receipt {
	if r.WaitedNanos < 1000 && e.Count == 0 {
		return nil
	}
	out := new(pb.Receipt)
	if r.WaitedNanos >= 1000 {
		out.WaitedUs, out.Key, out.Holder, out.Waiting = uint64(r.WaitedNanos)/1000, r.Key, r.Holder.TxnID, r.Open
		out.Wait = conflict(r)
	}
	if e.Count > 0 {
		out.Aborted, out.Reason, out.Abort = e.Count, e.Reason.Word(), conflict(e.By)
	}
	return out
}

// conflict gives nil for nil. Causes, modes and methods have the numbers that
// clients know.
func conflict(r *msg.Receipt) *pb.Conflict {
	if r == nil {
		return nil
	}
	mine, theirs := adt.Mode(r.Mode), adt.Mode(r.HolderMode)
	did, holderDid := adt.Methods(r.Methods), adt.Methods(r.HolderMethods)
	out := &pb.Conflict{Cause: pb.Cause(r.Cause), Key: r.Key, LockMode: lockMode(mine), Holder: r.Holder.TxnID, HolderLockMode: lockMode(theirs), Others: uint32(r.Others),
		Lock: mine.KindName(), HolderLock: theirs.KindName(),
		Operations: operationsOf(did), HolderOperations: operationsOf(holderDid), Methods: did.Calls(), HolderMethods: holderDid.Calls(),
		Interactive: did&adt.Interactive != 0, HolderInteractive: holderDid&adt.Interactive != 0}
	if a, ok := adt.AdviseTyped(mine, theirs); ok {
		out.Advice = []pb.Advice{{Instead: pb.Operation(a.Mine.Called()), HolderInstead: pb.Operation(a.Theirs.Called()),
			Method: a.Mine.FullName(), HolderMethod: a.Theirs.FullName(), Apart: a.Apart}}
	} else if a, ok := adt.Advise(did, holderDid); ok {
		out.Advice = []pb.Advice{{Instead: pb.Operation(a.Mine), HolderInstead: pb.Operation(a.Theirs)}}
	}
	return out
}

// lockMode is a mode as clients know it. Those of data types are one to them,
// and the kind is told by its name.
func lockMode(m adt.Mode) pb.LockMode {
	if _, typed := m.Type(); typed {
		return pb.LockMode_LOCK_TYPED
	}
	return pb.LockMode(m)
}

func operationsOf(ms adt.Methods) (out []pb.Operation) {
	for _, m := range ms.Each() {
		out = append(out, pb.Operation(m))
	}
	return out
}

// worded adds the sentence to a receipt.
func worded(r *pb.Receipt) *pb.Receipt {
	if r != nil {
		r.Sentence = detail.Sentence(r)
	}
	return r
}
