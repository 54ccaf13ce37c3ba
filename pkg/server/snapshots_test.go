package server_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// errOrEOF is nil at the regular end of a stream.
func errOrEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func TestBadRequestsForSnapshotsAreRefused(t *testing.T) {
	e, st := store(t, server.Options{})
	for text, in := range map[string]*pb.CreateSnapshotRequest{
		"has no name":                            {},
		"has 201 bytes":                          {Name: strings.Repeat("x", 201)},
		`"a b" has an invalid character`:         {Name: "a b"},
		`"@serverte-1" has an invalid character`: {Name: "@serverte-1"},
		"time to live is 7776000001 ms":          {Name: "s", TtlMs: 90*24*3600*1000 + 1},
		"time to live is 18446744073709551615 m": {Name: "s", TtlMs: 1<<64 - 1},
	} {
		_, err := e.kv.CreateSnapshot(t.Context(), in)
		require.Equal(t, codes.InvalidArgument, status.Code(err), text)
		require.Contains(t, detail.From(err).Message, text)
		require.NotEmpty(t, detail.From(err).Hint)
	}
	for text, name := range map[string]string{"has no name": "", "is not a snapshot id": "@x",
		"belongs to another cluster": "@other-3", "an invalid character": "a b"} {
		_, err := e.kv.DropSnapshot(t.Context(), &pb.DropSnapshotRequest{Snapshot: name})
		require.Equal(t, codes.InvalidArgument, status.Code(err), text)
		require.Contains(t, detail.From(err).Message, text)
	}
	kept, err := st.Snapshots(t.Context())
	require.NoError(t, err)
	require.Empty(t, kept)
}

func TestSnapshotsKeepTheCallersDeadline(t *testing.T) {
	e, st := store(t, server.Options{})
	holds := transact(t, e)
	holds.begin(&pb.BeginStep{}) // this store has one transaction at a time
	require.Equal(t, 1, st.Open())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := e.kv.CreateSnapshot(ctx, &pb.CreateSnapshotRequest{Name: "s"})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	_, err = e.kv.ListSnapshots(ctx, &pb.ListSnapshotsRequest{})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	_, err = e.kv.DropSnapshot(ctx, &pb.DropSnapshotRequest{Snapshot: "s"})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	holds.rollback()
}

// young is a node that has just started.
type young struct{ *servertest.Store }

func (young) Identity() *pb.StatusResponse { return &pb.StatusResponse{} }

// TestANodeThatHasJustStartedDoesNotRefuseSnapshots: it does not know yet whether an
// id is of its cluster, and the client retries.
func TestANodeThatHasJustStartedDoesNotRefuseSnapshots(t *testing.T) {
	e := serve(t, young{servertest.New()}, server.Options{})
	_, err := e.kv.Execute(t.Context(), &pb.ExecuteRequest{At: snapshotAt("@3f9a01c2-17"), Ops: []pb.Op{get("k")}})
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	_, err = e.kv.DropSnapshot(t.Context(), &pb.DropSnapshotRequest{Snapshot: "@3f9a01c2-17"})
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
}
