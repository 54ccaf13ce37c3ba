package link

import (
	"context"
	"runtime"
	"time"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// The bounds of a message: so many requests, and so many bytes unless one request alone has more. More
// than 256 made no difference.
const (
	maxBatch = 256
	maxBatchBytes = 1 << 20
)

// run sends a request and waits for its response, or until ctx ends or the Link is closed, and then for
// the response for as long as grace. If it returns nil there is a response. Else nothing was applied,
// except after errNoAnswer and errLeftSent, when that is not known. After errLeftListed and
// errLeftSent the session may still refer to the request.
func (s *Session) run(ctx context.Context, grace time.Duration, r *Request) error {
	err := s.slot(ctx)
	if err != nil {
		return err
	}
	r.setTimeout(margin(ctx))
	if !s.enlist(r) {
		return errNotSent
	}
	select {
	case <-r.done:
		return r.lost
	case <-ctx.Done():
	case <-s.closing:
	}
	return s.leave(r, grace)
}

// slot waits until there may be one more request in flight.
func (s *Session) slot(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-s.done:
		return errNotSent
	case <-s.retired:
		return errNotSent
	case <-ctx.Done():
		return errNotListed
	case <-s.closing:
		return errNotListed
	}
}

func (s *Session) enlist(r *Request) bool {
	s.mu.Lock()
	if s.ended || s.retires {
		s.mu.Unlock()
		return false
	}
	r.state = requestListed
	s.list = append(s.list, r)
	first := len(s.list) == 1
	s.mu.Unlock()
	if first {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return true
}

// leave ends the wait of a caller: at once if the request is not sent, and else when there is a
// response, after grace at the latest.
func (s *Session) leave(r *Request, grace time.Duration) error {
	if s.unlist(r) {
		return errLeftListed
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-r.done:
		return r.lost
	case <-timer.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.state != requestSent {
		<-r.done // the end came at the same moment
		return r.lost
	}
	// The node still counts the request, so its slot stays taken.
	r.state = requestLeft
	s.sent[r.number] = nil
	s.pending.Done()
	return errLeftSent
}

// unlist removes a request that is not sent.
func (s *Session) unlist(r *Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.state != requestListed {
		return false
	}
	r.state = requestLeft
	<-s.slots
	return true
}

// sendAll is the sender.
func (s *Session) sendAll() {
	var batch []*Request
	for {
		select {
		case <-s.wake:
		case <-s.done:
			return
		}
		// The first of several callers wakes the sender. Yielding lets the others that can run
		// add their requests first, which makes messages several times larger: it more than doubled
		// the throughput of 128 callers. It costs a single caller nothing, which sleeps by now.
		runtime.Gosched()
		for batch = s.take(batch[:0]); len(batch) > 0; batch = s.take(batch[:0]) {
			err := s.stream.SendMsg(frames{batch})
			clear(batch)
			if !s.handedOver(err == nil) {
				s.end()
				return
			}
		}
	}
}

// handedOver notes whether the transport has accepted the requests that were taken last. If it has not,
// or the session has ended meanwhile, it ends them and reports false.
func (s *Session) handedOver(accepted bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if accepted && !s.ended {
		s.handed = s.number
		return true
	}
	lost := errNotSent
	if accepted {
		lost = errNoAnswer
	}
	for n, r := range s.sent {
		if n <= s.handed {
			continue // the end of the session ends it
		}
		if r != nil {
			r.finish(lost)
			s.pending.Done()
		}
		delete(s.sent, n)
	}
	return false
}

// take moves requests from the list to those sent.
func (s *Session) take(batch []*Request) []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes, n := 0, 0
	for _, r := range s.list {
		if len(batch) > 0 && (len(batch) == maxBatch || bytes+len(r.frame) > maxBatchBytes) {
			break
		}
		n++
		if r.state == requestLeft {
			continue
		}
		s.number++
		r.number = s.number
		r.setNumber(s.number)
		r.state = requestSent
		s.sent[s.number] = r
		s.pending.Add(1)
		bytes += len(r.frame)
		batch = append(batch, r)
	}
	rest := copy(s.list, s.list[n:])
	clear(s.list[rest:])
	s.list = s.list[:rest]
	return batch
}

// receiveAll is the reader. It ends the session when the stream ends.
func (s *Session) receiveAll() {
	var in pb.PipelineResponse
	for {
		clear(in.Responses)
		in.Responses, in.Welcome, in.Draining = in.Responses[:0], nil, false
		if err := s.stream.RecvMsg(&in); err != nil {
			s.end()
			return
		}
		over := s.deliver(in.Responses)
		if in.Draining {
			s.retire()
		} else if over {
			s.end()
		}
	}
}

// deliver passes responses to their callers. It reports whether the session has retired, and there
// are no more.
func (s *Session) deliver(responses []pb.CallResponse) (over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range responses {
		r, ok := s.sent[responses[i].Handle]
		if !ok {
			continue // a second response; the first counts
		}
		delete(s.sent, responses[i].Handle)
		<-s.slots
		if r != nil {
			r.response = responses[i]
			r.finish(nil)
			s.pending.Done()
		}
	}
	return s.retires && len(s.sent) == 0
}

// finish ends the request; the session's mutex is held.
func (r *Request) finish(lost error) {
	r.state, r.lost = requestDone, lost
	r.done <- struct{}{}
}
