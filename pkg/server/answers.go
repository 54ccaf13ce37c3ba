package server

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// answers is the queue between a backend that answers on any goroutine, and
// the one goroutine that sends.
type answers struct {
	maxInFlight, maxBytes int
	// wake has a token when there is something new for the sender.
	wake chan struct{}

	mu sync.Mutex
	// room is signalled when the queue was taken or the stream closed.
	room sync.Cond
	// queue holds answers that wait to be sent; spare is its other half, used
	// in turn with it.
	queue, spare []queued
	// bytes are the results in queue, estimated.
	bytes int
	// inFlight counts admitted calls whose answer was not taken for sending.
	inFlight int
	// blocked: the reader has had to wait for room in its current message.
	blocked bool
	// closed: the stream is over, and answers are dropped.
	closed bool
	// ended: the reader has ended, with err.
	ended bool
	err   error
}

// queued is an answer to the call with this number.
type queued struct {
	number uint64
	// refused: the call was never admitted.
	refused  bool
	response gateway.Response
}

// admission is what becomes of a call.
type admission int

const (
	admitted admission = iota
	full
	closed
)

func newAnswers(maxInFlight, maxBytes int) *answers {
	a := &answers{maxInFlight: maxInFlight, maxBytes: maxBytes, wake: make(chan struct{}, 1)}
	a.room.L = &a.mu
	return a
}

// admit counts a call in. While the client leaves too much unread, it blocks:
// the queue holds at most one answer per call in flight and as many refusals.
func (a *answers) admit() admission {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.blocked = false
	for !a.closed && (len(a.queue) >= 2*a.maxInFlight || a.bytes >= a.maxBytes) {
		a.blocked = true
		a.room.Wait()
	}
	switch {
	case a.closed:
		return closed
	case a.inFlight >= a.maxInFlight:
		return full
	}
	a.inFlight++
	return admitted
}

// wasBlocked reports whether the last admit had to wait. It is for the reader
// alone, which is the one that writes blocked.
func (a *answers) wasBlocked() bool { return a.blocked }

// put queues the answer to an admitted call.
func (a *answers) put(number uint64, r gateway.Response) {
	a.enqueue(queued{number: number, response: r}, resultBytes(r.Results))
}

// refuse queues the answer to a call that was not admitted.
func (a *answers) refuse(number uint64, id kv.TxnID, err *kv.Error) {
	a.enqueue(queued{number: number, refused: true, response: gateway.Response{ID: id, Err: err}}, 0)
}

func (a *answers) enqueue(q queued, bytes int) {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return
	}
	a.queue = append(a.queue, q)
	a.bytes += bytes
	first := len(a.queue) == 1
	a.mu.Unlock()
	if first { // else the sender has been woken and has not taken it yet
		a.signal()
	}
}

func (a *answers) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// take empties the queue. The result is valid until the next take. Calls stop
// counting as in flight here, before they are sent: a client that uses a
// place again as soon as it has the answer must find it free.
func (a *answers) take() []queued {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue, a.spare = a.spare[:0], a.queue
	if cap(a.queue) > keptAnswers {
		a.queue = nil
	}
	for i := range a.spare {
		if !a.spare[i].refused {
			a.inFlight--
		}
	}
	a.bytes = 0
	a.room.Broadcast()
	return a.spare
}

// keptAnswers bounds the answers for which a queue keeps room while idle.
const keptAnswers = 4096

// readerEnded tells the sender that no more calls come, and why.
func (a *answers) readerEnded(err error) {
	a.mu.Lock()
	a.ended, a.err = true, err
	a.mu.Unlock()
	a.signal()
}

// over reports whether the stream can end, and with what: when the reader
// failed, or when everything is answered and no more comes.
func (a *answers) over(ends bool) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.err != nil:
		return true, a.err
	case a.inFlight > 0 || len(a.queue) > 0:
		return false, nil
	case a.ended:
		return true, nil
	case ends:
		return true, statusOf(stopping(), kv.TxnID{})
	}
	return false, nil
}

// close drops what is queued and what comes, and frees a blocked reader.
func (a *answers) close() {
	a.mu.Lock()
	a.closed, a.queue, a.spare = true, nil, nil
	a.room.Broadcast()
	a.mu.Unlock()
}

// send sends answers until the stream is over. When the server drains, the client is
// told, so that it sends nothing more; one that does not heed that is refused call by
// call, until the server ends the stream.
func (a *answers) send(s *service, stream grpc.ServerStream) error {
	ctx := stream.Context()
	out := outbox{service: s, stream: stream}
	draining, ending, ends := s.draining, s.ending, false
	for {
		taken := a.take()
		if err := out.sendAll(taken); err != nil {
			return err
		}
		clear(taken) // an idle stream holds no values
		if done, err := a.over(ends); done {
			return err
		}
		select {
		case <-a.wake:
		case <-ctx.Done():
			return statusOf(context.Cause(ctx), kv.TxnID{})
		case <-draining:
			draining = nil
			if err := stream.SendMsg(&pb.PipelineResponse{Draining: true}); err != nil {
				return err
			}
		case <-ending:
			ends, ending = true, nil
		}
	}
}
