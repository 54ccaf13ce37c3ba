package server

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Operator does what operators ask of a node's process, whatever its data are. Its
// methods are called by any number of goroutines.
type Operator interface {
	// Drain stops the node cleanly within a timeout, 0 for the node's own, and reports its progress until the
	// process is about to end. If a drain is in flight, it only reports that one. It goes on when progress fails.
	Drain(ctx context.Context, timeout time.Duration, progress func(*pb.DrainProgress) error) error
	// LogLevels lists the level of each component; SetLogLevel sets one, or that of
	// all if component is empty.
	LogLevels() []pb.LogLevel
	SetLogLevel(component string, level string) error
	// Debug collects files about the node, and passes them on piece by piece. A file
	// that is unavailable has an error, and the others follow.
	Debug(ctx context.Context, o DebugOptions, part func(name string, data []byte, err error) error) error
}

// The phases of a drain (pb.DrainProgress), in their order.
const (
	// DrainRefusing: health checks fail; nothing is refused yet.
	DrainRefusing = "refusing"
	// DrainTransactions: the clients' transactions end.
	DrainTransactions = "transactions"
	// DrainShards: what other nodes have begun on the shards ends.
	DrainShards = "shards"
	// DrainStopping: nothing is in flight, or the time is up.
	DrainStopping = "stopping"
)

// DebugOptions say what to collect.
type DebugOptions struct {
	// RedactKeys replaces users' keys with hashes of them and Salt.
	RedactKeys bool
	Salt       []byte
	// Profile is for how long the processor is profiled; 0 is not at all.
	Profile time.Duration
}

// MaxProfile bounds DebugOptions.Profile.
const MaxProfile = 30 * time.Second

// operatorService implements the methods of pb.AdminServer that concern the process. operates is nil if
// another program controls it.
type operatorService struct{ operates Operator }

func (s operatorService) operator() (Operator, error) {
	if s.operates == nil {
		return nil, statusOf(&kv.Error{Kind: kv.KindInvalid, Op: -1,
			Text: "this node is embedded in another program, which controls it",
			Hint: "use that program to stop the node or to read its logs"}, kv.TxnID{})
	}
	return s.operates, nil
}

// Drain stops the node cleanly.
func (s operatorService) Drain(in *pb.DrainRequest, stream grpc.ServerStreamingServer[pb.DrainProgress]) error {
	o, err := s.operator()
	if err != nil {
		return err
	}
	timeout := time.Duration(in.TimeoutMs) * time.Millisecond
	if err := o.Drain(stream.Context(), timeout, stream.Send); err != nil {
		return statusOf(err, kv.TxnID{})
	}
	return nil
}

// LogLevels returns the components' log levels, and sets one first if the request has one.
func (s operatorService) LogLevels(_ context.Context, in *pb.LogLevelsRequest) (*pb.LogLevelsResponse, error) {
	o, err := s.operator()
	if err != nil {
		return nil, err
	}
	switch {
	case in.Level != "":
		if err := o.SetLogLevel(in.Component, in.Level); err != nil {
			return nil, statusOf(invalid(err.Error(), `"linchpin log level" lists the components`), kv.TxnID{})
		}
	case in.Component != "":
		return nil, statusOf(invalid("a component is set without a level", "set debug, info, warn or error"), kv.TxnID{})
	}
	return &pb.LogLevelsResponse{Levels: o.LogLevels()}, nil
}

// maxPiece bounds the data of one message.
const maxPiece = 256 << 10

// Debug collects what helps to find out what is wrong.
func (s operatorService) Debug(in *pb.DebugRequest, stream grpc.ServerStreamingServer[pb.DebugPart]) error {
	o, err := s.operator()
	if err != nil {
		return err
	}
	opt := DebugOptions{RedactKeys: in.RedactKeys, Salt: in.Salt, Profile: time.Duration(in.ProfileMs) * time.Millisecond}
	if opt.Profile > MaxProfile {
		return statusOf(invalid("the profile takes "+opt.Profile.String(), "the limit is 30 s"), kv.TxnID{})
	}
	err = o.Debug(stream.Context(), opt, func(name string, data []byte, failed error) error {
		for len(data) > maxPiece {
			if err := stream.Send(&pb.DebugPart{Name: name, Data: data[:maxPiece]}); err != nil {
				return err
			}
			data = data[maxPiece:]
		}
		part := &pb.DebugPart{Name: name, Data: data}
		if failed != nil {
			part.Error = failed.Error()
		}
		return stream.Send(part)
	})
	if err != nil {
		return statusOf(err, kv.TxnID{})
	}
	return nil
}
