package server_test

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/mem"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// counter counts what reaches the store.
type counter struct {
	*servertest.Store
	submitted atomic.Int64
	last      atomic.Pointer[time.Time]
}

func (c *counter) Submit(r gateway.Request, done func(gateway.Response)) {
	c.submitted.Add(1)
	c.last.Store(&r.Deadline)
	c.Store.Submit(r, done)
}

func (c *counter) deadline() time.Time { return *c.last.Load() }

// pending keeps all requests unanswered until they are released.
type pending struct {
	*servertest.Store
	mu    sync.Mutex
	queue []func()
}

func (p *pending) Submit(r gateway.Request, done func(gateway.Response)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, func() { p.Store.Submit(r, done) })
}

func (p *pending) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// release answers everything that waits, the newest first.
func (p *pending) release() {
	p.mu.Lock()
	q := p.queue
	p.queue = nil
	p.mu.Unlock()
	for i := len(q) - 1; i >= 0; i-- {
		q[i]()
	}
}

// large answers every get with a value of that many bytes.
type large struct {
	*servertest.Store
	bytes int
}

func (l large) Submit(r gateway.Request, done func(gateway.Response)) {
	resp := gateway.Response{ID: r.ID, Attempts: 1}
	for range r.Ops {
		resp.Results = append(resp.Results, msg.Result{Found: true, Value: make([]byte, l.bytes)})
	}
	done(resp)
}

// panicking fails in every way a method can.
type panicking struct{ *servertest.Store }

func (panicking) Submit(gateway.Request, func(gateway.Response)) { panic("submit") }

// submitted counts requests to any backend.
type submitted struct {
	server.Backend
	count atomic.Int64
}

func (s *submitted) Submit(r gateway.Request, done func(gateway.Response)) {
	s.count.Add(1)
	s.Backend.Submit(r, done)
}

// quiet is a log for tests that provoke panics.
var quiet = slog.New(slog.DiscardHandler)

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
