package link

import (
	"runtime"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// The bounds of a message: so many requests, and so many bytes unless one request alone has more. More
// than 256 made no difference.
const (
	maxBatch      = 256
	maxBatchBytes = 1 << 20
)

// start starts the sender and the reader. end is called when the pipeline is to end, by both.
func (p *pipeline) start(end func()) {
	go func() {
		p.sendAll()
		end()
	}()
	go func() {
		p.receiveAll()
		end()
	}()
}

// sendAll is the sender. It returns when the pipeline has ended, or the transport does not accept a
// message.
func (p *pipeline) sendAll() {
	var batch []*Request
	for {
		select {
		case <-p.wake:
		case <-p.done:
			return
		}
		// The first of several callers wakes the sender. Yielding lets the others that can run
		// add their requests first, which makes messages several times larger: it more than doubled
		// the throughput of 128 callers. It costs a single caller nothing, which sleeps by now.
		runtime.Gosched()
		for batch = p.take(batch[:0]); len(batch) > 0; batch = p.take(batch[:0]) {
			err := p.stream.SendMsg(frames{batch})
			clear(batch)
			if !p.handedOver(err == nil) {
				return
			}
		}
	}
}

// handedOver notes whether the transport has accepted the requests that were taken last. If it has not,
// or the session has ended meanwhile, it ends them and reports false.
func (p *pipeline) handedOver(accepted bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if accepted && !p.ended {
		p.handed = p.number
		return true
	}
	lost := errNotSent
	if accepted {
		lost = errNoAnswer
	}
	for n, r := range p.sent {
		if n <= p.handed {
			continue // the end of the session ends it
		}
		if r != nil {
			r.finish(lost)
			p.pending.Done()
		}
		delete(p.sent, n)
	}
	return false
}

// take moves requests from the list to those sent.
func (p *pipeline) take(batch []*Request) []*Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	bytes, n := 0, 0
	for _, r := range p.list {
		if len(batch) > 0 && (len(batch) == maxBatch || bytes+len(r.frame) > maxBatchBytes) {
			break
		}
		n++
		if r.state == requestLeft {
			continue
		}
		p.number++
		r.number = p.number
		r.setNumber(p.number)
		r.state = requestSent
		p.sent[p.number] = r
		p.pending.Add(1)
		bytes += len(r.frame)
		batch = append(batch, r)
	}
	rest := copy(p.list, p.list[n:])
	clear(p.list[rest:])
	p.list = p.list[:rest]
	return batch
}

// receiveAll is the reader. It returns when the stream ends, or the pipeline has retired and there are no
// more responses to come.
func (p *pipeline) receiveAll() {
	var in pb.PipelineResponse
	for {
		clear(in.Responses)
		in.Responses, in.Welcome, in.Draining = in.Responses[:0], nil, false
		err := p.stream.RecvMsg(&in)
		if err != nil {
			return
		}
		if in.Draining {
			p.retire()
		}
		if p.deliver(in.Responses) {
			return
		}
	}
}

// deliver passes responses to their callers. It reports whether the session has retired, and there
// are no more.
func (p *pipeline) deliver(responses []pb.CallResponse) (over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range responses {
		r, ok := p.sent[responses[i].Handle]
		if !ok {
			continue // a second response; the first counts
		}
		delete(p.sent, responses[i].Handle)
		<-p.slots
		if r != nil {
			r.response = responses[i]
			r.finish(nil)
			p.pending.Done()
		}
	}
	return p.retires && len(p.sent) == 0
}
