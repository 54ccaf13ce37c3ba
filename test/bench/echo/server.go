package echo

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// The raw method's name on the wire.
const (
	rawService = "linchpin.bench.Raw"
	rawMethod  = "/" + rawService + "/Stream"
)

// NewServer makes a server of all three ways. Raw answers have so many bytes.
func NewServer(rawBytes int) *grpc.Server {
	s := grpc.NewServer(codec.ServerOption())
	pb.RegisterKVServer(s, kvServer{})
	h := &rawServer{answer: uint32(rawBytes), payload: make([]byte, rawBytes)}
	s.RegisterService(&grpc.ServiceDesc{ServiceName: rawService, HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Stream", Handler: h.stream, ServerStreams: true, ClientStreams: true}}}, h)
	return s
}

type kvServer struct{ pb.UnimplementedKVServer }

// Execute is the unary echo.
func (kvServer) Execute(_ context.Context, in *pb.ExecuteRequest) (*pb.ExecuteResponse, error) {
	out := response(in.TxnId)
	return &out, nil
}

// Pipeline is the batched stream.
func (kvServer) Pipeline(stream grpc.BidiStreamingServer[pb.PipelineRequest, pb.PipelineResponse]) error {
	var in pb.PipelineRequest
	var out pb.PipelineResponse
	for {
		in.Calls, out.Responses = in.Calls[:0], out.Responses[:0]
		if err := stream.RecvMsg(&in); err != nil {
			return ended(err)
		}
		for i := range in.Calls {
			c := &in.Calls[i]
			out.Responses = append(out.Responses, pb.CallResponse{Handle: c.Handle, Response: response(c.Request.TxnId)})
		}
		if err := stream.SendMsg(&out); err != nil {
			return err
		}
	}
}

type rawServer struct {
	answer  uint32
	payload []byte
}

func (h *rawServer) stream(_ any, s grpc.ServerStream) error {
	var in batch
	out := batch{payload: h.payload}
	for {
		in.frames, out.frames = in.frames[:0], out.frames[:0]
		if err := s.RecvMsg(&in); err != nil {
			return ended(err)
		}
		for _, f := range in.frames {
			out.frames = append(out.frames, frame{caller: f.caller, size: h.answer})
		}
		if err := s.SendMsg(&out); err != nil {
			return err
		}
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
