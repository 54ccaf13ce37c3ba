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

// peer is the outgoing side to one node. Its goroutine runs one session after the other.
type peer struct {
	t   *Transport
	id  kv.NodeID
	box *outbox.Outbox
	// lastBeat is the time of the last Beat by t.now; 0 means never.
	lastBeat atomic.Int64
	// peerCalled has an element when the peer has opened a stream to this node, so that it can be called too.
	peerCalled chan struct{}

	sent, sentBatches, received, receivedBatches atomic.Uint64
	oversized, connects                          atomic.Uint64

	mu   sync.Mutex
	addr string
	// interrupt ends the current session.
	interrupt context.CancelCauseFunc
	lastError string
	// failingSince is when the connection was lost, by t.now, 0 if there is one. warned: the log has a warning
	// about it.
	failingSince int64
	warned       bool
}

func newPeer(t *Transport, id kv.NodeID, addr string) *peer {
	return &peer{t: t, id: id, addr: addr, box: outbox.New(t.opts.Outbox), peerCalled: make(chan struct{}, 1)}
}

// send queues envelopes, except those that exceed the peer's limit: each would end the stream, and be sent
// again on the next one.
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
	at := p.lastBeat.Load()
	return at > 0 && p.t.now()-at < int64(p.t.opts.UpWindow)
}

// onPeerCall makes the next session start at once if there is none. A restarted node is thus reachable as
// soon as it calls, without the rest of a backoff.
func (p *peer) onPeerCall() {
	select {
	case p.peerCalled <- struct{}{}:
	default:
	}
}

func (p *peer) setAddress(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.addr != addr {
		p.addr = addr
		if p.interrupt != nil {
			p.interrupt(errAddressChanged)
		}
	}
}

// beginSession returns the address for a session that interrupt ends.
func (p *peer) beginSession(interrupt context.CancelCauseFunc) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.interrupt = interrupt
	return p.addr
}

// run maintains a stream to the peer until ctx ends.
func (p *peer) run(ctx context.Context) {
	backoff := p.t.opts.RetryMin
	for {
		before := p.connects.Load()
		addr, err := p.session(ctx)
		if ctx.Err() != nil {
			return
		}
		p.recordFailure(addr, err)
		if p.connects.Load() != before || errors.Is(err, errAddressChanged) {
			backoff = p.t.opts.RetryMin
		}
		select {
		case <-ctx.Done():
			return
		case <-p.peerCalled:
			backoff = p.t.opts.RetryMin
			continue
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, p.t.opts.RetryMax)
	}
}

// warnAfter is how long a peer must be unreachable before that is a warning: nodes that start or stop
// together are unreachable for a moment.
const warnAfter = 3 * time.Second

// recordFailure stores why a session ended, and logs it unless the log already has it.
func (p *peer) recordFailure(addr string, err error) {
	text := peerpb.Reason(err)
	p.mu.Lock()
	if p.failingSince == 0 {
		p.failingSince = max(p.t.now(), 1)
	}
	level, what := slog.LevelInfo, "peer connection closed"
	switch {
	case errors.Is(err, errAddressChanged):
		what = "peer address changed"
	case status.Code(err) == codes.FailedPrecondition:
		level, what = slog.LevelError, "peer rejects this node"
	case p.t.now()-p.failingSince >= int64(warnAfter):
		level, what = slog.LevelWarn, "peer connection failed"
	}
	changed := p.lastError != text || level == slog.LevelWarn && !p.warned
	p.lastError, p.warned = text, p.warned || level == slog.LevelWarn
	p.mu.Unlock()
	if changed {
		p.t.opts.Log.Log(context.Background(), level, what, "peer", p.id, "address", addr, "error", text)
	}
}
