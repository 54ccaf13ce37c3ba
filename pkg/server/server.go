package server

import (
	"context"
	"errors"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/rpc/reflect"
)

// Server is a node's gRPC server. Its methods may be called by any goroutine.
type Server struct {
	service *service
	grpc    *grpc.Server
	health  *health.Server
}

// service implements both services.
type service struct {
	pb.UnimplementedKVServer
	pb.UnimplementedAdminServer
	backend Backend
	opts    Options
	// draining is closed when the server begins to stop: streams end when
	// what is under way on them has been answered.
	draining  chan struct{}
	drainOnce sync.Once
	// readers counts the goroutines that receive on streams.
	readers sync.WaitGroup
}

// services are the names that health answers for, besides all of it.
var services = []string{"", pb.KV_ServiceDesc.ServiceName, pb.Admin_ServiceDesc.ServiceName}

// New makes a server in front of a backend.
func New(b Backend, opts Options) (*Server, error) {
	if b == nil {
		return nil, errors.New("server: there is no backend")
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	svc := &service{backend: b, opts: opts.withDefaults(), draining: make(chan struct{})}
	s := &Server{service: svc, grpc: grpc.NewServer(svc.opts.grpcOptions(svc)...), health: health.NewServer()}
	s.grpc.RegisterService(readable(pb.KV_ServiceDesc), svc)
	s.grpc.RegisterService(readable(pb.Admin_ServiceDesc), svc)
	grpc_health_v1.RegisterHealthServer(s.grpc, s.health)
	if opts.Register != nil {
		opts.Register(s.grpc)
	}
	if err := reflect.Register(s.grpc, pb.File); err != nil {
		return nil, err
	}
	s.SetReady(!opts.NotReady)
	return s, nil
}

// SetReady tells health checks whether the node serves. It refuses nothing by
// itself.
func (s *Server) SetReady(ready bool) {
	status := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if ready {
		status = grpc_health_v1.HealthCheckResponse_SERVING
	}
	for _, name := range services {
		s.health.SetServingStatus(name, status)
	}
}

// Serve accepts connections until the server is stopped, which is no error.
// It closes lis.
func (s *Server) Serve(lis net.Listener) error {
	err := s.grpc.Serve(lis)
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// GracefulStop refuses new calls, lets those under way end, and returns when
// they have. When ctx ends first, the rest is cut off as by Stop and the
// context's error returned.
func (s *Server) GracefulStop(ctx context.Context) error {
	s.health.Shutdown()
	s.service.drain()
	done := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.Stop()
		<-done
		return ctx.Err()
	}
	s.service.readers.Wait()
	return nil
}

// Stop ends everything at once. Open interactive transactions are rolled
// back. It returns when no goroutine of the server is left.
func (s *Server) Stop() {
	s.health.Shutdown()
	s.service.drain()
	s.grpc.Stop()
	s.service.readers.Wait()
}

func (s *service) drain() { s.drainOnce.Do(func() { close(s.draining) }) }

// isDraining reports whether drain was called.
func (s *service) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}
