package server

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// answers is the queue between a backend that answers on any goroutine, and
// the one goroutine that sends.
//
// It counts what the stream occupies: for each call in flight its request and what
// its answer is expected to have (need), and for each answer what it has, until it
// has been sent. That is bounded by maxBytes, and all of it is taken from the
// caller's memory, some at a time.
type answers struct {
	maxInFlight int
	maxBytes    int64
	account     *memory.Account
	// wake has a token when there is something new for the sender.
	wake chan struct{}

	mu sync.Mutex
	// room is signalled when the queue was taken or the stream closed.
	room sync.Cond
	// queue holds answers that wait to be sent; spare is its other half, used
	// in turn with it.
	queue, spare []queued
	// bytes is what is occupied, unsent the part of it that is being sent, and taken
	// what has been taken of account for it.
	bytes, unsent, taken int64
	// reserved is the part of bytes of a call that is being decoded.
	reserved int64
	// estimates are of the stream's answers.
	estimates memory.Estimates
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
	refused bool
	// bytes is what it is counted with.
	bytes    int64
	response gateway.Response
	// maxResponse is the request's max_response_bytes.
	maxResponse uint32
}

// admission is what becomes of a call.
type admission int

const (
	admitted admission = iota
	full
	// noMemory: there is none for the call.
	noMemory
	closed
)

const (
	// freeBytes is what a stream may occupy without taking memory: it is part of what
	// the stream was counted with.
	freeBytes = 32 << 10
	// takeStep is how much it takes at a time.
	takeStep = 64 << 10
	// callCost is about what a call in flight costs beside its operations.
	callCost = 256
)

func newAnswers(maxInFlight, maxBytes int, account *memory.Account) *answers {
	a := &answers{maxInFlight: maxInFlight, maxBytes: int64(maxBytes), account: account, wake: make(chan struct{}, 1)}
	a.room.L = &a.mu
	return a
}

