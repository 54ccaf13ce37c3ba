package client

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Status tells who the connected node is and which members it sees.
func (db *DB) Status(ctx context.Context) (*pb.StatusResponse, error) {
	return administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.StatusResponse, error) {
		return a.Status(ctx, &pb.StatusRequest{})
	})
}

// Shards tells about the shards of the cluster, in detail about those that
// live on the connected node.
func (db *DB) Shards(ctx context.Context) (*pb.ShardsResponse, error) {
	return administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.ShardsResponse, error) {
		return a.Shards(ctx, &pb.ShardsRequest{})
	})
}

// HotKeys tells which keys of the cluster are hot, where they live and why, at
// most limit of them; 0 is 10.
func (db *DB) HotKeys(ctx context.Context, limit int) (*pb.HotKeysResponse, error) {
	return administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.HotKeysResponse, error) {
		return a.HotKeys(ctx, &pb.HotKeysRequest{Limit: uint32(max(limit, 0))})
	})
}

// SetHotRule says what is wanted of a key, or of all keys with a prefix, and tells
// what is known of them.
func (db *DB) SetHotRule(ctx context.Context, rule pb.HotRule) (*pb.HotKeysResponse, error) {
	return administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.HotKeysResponse, error) {
		return a.SetHotRule(ctx, &pb.SetHotRuleRequest{Rule: &rule})
	})
}

// SetHotMode says which keys are moved to the hot shard, and tells of those that
// are there.
func (db *DB) SetHotMode(ctx context.Context, mode pb.HotMode) (*pb.HotKeysResponse, error) {
	return administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.HotKeysResponse, error) {
		return a.SetHotMode(ctx, &pb.SetHotModeRequest{Mode: mode})
	})
}

// CancelTransaction ends a transaction that is under way at whichever nodes, and tells at which it was.
func (db *DB) CancelTransaction(ctx context.Context, id kv.TxnID) (*pb.CancelTransactionResponse, error) {
	return administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.CancelTransactionResponse, error) {
		return a.CancelTransaction(ctx, &pb.CancelTransactionRequest{TxnId: id})
	})
}

// Types tells which data types the connected node knows, with their methods and
// what commutes: the one with this name, or all if it is empty.
func (db *DB) Types(ctx context.Context, name string) ([]pb.TypeInfo, error) {
	r, err := administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.TypesResponse, error) {
		return a.Types(ctx, &pb.TypesRequest{Type: name})
	})
	if err != nil {
		return nil, err
	}
	return r.Types, nil
}

// administer asks until there is an answer or no point in asking again.
func administer[A any](db *DB, ctx context.Context, ask func(context.Context, pb.AdminClient) (A, error)) (A, error) {
	return asking(db, ctx, func(ctx context.Context, s *session) (A, error) { return ask(ctx, s.admin) })
}

// asking makes a unary call until there is an answer or no point in calling
// again.
func asking[A any](db *DB, ctx context.Context, call func(context.Context, *session) (A, error)) (A, error) {
	r := newRetrier(db, ctx)
	defer r.stop()
	for {
		s, failed := r.use()
		if failed != nil {
			return *new(A), failed
		}
		answer, err := call(r.bounded(), s)
		s.unuse()
		if err == nil {
			return answer, nil
		}
		if e := failure(r.bounded(), err); !r.again(e) {
			return answer, e
		}
	}
}

// Activity tells what a node of the cluster has done of late; in.NodeId 0 is the
// connected one.
func (db *DB) Activity(ctx context.Context, in *pb.ActivityRequest) (*pb.ActivityResponse, error) {
	return administer(db, ctx, func(ctx context.Context, a pb.AdminClient) (*pb.ActivityResponse, error) {
		return a.Activity(ctx, in)
	})
}
