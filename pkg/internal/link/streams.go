package link

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

// streamPool keeps the idle streams of a session. Opening one costs about a round trip.
type streamPool struct {
	mu     sync.Mutex
	idle   []*txStream
	closed bool
}

// maxIdleStreams bounds the idle streams, somewhat arbitrarily. A stream takes some kilobytes here, and
// 224 KiB of the memory that a user may have at the node.
const maxIdleStreams = 64

// get returns an idle stream, nil if there is none: the one that was returned last, which is the
// likeliest to be alive and in the caches of the processor.
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
