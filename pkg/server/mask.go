package server

import (
	"context"
	"hash/maphash"

	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// idMask replaces ids by ids.
type idMask struct{ seed maphash.Seed }

// mask replaces the ids of transactions for callers without permission to see them (hide). An id is replaced
// by the same one for as long as the node runs, so that the wait-for graph can be followed; no transaction has
// that id.
func (s idMask) mask(a *pb.ActivityResponse) {
	for i := range a.Receipts {
		r := &a.Receipts[i]
		s.maskID(&r.TxnId)
		if p := r.Receipt; p != nil {
			s.maskConflict(p.Wait)
			s.maskConflict(p.Abort)
			worded(p)
		}
	}
	for i := range a.Waits {
		s.maskID(&a.Waits[i].TxnId)
		a.Waits[i].User, a.Waits[i].HolderUser = "", ""
		s.maskConflict(a.Waits[i].Wait)
	}
}

func (s idMask) maskConflict(c *pb.Conflict) {
	if c != nil {
		s.maskID(&c.Holder)
	}
}

func (s idMask) maskID(id *kv.TxnID) {
	if !id.IsZero() {
		*id = id.Mask(maphash.Comparable(s.seed, *id))
	}
}

// Local is what callers in this process can ask, as clients do; they pass by no
// interceptor, so that who may ask is for them to know.
type Local interface {
	pb.KVServer
	pb.AdminServer
}

// Local is the services without gRPC, for what is shown to several callers at once:
// with TLS it shows no transaction's id, whatever the caller's permissions.
func (s *Server) Local() Local { return local{s.admin} }

type local struct{ adminService }

// Activity: see service.Activity.
func (l local) Activity(ctx context.Context, in *pb.ActivityRequest) (*pb.ActivityResponse, error) {
	out, err := l.activity(ctx, in)
	if err == nil && guard.CallerOf(ctx).Known() {
		l.masking.mask(out)
	}
	return out, err
}
