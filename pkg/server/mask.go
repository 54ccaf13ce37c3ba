package server

import (
	"context"
	"hash/maphash"

	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// mask puts other ids in the place of those of transactions, in what is told to
// callers who may not know them (hide). The same id becomes the same one, as long
// as the node runs, so that it can still be seen who waits for whom; but nobody
// has a transaction of that id.
func (s *service) mask(a *pb.ActivityResponse) {
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

func (s *service) maskConflict(c *pb.Conflict) {
	if c != nil {
		s.maskID(&c.Holder)
	}
}

func (s *service) maskID(id *kv.TxnID) {
	if !id.IsZero() {
		*id = id.Mask(maphash.Comparable(s.masking, *id))
	}
}

// Local is what callers in this process can ask, as clients do; they pass by no
// interceptor, so that who may ask is for them to know.
type Local interface {
	pb.KVServer
	pb.AdminServer
}

// Local is the services without gRPC, for what is shown to several callers at once:
// if there is TLS it tells no transaction's id, whoever asks.
func (s *Server) Local() Local { return local{s.service} }

type local struct{ *service }

// Activity: see service.Activity.
func (l local) Activity(ctx context.Context, in *pb.ActivityRequest) (*pb.ActivityResponse, error) {
	out, err := l.activity(ctx, in)
	if err == nil && guard.CallerOf(ctx).Known() {
		l.mask(out)
	}
	return out, err
}
