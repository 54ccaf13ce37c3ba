package grpc

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/transport/replicamsg"
)

// peer is a node that this one sends to, by one line for each kind of message.
type peer struct {
	t  *Transport
	id kv.NodeID
	// lastBeat is the time of the last Beat on any line by t.now; 0 means never.
	lastBeat atomic.Int64

	envelopes *envelopes
	// replicas has a line from the first message on.
	replicas     *replicas
	startReplica sync.Once

	mu    sync.Mutex
	addr  string
	lines []*line
}

func newPeer(t *Transport, id kv.NodeID, addr string) *peer {
	p := &peer{t: t, id: id, addr: addr}
	p.envelopes = newEnvelopes(p)
	p.replicas = newReplicas(p)
	return p
}

// start runs a new line until the transport is closed.
func (p *peer) start(f feed) {
	l := newLine(p, f)
	p.mu.Lock()
	p.lines = append(p.lines, l)
	p.mu.Unlock()
	p.t.run(l.run)
}

// sendReplica queues messages of replicas.
func (p *peer) sendReplica(msgs []consensus.Message) {
	p.replicas.push(replicamsg.EncodeAll(msgs))
	p.startReplica.Do(func() { p.start(p.replicas) })
}

func (p *peer) up() bool {
	at := p.lastBeat.Load()
	return at > 0 && p.t.now()-at < int64(p.t.opts.UpWindow)
}

// onPeerCall makes the next session of each line start at once if there is none. A restarted node is thus reachable
// as soon as it calls, without the rest of a backoff.
func (p *peer) onPeerCall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines {
		select {
		case l.peerCalled <- struct{}{}:
		default:
		}
	}
}

func (p *peer) setAddress(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.addr == addr {
		return
	}
	p.addr = addr
	for _, l := range p.lines {
		if l.interrupt != nil {
			l.interrupt(errAddressChanged)
		}
	}
}

func (p *peer) address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr
}

// stats returns the statistics of a feed and of its line, if there is one.
func (p *peer) stats(f feed) StreamStats {
	s := f.stats()
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.lines, func(l *line) bool { return l.feed == f }); i >= 0 {
		s.Connects, s.LastError = p.lines[i].connects.Load(), p.lines[i].lastError
	}
	return s
}

// watchBeats cancels an operation with errStalled when no Beat of the peer has arrived for StallAfter, until ctx ends.
func (p *peer) watchBeats(ctx context.Context, cancel context.CancelCauseFunc) {
	began := p.t.now()
	ticker := time.NewTicker(p.t.opts.UpWindow)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if p.t.now()-max(began, p.lastBeat.Load()) >= int64(p.t.opts.StallAfter) {
				cancel(errStalled)
				return
			}
		}
	}
}
