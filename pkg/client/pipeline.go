package client

import (
	"context"
	"runtime"
	"time"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// run sends a call and waits for its response, or until ctx ends or the DB is closed, and then for the
// response for as long as grace. If it returns nil there is a response. Else nothing was applied,
// except after errNoAnswer and errLeftSent, when that is not known. After errLeftListed and
// errLeftSent the session may still refer to the call.
func (s *session) run(ctx context.Context, grace time.Duration, c *call) error {
	err := s.slot(ctx)
	if err != nil {
		return err
	}
	c.setTimeout(margin(ctx))
	if !s.enlist(c) {
		return errNotSent
	}
	select {
	case <-c.done:
		return c.lost
	case <-ctx.Done():
	case <-s.closing:
	}
	return s.leave(c, grace)
}

// slot waits until there may be one more call in flight.
func (s *session) slot(ctx context.Context) error {
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

func (s *session) enlist(c *call) bool {
	s.mu.Lock()
	if s.ended || s.retires {
		s.mu.Unlock()
		return false
	}
	c.state = callListed
	s.list = append(s.list, c)
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

// leave ends the wait of a caller: at once if the call is not sent, and else when there is a
// response, after grace at the latest.
func (s *session) leave(c *call, grace time.Duration) error {
	if s.unlist(c) {
		return errLeftListed
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
		return c.lost
	case <-timer.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.state != callSent {
		<-c.done // the end came at the same moment
		return c.lost
	}
	// The node still counts the call, so its slot stays taken.
	c.state = callLeft
	s.sent[c.number] = nil
	s.pending.Done()
	return errLeftSent
}

// unlist removes a call that is not sent.
func (s *session) unlist(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.state != callListed {
		return false
	}
	c.state = callLeft
	<-s.slots
	return true
}

// sendAll is the sender.
func (s *session) sendAll() {
	var batch []*call
	for {
		select {
		case <-s.wake:
		case <-s.done:
			return
		}
		// The first of several callers wakes the sender. Yielding lets the others that can run
		// add their calls first, which makes messages several times larger: it more than doubled
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

// handedOver notes whether the transport has accepted the calls that were taken last. If it has not,
// or the session has ended meanwhile, it ends them and reports false.
func (s *session) handedOver(accepted bool) bool {
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
	for n, c := range s.sent {
		if n <= s.handed {
			continue // the end of the session ends it
		}
		if c != nil {
			c.finish(lost)
			s.pending.Done()
		}
		delete(s.sent, n)
	}
	return false
}

// take moves calls from the list to those sent.
func (s *session) take(batch []*call) []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes, n := 0, 0
	for _, c := range s.list {
		if len(batch) > 0 && (len(batch) == maxBatchCalls || bytes+len(c.frame) > maxBatchBytes) {
			break
		}
		n++
		if c.state == callLeft {
			continue
		}
		s.number++
		c.number = s.number
		c.setNumber(s.number)
		c.state = callSent
		s.sent[s.number] = c
		s.pending.Add(1)
		bytes += len(c.frame)
		batch = append(batch, c)
	}
	rest := copy(s.list, s.list[n:])
	clear(s.list[rest:])
	s.list = s.list[:rest]
	return batch
}

// receiveAll is the reader. It ends the session when the stream ends.
func (s *session) receiveAll() {
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
func (s *session) deliver(responses []pb.CallResponse) (over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range responses {
		c, ok := s.sent[responses[i].Handle]
		if !ok {
			continue // a second response; the first counts
		}
		delete(s.sent, responses[i].Handle)
		<-s.slots
		if c != nil {
			c.response = responses[i]
			c.finish(nil)
			s.pending.Done()
		}
	}
	return s.retires && len(s.sent) == 0
}

// finish ends the call; the session's mutex is held.
func (c *call) finish(lost error) {
	c.state, c.lost = callDone, lost
	c.done <- struct{}{}
}
