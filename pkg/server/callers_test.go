package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// TestEveryMethodHasANeed, so that none is for administrators because it was
// forgotten, and none is open to all.
func TestEveryMethodHasANeed(t *testing.T) {
	for _, desc := range []grpc.ServiceDesc{pb.KV_ServiceDesc, pb.Admin_ServiceDesc, peerpb.Peer_ServiceDesc} {
		for _, m := range desc.Methods {
			require.Contains(t, needs, "/"+desc.ServiceName+"/"+m.MethodName)
		}
		for _, s := range desc.Streams {
			require.Contains(t, needs, "/"+desc.ServiceName+"/"+s.StreamName)
		}
	}
	for method, need := range needs {
		require.NotEqual(t, guard.NeedNothing, need, method)
	}
	require.Equal(t, guard.NeedAdmin, Needs("/linchpin.v1.KV/NobodyHasThoughtOf"))
}

// TestNoOperationNamesKeysOfLinchpinsOwn: of whatever kind it is, and however it is
// decoded.
func TestNoOperationNamesKeysOfLinchpinsOwn(t *testing.T) {
	key := []byte(kv.SystemStart + "users")
	kinds := []pb.Op{
		{Op: &pb.Op_Get{Get: &pb.GetOp{Key: key}}}, {Op: &pb.Op_Put{Put: &pb.PutOp{Key: key}}},
		{Op: &pb.Op_Delete{Delete: &pb.DeleteOp{Key: key}}},
		{Op: &pb.Op_Require{Require: &pb.RequireOp{Key: key, Condition: &pb.RequireOp_Exists{Exists: true}}}},
		{Op: &pb.Op_Add{Add: &pb.AddOp{Key: key}}},
		{Op: &pb.Op_Scan{Scan: &pb.ScanOp{Start: key}}}, {Op: &pb.Op_DeleteRange{DeleteRange: &pb.DeleteRangeOp{Start: key}}},
		{Op: &pb.Op_Call{Call: &pb.CallOp{Key: key, Type: "set", Method: "len"}}},
		{Op: &pb.Op_Dump{Dump: &pb.DumpOp{Key: key}}},
		{Op: &pb.Op_Restore{Restore: &pb.RestoreOp{Key: key}}},
		{Op: &pb.Op_Expire{Expire: &pb.ExpireOp{Key: key, TtlMs: 1}}},
		{Op: &pb.Op_Persist{Persist: &pb.PersistOp{Key: key}}},
	}
	for i := range kinds {
		_, err := operations(kinds[i:i+1], &budget{})
		require.NotNil(t, err, "%v", kinds[i])
		require.Equal(t, kv.KindInvalid, err.Kind)
		require.Contains(t, err.Text, "linchpin's own")
		raw, bad := (&pb.PipelineRequest{Calls: []pb.Call{{Request: pb.ExecuteRequest{Ops: kinds[i : i+1]}}}}).Marshal()
		require.NoError(t, bad)
		var got *kv.Error
		d := decoder{call: func(c *incoming, _ time.Time) bool { got = c.err; return true }}
		require.NoError(t, d.Unmarshal(raw))
		require.Equal(t, err, got)
	}
	// Nor does a range that begins before them.
	ops, err := operations([]pb.Op{{Op: &pb.Op_Scan{Scan: &pb.ScanOp{}}},
		{Op: &pb.Op_DeleteRange{DeleteRange: &pb.DeleteRangeOp{Start: []byte("a")}}}}, &budget{})
	require.Nil(t, err)
	for i := range ops {
		span := ops[i].Span()
		require.False(t, span.Contains(key))
		require.True(t, span.Contains([]byte("zebra")))
	}
}
