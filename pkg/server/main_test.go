package server_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// waitTimeout bounds waiting for what must happen.
const waitTimeout = 10 * time.Second

// edge is a server in this process with a connection to it.
type edge struct {
	server *server.Server
	conn   *grpc.ClientConn
	kv     pb.KVClient
	admin  pb.AdminClient
}

func serve(t testing.TB, b server.Backend, opts server.Options) *edge {
	t.Helper()
	s, err := server.New(b, opts)
	require.NoError(t, err)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		codec.DialOption(), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(pb.MaxMessageBytes),
			grpc.MaxCallSendMsgSize(2*pb.MaxMessageBytes)))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		s.Stop()
		require.NoError(t, <-served)
	})
	return &edge{server: s, conn: conn, kv: pb.NewKVClient(conn), admin: pb.NewAdminClient(conn)}
}

// store serves a fresh in-memory store.
func store(t testing.TB, opts server.Options) (*edge, *servertest.Store) {
	st := servertest.New()
	return serve(t, st, opts), st
}

func (e *edge) execute(t testing.TB, ops ...pb.Op) (*pb.ExecuteResponse, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	return e.kv.Execute(ctx, &pb.ExecuteRequest{Ops: ops})
}

func (e *edge) must(t testing.TB, ops ...pb.Op) *pb.ExecuteResponse {
	t.Helper()
	r, err := e.execute(t, ops...)
	require.NoError(t, err)
	require.Len(t, r.Results, len(ops))
	return r
}

// Short forms of operations.

func get(key string) pb.Op { return pb.Op{Op: &pb.Op_Get{Get: &pb.GetOp{Key: []byte(key)}}} }

func put(key, value string) pb.Op {
	return pb.Op{Op: &pb.Op_Put{Put: &pb.PutOp{Key: []byte(key), Value: []byte(value)}}}
}

func putAbsent(key, value string) pb.Op {
	return pb.Op{Op: &pb.Op_Put{Put: &pb.PutOp{Key: []byte(key), Value: []byte(value),
		Condition: &pb.PutOp_IfAbsent{IfAbsent: true}}}}
}

func putValue(key, old, value string) pb.Op {
	return pb.Op{Op: &pb.Op_Put{Put: &pb.PutOp{Key: []byte(key), Value: []byte(value),
		Condition: &pb.PutOp_IfValue{IfValue: []byte(old)}}}}
}

func putVersion(key string, v kv.Version, value string) pb.Op {
	return pb.Op{Op: &pb.Op_Put{Put: &pb.PutOp{Key: []byte(key), Value: []byte(value),
		Condition: &pb.PutOp_IfVersion{IfVersion: raw(v)}}}}
}

func raw(v kv.Version) []byte {
	b, err := v.Marshal()
	if err != nil {
		panic(err)
	}
	return b
}

func add(key string, delta int64, back bool) pb.Op {
	return pb.Op{Op: &pb.Op_Add{Add: &pb.AddOp{Key: []byte(key), Delta: delta, ReturnValue: back}}}
}

func requires(key string) *pb.RequireOp { return &pb.RequireOp{Key: []byte(key)} }

func requireOp(r *pb.RequireOp) pb.Op { return pb.Op{Op: &pb.Op_Require{Require: r}} }
