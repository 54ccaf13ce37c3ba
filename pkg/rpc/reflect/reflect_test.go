package reflect_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	reflectv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/rpc/reflect"
)

// echo answers every operation with its key as the value.
type echo struct{ pb.UnimplementedKVServer }

func (echo) Execute(_ context.Context, r *pb.ExecuteRequest) (*pb.ExecuteResponse, error) {
	resp := &pb.ExecuteResponse{TxnId: r.TxnId, Attempts: 1}
	for _, op := range r.Ops {
		resp.Results = append(resp.Results, pb.Result{Found: true, Value: op.Op.(*pb.Op_Get).Get.Key})
	}
	return resp, nil
}

func serve(t *testing.T) *grpc.ClientConn {
	t.Helper()
	s := grpc.NewServer(codec.ServerOption())
	pb.RegisterKVServer(s, echo{})
	require.NoError(t, reflect.Register(s, pb.File))
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(lis) }()
	// No forced codec: the client knows nothing of gogo, like grpcurl.
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		s.Stop()
		require.NoError(t, <-done)
	})
	return conn
}

func ask(t *testing.T, conn *grpc.ClientConn,
	req *reflectv1.ServerReflectionRequest) *reflectv1.ServerReflectionResponse {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := reflectv1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(req))
	resp, err := stream.Recv()
	require.NoError(t, err)
	require.Nil(t, resp.GetErrorResponse())
	return resp
}

func TestServicesAreListed(t *testing.T) {
	resp := ask(t, serve(t), &reflectv1.ServerReflectionRequest{
		MessageRequest: &reflectv1.ServerReflectionRequest_ListServices{}})
	var names []string
	for _, s := range resp.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	require.Contains(t, names, "linchpin.v1.KV")
	require.Contains(t, names, "grpc.reflection.v1.ServerReflection")
}

func TestAToolCanDescribeAndCallByNameAlone(t *testing.T) {
	conn := serve(t)
	resp := ask(t, conn, &reflectv1.ServerReflectionRequest{
		MessageRequest: &reflectv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "linchpin.v1.KV"}})
	var set descriptorpb.FileDescriptorSet
	for _, raw := range resp.GetFileDescriptorResponse().GetFileDescriptorProto() {
		fdp := new(descriptorpb.FileDescriptorProto)
		require.NoError(t, proto.Unmarshal(raw, fdp))
		set.File = append(set.File, fdp)
	}
	files, err := protodesc.NewFiles(&set) // complete in itself, or this fails
	require.NoError(t, err)
	d, err := files.FindDescriptorByName("linchpin.v1.KV")
	require.NoError(t, err)
	method := d.(protoreflect.ServiceDescriptor).Methods().ByName("Execute")
	require.NotNil(t, method)

	in, out := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	request := `{"ops":[{"get":{"key":"aGVsbG8="}}],"txnId":"AAAAAAAAAAcAAAAAAAAACQ=="}`
	require.NoError(t, protojson.Unmarshal([]byte(request), in))
	require.NoError(t, conn.Invoke(t.Context(), "/linchpin.v1.KV/Execute", in, out))
	raw, err := proto.Marshal(out)
	require.NoError(t, err)
	var got pb.ExecuteResponse
	require.NoError(t, got.Unmarshal(raw))
	require.Equal(t, pb.ExecuteResponse{TxnId: kv.TxnID{Time: 7, Rand: 9}, Attempts: 1,
		Results: []pb.Result{{Found: true, Value: []byte("hello")}}}, got)
}

func TestOtherFilesAreFoundInTheProcessWideRegistry(t *testing.T) {
	ask(t, serve(t), &reflectv1.ServerReflectionRequest{
		MessageRequest: &reflectv1.ServerReflectionRequest_FileContainingSymbol{
			FileContainingSymbol: "grpc.reflection.v1.ServerReflection"}})
	r, err := reflect.Resolver(pb.File)
	require.NoError(t, err)
	_, err = r.FindFileByPath("grpc/reflection/v1/reflection.proto")
	require.NoError(t, err)
	_, err = r.FindDescriptorByName("linchpin.v1.Nothing")
	require.Error(t, err)
}

func TestAnUnknownFileIsAnError(t *testing.T) {
	_, err := reflect.Resolver("no/such.proto")
	require.ErrorContains(t, err, "no/such.proto")
}
