package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/activity"
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// asked is what a node answers another one.
func asked(t *testing.T, b server.Backend, in *pb.ActivityRequest) *pb.ActivityResponse {
	t.Helper()
	question, err := in.Marshal()
	require.NoError(t, err)
	out := new(pb.ActivityResponse)
	require.NoError(t, out.Unmarshal(server.AnswerNode(b, question)))
	return out
}

// modeOf is what a method of a type needs.
func modeOf(t *testing.T, typ, method, arg string) adt.Mode {
	t.Helper()
	op, err := adt.Call([]byte("k"), typ, method, adt.Args{adt.Bytes([]byte(arg))})
	require.NoError(t, err)
	return adt.Modes(nil, &op)[0]
}

// TestOperationsAreNamedWithTheirType: those of a data type by the kind of lock, which
// says more than the method does; those that go for any key without a type.
func TestOperationsAreNamedWithTheirType(t *testing.T) {
	for want, side := range map[string]struct {
		mode    adt.Mode
		methods adt.Methods
	}{
		"counter.add-get": {adt.ModeWrite, adt.MethodAddGet.Set()},
		"get, value.put":  {adt.ModeWrite, adt.MethodGet.Set() | adt.MethodPut.Set()},
		"read-only":       {adt.ModeRead, adt.MethodOpenView.Set()},
		"set.add":         {modeOf(t, "set", "add", "ann"), adt.MethodUpdate.Set()},
		"write":           {adt.ModeWrite, 0},
		"":                {0, 0},
	} {
		s := servertest.New()
		s.SetActivity(server.Activity{Conflicts: []activity.Conflict{{Key: []byte("k"), Pair: activity.Pair{
			Mode: uint64(side.mode), Methods: uint64(side.methods), HolderMode: uint64(side.mode),
			HolderMethods: uint64(side.methods)}}}})
		c := asked(t, s, &pb.ActivityRequest{}).Conflicts[0]
		require.Equal(t, want, c.Operations)
		require.Equal(t, want, c.HolderOperations)
	}
}

func TestWhatIsAskedForIsBounded(t *testing.T) {
	s := servertest.New()
	a := server.Activity{Seconds: []pb.ActivitySecond{{TimeS: 5}, {TimeS: 9}}}
	for range 2000 {
		a.Waits = append(a.Waits, server.Wait{Txn: kv.TxnID{Time: 1}})
		a.Receipts = append(a.Receipts, activity.Ended{Contention: &txn.Contention{}})
		a.Conflicts = append(a.Conflicts, activity.Conflict{})
	}
	s.SetActivity(a)
	r := asked(t, s, &pb.ActivityRequest{})
	require.Empty(t, r.Waits)
	require.Empty(t, r.Receipts)
	require.Len(t, r.Conflicts, 1000)
	require.Len(t, r.Seconds, 2)
	r = asked(t, s, &pb.ActivityRequest{SinceS: 5, MaxReceipts: 1 << 30, MaxWaits: 1 << 30})
	require.Len(t, r.Waits, 256)
	require.Len(t, r.Receipts, 256)
	require.Len(t, r.Seconds, 1)
}

func TestAQuestionThatCannotBeReadHasNoAnswer(t *testing.T) {
	require.Nil(t, server.AnswerNode(servertest.New(), []byte{0xff, 0xff, 0xff}))
}
