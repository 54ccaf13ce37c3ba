package server

import (
	"sync"
	"sync/atomic"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// adminService implements pb.AdminServer.
type adminService struct {
	*service
	userService
	operatorService
}

// service implements pb.KVServer, and the methods of pb.AdminServer that need the backend.
type service struct {
	pb.UnimplementedKVServer
	pb.UnimplementedAdminServer
	// behind is the backend, set once the node has formed its cluster.
	behind atomic.Pointer[Backend]
	opts   Options
	// draining is closed when new transactions are rejected; ending when streams end as soon as their calls in
	// flight have been answered; cutting when they end although a transaction is open.
	draining, ending, cutting   chan struct{}
	drainOnce, endOnce, cutOnce sync.Once
	// masking hides the ids of transactions.
	masking idMask
	opened  opened
	// unread counts scans that ended because their clients did not read.
	unread atomic.Uint64
	// readers counts the goroutines that receive on streams.
	readers sync.WaitGroup
}

func (s *service) setBackend(b Backend) { s.behind.Store(&b) }

func (s *service) backend() Backend { return *s.behind.Load() }

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
