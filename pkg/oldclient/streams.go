package client

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// txStream carries interactive transactions, one after the other.
type txStream struct {
	stream grpc.BidiStreamingClient[pb.TransactRequest, pb.TransactResponse]
	cancel context.CancelFunc
}

// streamPool keeps the idle streams of a session. Making one costs about as
// much as a round trip.
type streamPool struct {
	mu     sync.Mutex
	idle   []*txStream
	closed bool
}

// maxIdleStreams bounds what is kept, somewhat arbitrarily; a stream costs some
// kilobytes here, and at the node 224 KiB of what a user may have it hold.
const maxIdleStreams = 64

// get gives an idle stream, nil if there is none. The last one that was put
// back is the likeliest to be alive and in the processor's caches.
func (p *streamPool) get() *txStream {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	st := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return st
}

func (p *streamPool) put(st *txStream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= maxIdleStreams {
		st.cancel()
		return
	}
	p.idle = append(p.idle, st)
}

func (p *streamPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, st := range p.idle {
		st.cancel()
	}
	p.idle = nil
}
