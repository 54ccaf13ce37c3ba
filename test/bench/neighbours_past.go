package main

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// dial opens a plain connection: the Go client makes its ids by the clock of the node.
func dial(addr string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		codec.DialOption())
}

// inThePast puts a key in transactions one after another, whose ids are nine minutes old, each under the lock that
// it has taken before.
func inThePast(ctx context.Context, conn *grpc.ClientConn, key []byte) error {
	stream, err := pb.NewKVClient(conn).Transact(ctx)
	if err != nil {
		return err
	}
	step := func(in *pb.TransactRequest) error {
		if err := stream.Send(in); err != nil {
			return err
		}
		_, err := stream.Recv() // a failed one has ended its transaction
		return err
	}
	for ctx.Err() == nil {
		id := kv.TxnID{Time: time.Now().Add(-9 * time.Minute).UnixNano(), Rand: rand.Uint64()}
		get := &pb.ExecuteStep{Ops: []pb.Op{{Op: &pb.Op_Get{Get: &pb.GetOp{Key: key, ForUpdate: true}}}}}
		put := &pb.ExecuteStep{Ops: []pb.Op{{Op: &pb.Op_Put{Put: &pb.PutOp{Key: key, Value: []byte("v")}}}}}
		for _, in := range []*pb.TransactRequest{
			{Step: &pb.TransactRequest_Begin{Begin: &pb.BeginStep{TxnId: id, First: get}}},
			{Step: &pb.TransactRequest_Commit{Commit: &pb.CommitStep{Last: put}}},
		} {
			if err := step(in); err != nil {
				return err
			}
		}
	}
	return nil
}
