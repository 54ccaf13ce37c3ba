package link

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

type pipelineStream = grpc.BidiStreamingClient[pb.PipelineRequest, pb.PipelineResponse]

// pipeline carries one-shot transactions: many callers share one stream, and the messages on it. It ends
// once, at the first failure of the stream.
//
// Invariants, under mu: a request is in list if and only if it is listed (or its caller has left), in
// sent if and only if it is sent; a pipeline that has ended has both empty.
type pipeline struct {
	stream pipelineStream
	// slots has an element per request in flight, and the capacity that the node and the options allow.
	slots chan struct{}
	// wake has an element if there may be something on the list.
	wake chan struct{}
	// done is closed when the pipeline has ended, retired when its node drains or the Link is closed:
	// then it takes no new requests, and ends when those that were sent have their responses. closing
	// is closed when the Link is.
	done, retired chan struct{}
	closing       <-chan struct{}
	// over is ended or retires, to be read without mu.
	over atomic.Bool
	// pending counts the requests that are sent and whose callers wait for a response. Nothing is
	// added once the pipeline retires.
	pending sync.WaitGroup

	mu      sync.Mutex
	ended   bool
	retires bool
	// number is that of the last request taken from the list, handed that of the last one
	// that the transport has accepted.
	number, handed uint64
	list           []*Request
	// sent is by number; nil is a request whose caller has left.
	sent map[uint64]*Request
}

func newPipeline(stream pipelineStream, slots int, closing <-chan struct{}) *pipeline {
	return &pipeline{stream: stream, slots: make(chan struct{}, slots), wake: make(chan struct{}, 1),
		done: make(chan struct{}), retired: make(chan struct{}), closing: closing, sent: make(map[uint64]*Request)}
}

// run sends a request and waits for its response, or until ctx ends or the Link is closed, and then for
// the response for as long as grace. If it returns nil there is a response. Else nothing was applied,
// except after errNoAnswer and errLeftSent, when that is not known. After errLeftListed and
// errLeftSent the pipeline may still refer to the request.
func (p *pipeline) run(ctx context.Context, grace time.Duration, r *Request) error {
	err := p.slot(ctx)
	if err != nil {
		return err
	}
	r.setTimeout(margin(ctx))
	if !p.enlist(r) {
		return errNotSent
	}
	select {
	case <-r.done:
		return r.lost
	case <-ctx.Done():
	case <-p.closing:
	}
	return p.leave(r, grace)
}

// slot waits until there may be one more request in flight.
func (p *pipeline) slot(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-p.done:
		return errNotSent
	case <-p.retired:
		return errNotSent
	case <-ctx.Done():
		return errNotListed
	case <-p.closing:
		return errNotListed
	}
}

func (p *pipeline) enlist(r *Request) bool {
	p.mu.Lock()
	if p.ended || p.retires {
		p.mu.Unlock()
		return false
	}
	r.state = requestListed
	p.list = append(p.list, r)
	first := len(p.list) == 1
	p.mu.Unlock()
	if first {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
	return true
}

// leave ends the wait of a caller: at once if the request is not sent, and else when there is a
// response, after grace at the latest.
func (p *pipeline) leave(r *Request, grace time.Duration) error {
	if p.unlist(r) {
		return errLeftListed
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-r.done:
		return r.lost
	case <-timer.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.state != requestSent {
		<-r.done // the end came at the same moment
		return r.lost
	}
	// The node still counts the request, so its slot stays taken.
	r.state = requestLeft
	p.sent[r.number] = nil
	p.pending.Done()
	return errLeftSent
}

// unlist removes a request that is not sent.
func (p *pipeline) unlist(r *Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.state != requestListed {
		return false
	}
	r.state = requestLeft
	<-p.slots
	return true
}

// end ends the pipeline, with all of its requests. It reports whether it was the first to do so.
func (p *pipeline) end() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.ended = true
	p.over.Store(true)
	p.endListed()
	for n, r := range p.sent {
		if n > p.handed {
			continue // the sender ends it, which alone knows whether it was handed over
		}
		if r != nil {
			r.finish(errNoAnswer)
			p.pending.Done()
		}
		delete(p.sent, n)
	}
	close(p.done)
	return true
}

// retire ends the requests that are not sent, which go to another node, since this one drains. Those
// that are sent get their responses.
func (p *pipeline) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.retires {
		return
	}
	p.retires = true
	p.over.Store(true)
	p.endListed()
	close(p.retired)
}

// endListed ends the requests that are not sent; mu is held.
func (p *pipeline) endListed() {
	for _, r := range p.list {
		if r.state == requestListed {
			r.finish(errNotSent)
		}
	}
	p.list = nil
}

// finish ends the request; the pipeline's mutex is held.
func (r *Request) finish(lost error) {
	r.state, r.lost = requestDone, lost
	r.done <- struct{}{}
}
