package server

import (
	"context"
	"errors"

	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// needs says what each method wants of its caller. What is not here is for
// administrators. Those of NeedUser that name keys look at them themselves.
var needs = map[string]guard.Need{
	pb.KV_Execute_FullMethodName:  guard.NeedUser,
	pb.KV_Pipeline_FullMethodName: guard.NeedUser,
	pb.KV_Transact_FullMethodName: guard.NeedUser,
	pb.KV_Scan_FullMethodName:     guard.NeedUser,
	// A caller that queries an outcome knows the id of the transaction. Its random part is only shown to
	// callers with permission to read all keys (hide).
	pb.KV_Outcome_FullMethodName: guard.NeedUser,
	// A snapshot keeps versions of all keys on disk, for up to 90 days.
	pb.KV_CreateSnapshot_FullMethodName: guard.NeedAdmin,
	pb.KV_DropSnapshot_FullMethodName:   guard.NeedAdmin,
	pb.KV_ListSnapshots_FullMethodName:  guard.NeedMonitor,

	pb.Admin_Status_FullMethodName:            guard.NeedUser,
	pb.Admin_Types_FullMethodName:             guard.NeedUser,
	pb.Admin_WhoAmI_FullMethodName:            guard.NeedUser,
	pb.Admin_Shards_FullMethodName:            guard.NeedMonitor,
	pb.Admin_HotKeys_FullMethodName:           guard.NeedMonitor,
	pb.Admin_Activity_FullMethodName:          guard.NeedMonitor,
	pb.Admin_SetHotRule_FullMethodName:        guard.NeedAdmin,
	pb.Admin_SetHotMode_FullMethodName:        guard.NeedAdmin,
	pb.Admin_Drain_FullMethodName:             guard.NeedAdmin,
	pb.Admin_Reclaim_FullMethodName:           guard.NeedAdmin,
	pb.Admin_CancelTransaction_FullMethodName: guard.NeedAdmin,
	pb.Admin_LogLevels_FullMethodName:         guard.NeedAdmin,
	pb.Admin_Debug_FullMethodName:             guard.NeedAdmin,
	pb.Admin_CreateUser_FullMethodName:        guard.NeedAdmin,
	pb.Admin_ListUsers_FullMethodName:         guard.NeedAdmin,
	pb.Admin_GrantUser_FullMethodName:         guard.NeedAdmin,
	pb.Admin_RevokeUser_FullMethodName:        guard.NeedAdmin,
	pb.Admin_DropUser_FullMethodName:          guard.NeedAdmin,
	pb.Admin_RotateToken_FullMethodName:       guard.NeedAdmin,
	pb.Admin_ExportUsers_FullMethodName:       guard.NeedAdmin,
	pb.Admin_ImportUsers_FullMethodName:       guard.NeedAdmin,

	peerpb.Peer_Meet_FullMethodName:         guard.NeedNode,
	peerpb.Peer_Stream_FullMethodName:       guard.NeedNode,
	peerpb.Peer_Replicate_FullMethodName:    guard.NeedNode,
	peerpb.Peer_SendSnapshot_FullMethodName: guard.NeedNode,

	"/grpc.health.v1.Health/Check": guard.NeedUser,
	"/grpc.health.v1.Health/List":  guard.NeedUser,
	"/grpc.health.v1.Health/Watch": guard.NeedUser,

	grpc_reflection_v1.ServerReflection_ServerReflectionInfo_FullMethodName: guard.NeedUser,
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo":        guard.NeedUser,
}

// Needs says what a method wants of its caller, for a guard.Gate.
func Needs(method string) guard.Need { return needs[method] }

// hide says in a receipt which transactions are the caller's own, and takes the ids of the others out of
// it, unless the caller may know them. An id is all that it takes to query an outcome, with what the
// transaction has read, and to abort the transaction by that.
func (o *opened) hide(ctx context.Context, c *txn.Contention) {
	r, e := &c.Receipt, &c.Ended
	if r.Holder.TxnID.IsZero() && e.By == nil {
		return
	}
	sees := guard.CallerOf(ctx).Sees()
	o.hideHolder(ctx, sees, r)
	if e.By != nil {
		by := *e.By
		o.hideHolder(ctx, sees, &by)
		e.By = &by
	}
}

func (o *opened) hideHolder(ctx context.Context, sees bool, r *msg.Receipt) {
	r.Own = o.has(ctx, r.Holder.TxnID)
	if !sees && !r.Own {
		r.Holder = kv.TxnRef{}
	}
}

// hidden does so with an error.
func (o *opened) hidden(ctx context.Context, err error) error {
	f := (*gateway.CallError)(nil)
	if !errors.As(err, &f) {
		return err
	}
	own := *f
	o.hide(ctx, &own.Contention)
	return &own
}
