package grpc

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// peer is the outgoing side to one node. Its goroutine is in one session after
// the other.
type peer struct {
	t   *Transport
	id  kv.NodeID
	box *outbox.Outbox
	// heard is when the last Beat came, by t.now; 0 is never.
	heard atomic.Int64
	// called has an element when the peer has called this node: it can be called, too.
	called chan struct{}

	sent, sentBatches, received, receivedBatches atomic.Uint64
	oversized, connects                          atomic.Uint64

	mu   sync.Mutex
	addr string
	// interrupt ends the session that is under way.
	interrupt context.CancelCauseFunc
	lastError string
	// failing is since when there has been no connection, by t.now, 0 if there is one; warned: the log
	// has a warning of it.
	failing int64
	warned  bool
}

func newPeer(t *Transport, id kv.NodeID, addr string) *peer {
	return &peer{t: t, id: id, addr: addr, box: outbox.New(t.opts.Outbox), called: make(chan struct{}, 1)}
}

// send puts envelopes into the outbox, but for those that no peer would take:
// on the stream, they would end it again and again.
func (p *peer) send(envs []*msg.Envelope) {
	start := 0
	for i, e := range envs {
		if e.Size() > MaxMessageBytes {
			p.box.Push(envs[start:i], 0)
			start = i + 1
			p.oversized.Add(1)
			p.t.opts.Log.Error("message too large to send", "peer", p.id, "message", e.Name(),
				"bytes", e.Size(), "limit", MaxMessageBytes)
		}
	}
	p.box.Push(envs[start:], 0)
}

func (p *peer) up() bool {
	at := p.heard.Load()
	return at > 0 && p.t.now()-at < int64(p.t.opts.UpWindow)
}

// hasCalled has the next session begin at once if none is under way: a node that has
// been started again is back with its first call, and not a pause later.
func (p *peer) hasCalled() {
	select {
	case p.called <- struct{}{}:
	default:
	}
}

func (p *peer) setAddress(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.addr != addr {
		p.addr = addr
		if p.interrupt != nil {
			p.interrupt(errMoved)
		}
	}
}

// begin gives the address for a session that interrupt ends.
func (p *peer) begin(interrupt context.CancelCauseFunc) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.interrupt = interrupt
	return p.addr
}

// run keeps a stream to the peer until ctx ends.
func (p *peer) run(ctx context.Context) {
	wait := p.t.opts.RetryMin
	for {
		before := p.connects.Load()
		addr, err := p.session(ctx)
		if ctx.Err() != nil {
			return
		}
		p.report(addr, err)
		if p.connects.Load() != before || errors.Is(err, errMoved) {
			wait = p.t.opts.RetryMin
		}
		select {
		case <-ctx.Done():
			return
		case <-p.called:
			wait = p.t.opts.RetryMin
			continue
		case <-time.After(wait):
		}
		wait = min(2*wait, p.t.opts.RetryMax)
	}
}

// warnAfter is for how long a peer cannot be reached before that is a warning: nodes that start or stop
// together miss each other for some moments.
const warnAfter = 3 * time.Second

// report keeps why a session ended, and logs it unless the log has it.
func (p *peer) report(addr string, err error) {
	text := peerpb.Reason(err)
	p.mu.Lock()
	if p.failing == 0 {
		p.failing = max(p.t.now(), 1)
	}
	level, what := slog.LevelInfo, "peer connection closed"
	switch {
	case errors.Is(err, errMoved):
		what = "peer address changed"
	case status.Code(err) == codes.FailedPrecondition:
		level, what = slog.LevelError, "peer rejects this node"
	case p.t.now()-p.failing >= int64(warnAfter):
		level, what = slog.LevelWarn, "peer connection failed"
	}
	news := p.lastError != text || level == slog.LevelWarn && !p.warned
	p.lastError, p.warned = text, p.warned || level == slog.LevelWarn
	p.mu.Unlock()
	if news {
		p.t.opts.Log.Log(context.Background(), level, what, "peer", p.id, "address", addr, "error", text)
	}
}
