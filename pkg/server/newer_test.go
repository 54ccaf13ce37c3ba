package server

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// TestFieldsOfNewerClientsAreRejected: an operation with a field that the server does not
// know, such as a new condition, is not executed without it. So it is on each level of the
// message, and by either decoder.
func TestFieldsOfNewerClientsAreRejected(t *testing.T) {
	k := []byte("k")
	for name, op := range map[string]pb.Op{
		"get": getOp("k"), "put": putOp("k", 1), "scan": scanOp("a", "b", 1), "delete-range": rangeOp("a", "b"),
		"delete":  {Op: &pb.Op_Delete{Delete: &pb.DeleteOp{Key: k}}},
		"require": requireOp(pb.RequireOp{Key: k, Condition: &pb.RequireOp_Exists{Exists: true}}),
		"add":     {Op: &pb.Op_Add{Add: &pb.AddOp{Key: k, Delta: 1}}},
		"call":    {Op: &pb.Op_Call{Call: &pb.CallOp{Key: k, Type: "set", Method: "len"}}},
		"dump":    {Op: &pb.Op_Dump{Dump: &pb.DumpOp{Key: k}}},
		"restore": {Op: &pb.Op_Restore{Restore: &pb.RestoreOp{Key: k}}},
		"expire":  {Op: &pb.Op_Expire{Expire: &pb.ExpireOp{Key: k, TtlMs: 1}}},
		"persist": {Op: &pb.Op_Persist{Persist: &pb.PersistOp{Key: k}}},
	} {
		raw, err := op.Marshal()
		require.NoError(t, err, name)
		require.Nil(t, readBoth(t, name, raw), name)
		for level, newer := range withField(raw) {
			err := readBoth(t, name, newer)
			require.NotNil(t, err, "%s, level %d", name, level)
			require.Equal(t, kv.KindInvalid, err.Kind)
			require.Contains(t, err.Text, "has a field that this server does not know", "%s, level %d", name, level)
			require.Contains(t, err.Hint, "upgrade")
		}
	}
}

// readBoth reads an operation as Execute does and as Pipeline does.
func readBoth(t *testing.T, name string, raw []byte) *kv.Error {
	var in pb.Op
	require.NoError(t, in.Unmarshal(raw), name)
	var one, other msg.Op
	err := operation(&in, &one)
	again, bad := new(decoder).operation(raw, &other)
	require.NoError(t, bad, name)
	require.Equal(t, err, again, name)
	return err
}

// withField adds a new field to a message, and to the message in its last field.
func withField(raw []byte) [2][]byte {
	field := protowire.AppendVarint(protowire.AppendTag(nil, 900, protowire.VarintType), 1)
	num, _, n := protowire.ConsumeTag(raw)
	body, _ := protowire.ConsumeBytes(raw[n:])
	within := protowire.AppendTag(nil, num, protowire.BytesType)
	within = protowire.AppendBytes(within, append(append([]byte(nil), body...), field...))
	return [2][]byte{append(append([]byte(nil), raw...), field...), within}
}
