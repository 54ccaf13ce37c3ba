package server

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// NotReady is the error of calls to a node that has not formed its cluster yet. Nothing was applied.
func NotReady() *kv.Error {
	return &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "the node has not met all initial members of its cluster yet",
		Hint: "start the other members with the same --join list"}
}

// stopping is the error of new transactions on a node that drains. Nothing was applied.
func stopping() *kv.Error {
	return &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "the node is draining",
		Hint: "nothing was applied; use another node, or retry when this node is back"}
}

// needBackend are the methods that are rejected until there is a backend. The others report on the
// process, wait for the table of users, or, as Pipeline and Transact, reject each transaction on an open
// stream, so that clients can connect before the cluster is formed.
var needBackend = map[string]bool{
	pb.KV_Execute_FullMethodName: true, pb.KV_Scan_FullMethodName: true, pb.KV_Outcome_FullMethodName: true,
	pb.KV_CreateSnapshot_FullMethodName: true, pb.KV_DropSnapshot_FullMethodName: true,
	pb.KV_ListSnapshots_FullMethodName: true, pb.Admin_HotKeys_FullMethodName: true,
	pb.Admin_SetHotRule_FullMethodName: true, pb.Admin_SetHotMode_FullMethodName: true,
	pb.Admin_Reclaim_FullMethodName: true,
}

// unformed is the backend until there is one: it knows no cluster. What it does not implement is not
// called (needBackend, rejection).
type unformed struct{ Backend }

func (unformed) NewID() kv.TxnID {
	return kv.TxnID{Time: time.Now().UnixNano(),
		Rand: rand.Uint64()}
}
func (unformed) Identity() *pb.StatusResponse       { return &pb.StatusResponse{} }
func (unformed) Status() *pb.StatusResponse         { return &pb.StatusResponse{} }
func (unformed) Shards() []pb.ShardStatus           { return nil }
func (unformed) HotKeys(int) []hotshard.KeyHeat     { return nil }
func (unformed) Activity(int64, int, int) Activity  { return Activity{} }
func (unformed) Reclaimable() uint64                { return 0 }
func (unformed) CancelTransaction(id kv.TxnID) bool { return false }
func (unformed) Hot(context.Context) (*msg.HotStatusResponse, error) {
	return nil, NotReady()
}

// isReady reports whether there is a backend.
func (s *service) isReady() bool {
	_, not := s.backend().(unformed)
	return !not
}

// rejection is why no new transaction is accepted now; nil if it is.
func (s *service) rejection() *kv.Error {
	switch {
	case s.isDraining():
		return stopping()
	case !s.isReady():
		return NotReady()
	}
	return nil
}

func (s *service) checkReady(method string) error {
	if needBackend[method] && !s.isReady() {
		return statusOf(NotReady(), kv.TxnID{})
	}
	return nil
}

// readyUnary rejects calls that need a backend while there is none.
func (s *service) readyUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler) (any, error) {
	if err := s.checkReady(info.FullMethod); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

// readyStream does the same for streams.
func (s *service) readyStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	next grpc.StreamHandler) error {
	if err := s.checkReady(info.FullMethod); err != nil {
		return err
	}
	return next(srv, stream)
}