// need is what a call is counted with until it is answered, at a time in nanoseconds.
func (a *answers) need(used *budget, now int64) int64 {
	n := used.memory() + callCost
	if used.class == memory.Blind {
		return n
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return n + expected(a.account, a.estimates.At(used.class, now), 2*n)
}

// admit counts a call in. While the client leaves too much unread, it blocks:
// the queue holds at most one answer per call in flight and as many refusals. So it
// does while there is no memory, if it will be given back by this stream.
func (a *answers) admit(need int64) (admission, *kv.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.blocked = a.blocked && a.reserved > 0
	what, err := a.wait(need - a.reserved)
	if what == admitted {
		a.bytes += need - a.reserved
		a.inFlight++
		a.reserved = 0
	}
	a.unreserve()
	return what, err
}

// reserve counts n bytes of a call before it is decoded, as admit does, which is to
// follow and has them.
func (a *answers) reserve(n int64) (admission, *kv.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.blocked = a.blocked && a.reserved > 0
	what, err := a.wait(n)
	if what == admitted {
		a.bytes += n
		a.reserved += n
	}
	return what, err
}

// awaitTurn waits until a call may be refused, as admit does before it says so.
func (a *answers) awaitTurn() admission {
	a.mu.Lock()
	defer a.mu.Unlock()
	what, _ := a.wait(0)
	return what
}

// unreserve gives back what was reserved.
func (a *answers) unreserve() {
	if a.reserved > 0 {
		n := a.reserved
		a.reserved = 0
		a.give(n)
	}
}

// wait waits until there is room for need bytes more, and takes the memory.
func (a *answers) wait(need int64) (admission, *kv.Error) {
	for !a.closed {
		switch {
		case len(a.queue) >= 2*a.maxInFlight, a.bytes > a.reserved && a.bytes+need > a.maxBytes:
		case a.inFlight >= a.maxInFlight:
			return full, nil
		default:
			err := a.take(need)
			if err == nil {
				return admitted, nil
			}
			if a.bytes == a.reserved {
				return noMemory, err
			}
		}
		a.blocked = true
		a.room.Wait()
	}
	return closed, nil
}

// take takes memory for n bytes more.
func (a *answers) take(n int64) *kv.Error {
	more := a.bytes + n - freeBytes - a.taken
	if more <= 0 {
		return nil
	}
	more = (more + takeStep - 1) / takeStep * takeStep
	err := a.account.Take(memory.Requests, more)
	if err == nil {
		a.taken += more
	}
	return err
}

// give counts n bytes less, and gives back what is not needed soon.
func (a *answers) give(n int64) {
	a.bytes -= n
	spare := a.taken - max(a.bytes-freeBytes, 0)
	if !a.closed { // some is kept for the next
		spare = (spare - takeStep) / takeStep * takeStep
	}
	if spare > 0 {
		a.account.Give(memory.Requests, spare)
		a.taken -= spare
	}
	a.room.Broadcast()
}

// wasBlocked reports whether the last admit had to wait. It is for the reader
// alone, which is the one that writes blocked.
func (a *answers) wasBlocked() bool { return a.blocked }

// counted is what a call in flight is counted with.
type counted struct {
	need   int64
	class  memory.Class
	writes bool
	// maxResponse is the request's max_response_bytes.
	maxResponse uint32
}

// answered says how many bytes the results of a call had, at a time in nanoseconds.
func (a *answers) answered(c counted, bytes int, now int64) {
	if c.class != memory.Blind {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.estimates.Saw(c.class, int64(bytes), now)
	}
}

// put queues the answer to an admitted call. If there is no memory for the results, they
// are lost.
func (a *answers) put(number uint64, r gateway.Response, c counted) {
	a.mu.Lock()
	if a.closed {
		a.give(c.need)
		a.mu.Unlock()
		return
	}
	bytes := callCost + int64(resultBytes(r.Results))
	if bytes > c.need {
		if err := a.take(bytes - c.need); err != nil {
			lose(&r, err, c.writes)
			bytes = callCost
		}
	}
	a.bytes += bytes - c.need
	a.enqueue(queued{number: number, bytes: bytes, response: r, maxResponse: c.maxResponse})
}

// lose drops the results of a response that there is no memory for: a transaction that
// wrote has committed all the same.
func lose(r *gateway.Response, err *kv.Error, writes bool) {
	r.Results = nil
	if writes {
		r.ResultsLost = true
	} else {
		r.Err = err
	}
}

// refuse queues the answer to a call that was not admitted.
func (a *answers) refuse(number uint64, id kv.TxnID, err *kv.Error) {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return
	}
	a.enqueue(queued{number: number, refused: true, response: gateway.Response{ID: id, Err: err}})
}

// enqueue adds an answer and unlocks.
func (a *answers) enqueue(q queued) {
	a.queue = append(a.queue, q)
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

// all empties the queue. The result is valid until the next time. Calls stop
// counting as in flight here, before they are sent: a client that uses a
// place again as soon as it has the answer must find it free. Their bytes are
// counted until they are sent (sent).
func (a *answers) all() []queued {
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
		a.unsent += a.spare[i].bytes
	}
	a.room.Broadcast()
	return a.spare
}

// sent says that answers are with gRPC, which counts for itself.
func (a *answers) sent(qs []queued) {
	bytes := int64(0)
	for i := range qs {
		bytes += qs[i].bytes
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.unsent -= bytes
		a.give(bytes)
	}
}

// keptAnswers bounds the answers for which a queue keeps room while idle.
const keptAnswers = 4096

// readerEnded reports to the sender that no more calls come, and why.
func (a *answers) readerEnded(err error) {
	a.mu.Lock()
	a.ended, a.err = true, err
	a.unreserve()
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
	for i := range a.queue {
		a.bytes -= a.queue[i].bytes
	}
	a.closed, a.queue, a.spare = true, nil, nil
	a.bytes -= a.unsent
	a.give(0) // a call in flight gives its own back when it ends
	a.mu.Unlock()
}

// send sends answers until the stream is over. When the server drains, it
// notifies the client, which then sends no more calls; the calls of a client that goes on are rejected, until
// the server ends the stream.
func (a *answers) send(s *service, stream grpc.ServerStream) error {
	ctx := stream.Context()
	out := outbox{service: s, stream: stream, sent: a.sent}
	draining, ending, ends := s.draining, s.ending, false
	for {
		if err := out.sendAll(a.all()); err != nil {
			return err
		}
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
