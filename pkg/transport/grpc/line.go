package grpc

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// line keeps a stream of one kind to a peer open. Its goroutine runs one session after the other.
type line struct {
	p    *peer
	feed feed
	// peerCalled has an element when the peer has opened a stream to this node, so that it can be called too.
	peerCalled chan struct{}
	connects   atomic.Uint64

	// The following are guarded by p.mu.

	// interrupt ends the current session.
	interrupt context.CancelCauseFunc
	lastError string
	// failingSince is when the connection was lost, by t.now, 0 if there is one. warned: the log has a warning
	// about it.
	failingSince int64
	warned       bool
}

func newLine(p *peer, f feed) *line { return &line{p: p, feed: f, peerCalled: make(chan struct{}, 1)} }

// beginSession returns the address for a session that interrupt ends.
func (l *line) beginSession(interrupt context.CancelCauseFunc) string {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.interrupt = interrupt
	return l.p.addr
}

// run maintains a stream to the peer until ctx ends.
func (l *line) run(ctx context.Context) {
	opts := &l.p.t.opts
	backoff := opts.RetryMin
	for {
		before := l.connects.Load()
		addr, err := l.session(ctx)
		if ctx.Err() != nil {
			return
		}
		l.recordFailure(addr, err)
		if l.connects.Load() != before || errors.Is(err, errAddressChanged) {
			backoff = opts.RetryMin
		}
		select {
		case <-ctx.Done():
			return
		case <-l.peerCalled:
			backoff = opts.RetryMin
			continue
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, opts.RetryMax)
	}
}

// warnAfter is how long a peer must be unreachable before that is a warning: nodes that start or stop
// together are unreachable for a moment.
const warnAfter = 3 * time.Second

// recordFailure stores why a session ended, and logs it unless the log already has it.
func (l *line) recordFailure(addr string, err error) {
	text, now := peerpb.Reason(err), l.p.t.now()
	l.p.mu.Lock()
	if l.failingSince == 0 {
		l.failingSince = max(now, 1)
	}
	level, what := slog.LevelInfo, "peer connection closed"
	switch {
	case errors.Is(err, errAddressChanged):
		what = "peer address changed"
	case status.Code(err) == codes.FailedPrecondition:
		level, what = slog.LevelError, "peer rejects this node"
	case now-l.failingSince >= int64(warnAfter):
		level, what = slog.LevelWarn, "peer connection failed"
	}
	changed := l.lastError != text || level == slog.LevelWarn && !l.warned
	l.lastError, l.warned = text, l.warned || level == slog.LevelWarn
	l.p.mu.Unlock()
	if changed {
		l.log(level, what, "address", addr, "error", text)
	}
}

func (l *line) onConnected() {
	l.connects.Add(1)
	l.p.mu.Lock()
	l.lastError, l.failingSince, l.warned = "", 0, false
	l.p.mu.Unlock()
	l.log(slog.LevelInfo, "peer connected")
	l.feed.onConnected()
	if on := l.p.t.opts.OnConnect; on != nil {
		on(l.p.id)
	}
}

// log logs an event of the line.
func (l *line) log(level slog.Level, what string, attrs ...any) {
	attrs = append([]any{"peer", l.p.id}, attrs...)
	if kind := l.feed.kind(); kind != "" {
		attrs = append(attrs, "stream", kind)
	}
	l.p.t.opts.Log.Log(context.Background(), level, what, attrs...)
}
