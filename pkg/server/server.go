package server

import (
	"context"
	"errors"
	"hash/maphash"
	"net"
	"sync"
	"sync/atomic"

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
	// draining is closed when nothing new is admitted any more, and clients are
	// told so; ending when streams end as soon as what is under way on them has
	// been answered; cutting when they end although a transaction is open.
	draining, ending, cutting   chan struct{}
	drainOnce, endOnce, cutOnce sync.Once
	// masking makes ids of ids (mask).
	masking maphash.Seed
	opened  opened
	// unread counts scans that ended because their clients did not read.
	unread atomic.Uint64
	// readers counts the goroutines that receive on streams.
	readers sync.WaitGroup
}

// services are the names that health answers for, besides all of it.
var services = []string{"", pb.KV_ServiceDesc.ServiceName, pb.Admin_ServiceDesc.ServiceName}

// New makes a server in front of a backend.
func New(b Backend, opts Options) (*Server, error) {
	if b == nil {
		return nil, errors.New("server: Backend is missing")
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	svc := &service{backend: b, opts: opts.withDefaults(), draining: make(chan struct{}), ending: make(chan struct{}),
		cutting: make(chan struct{}),
		masking: maphash.MakeSeed()}
	s := &Server{service: svc, grpc: grpc.NewServer(svc.opts.grpcOptions(svc)...), health: health.NewServer()}
	to := registrar{s.grpc, svc}
	to.RegisterService(&pb.KV_ServiceDesc, svc)
	to.RegisterService(&pb.Admin_ServiceDesc, svc)
	grpc_health_v1.RegisterHealthServer(to, s.health)
	if opts.Register != nil {
		opts.Register(to)
	}
	if err := reflect.Register(s.grpc, pb.File); err != nil {
		return nil, err
	}
	s.SetReady(!opts.NotReady)
	return s, nil
}

// UnreadScans counts the scans that ended because their clients did not read.
func (s *Server) UnreadScans() uint64 { return s.service.unread.Load() }

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
	s.Drain()
	s.service.end()
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
	s.Drain()
	s.CutOff()
	s.service.end()
	s.grpc.Stop()
	s.service.readers.Wait()
}

// Drain has health checks told that the node does not serve, and every new
// transaction refused; clients are told to take theirs elsewhere. What is under way
// goes on, and calls that begin nothing are answered. There is no way back but a new
// server.
func (s *Server) Drain() {
	s.health.Shutdown()
	s.service.drainOnce.Do(func() { close(s.service.draining) })
}

// CutOff rolls back the interactive transactions that are open.
func (s *Server) CutOff() { s.service.cutOnce.Do(func() { close(s.service.cutting) }) }

func (s *service) end() { s.endOnce.Do(func() { close(s.ending) }) }

// isDraining reports whether Drain was called.
func (s *service) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}
