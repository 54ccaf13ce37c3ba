package server

import (
	"context"
	"errors"
	"hash/maphash"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/rpc/reflect"
)

// Server is a node's gRPC server. Its methods may be called by any goroutine.
type Server struct {
	service *service
	admin   adminService
	grpc    *grpc.Server
	health  *health.Server
}

// services are the names that health answers for, besides all of it.
var services = []string{"", pb.KV_ServiceDesc.ServiceName, pb.Admin_ServiceDesc.ServiceName}

// New makes a server in front of a backend. If b is nil, health checks report NOT_SERVING, and calls that
// need a backend fail with NotReady, until SetBackend.
func New(b Backend, opts Options) (*Server, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	svc := &service{opts: opts.withDefaults(), draining: make(chan struct{}), ending: make(chan struct{}),
		cutting: make(chan struct{}), masking: idMask{maphash.MakeSeed()}}
	s := &Server{service: svc, admin: adminService{svc, userService{&svc.opts}, operatorService{opts.Operator}},
		grpc: grpc.NewServer(svc.opts.grpcOptions(svc)...), health: health.NewServer()}
	to := registrar{s.grpc, svc}
	to.RegisterService(&pb.KV_ServiceDesc, svc)
	to.RegisterService(&pb.Admin_ServiceDesc, s.admin)
	grpc_health_v1.RegisterHealthServer(to, s.health)
	if opts.Register != nil {
		opts.Register(to)
	}
	if err := reflect.Register(s.grpc, pb.File); err != nil {
		return nil, err
	}
	if b == nil {
		s.SetReady(false)
		s.service.setBackend(unformed{})
		return s, nil
	}
	s.SetBackend(b)
	return s, nil
}

// SetBackend serves all calls with b, and has health checks report SERVING.
func (s *Server) SetBackend(b Backend) {
	s.service.setBackend(b)
	s.SetReady(true)
}

// Backend returns the backend: while there is none, one that knows nothing and may be asked only what
// its node may be asked before it has formed its cluster.
func (s *Server) Backend() Backend { return s.service.backend() }

// UnreadScans counts the scans that ended because their clients did not read.
func (s *Server) UnreadScans() uint64 { return s.service.unread.Load() }

// SetReady sets whether health checks report SERVING. It rejects nothing by itself.
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

// GracefulStop rejects new calls, waits for those in flight, and returns when
// they have ended. When ctx ends first, the rest is cut off as by Stop and the
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

// Drain makes health checks report NOT_SERVING, and rejects every new transaction with a hint to use another
// node. Transactions in flight go on, and calls that begin none are answered. A drain cannot be undone.
func (s *Server) Drain() {
	s.health.Shutdown()
	s.service.drainOnce.Do(func() { close(s.service.draining) })
}

// CutOff rolls back the interactive transactions that are open.
func (s *Server) CutOff() { s.service.cutOnce.Do(func() { close(s.service.cutting) }) }
