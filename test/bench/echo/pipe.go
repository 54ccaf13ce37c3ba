package echo

import (
	"runtime"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
)

// pipe has many callers share a stream of requests of type T.
type pipe[T any] struct {
	stream grpc.ClientStream
	// answered has a place per caller; wake has an element when there is
	// something to send.
	answered []chan struct{}
	wake     chan struct{}
	// ended is why there will be no more answers.
	ended atomic.Pointer[error]

	mu    sync.Mutex
	queue []T
}

func newPipe[T any](s grpc.ClientStream, callers int) *pipe[T] {
	p := &pipe[T]{stream: s, wake: make(chan struct{}, 1)}
	for range callers {
		p.answered = append(p.answered, make(chan struct{}, 1))
	}
	return p
}

// call queues a request and waits for its answer.
func (p *pipe[T]) call(caller int, request T) error {
	if err := p.ended.Load(); err != nil {
		return *err
	}
	p.mu.Lock()
	p.queue = append(p.queue, request)
	first := len(p.queue) == 1
	p.mu.Unlock()
	if first {
		signal(p.wake)
	}
	<-p.answered[caller]
	if err := p.ended.Load(); err != nil {
		return *err
	}
	return nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// send sends what callers have queued. If yielding, it lets those who can run
// queue theirs first, as linchpin's client does.
func (p *pipe[T]) send(yielding bool, send func([]T) error) {
	var out []T
	for {
		select {
		case <-p.wake:
		case <-p.stream.Context().Done():
			return
		}
		if yielding {
			runtime.Gosched()
		}
		p.mu.Lock()
		out, p.queue = p.queue, out[:0]
		p.mu.Unlock()
		if len(out) > 0 && send(out) != nil {
			return // receive returns the reason
		}
	}
}

// receive wakes the callers whose answers next has received.
func (p *pipe[T]) receive(next func(wake func(caller int)) error) {
	for {
		if err := next(func(caller int) { signal(p.answered[caller]) }); err != nil {
			p.ended.Store(&err)
			for _, a := range p.answered {
				signal(a)
			}
			return
		}
	}
}
