package node

import (
	"sync"
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// notifier is an engine that tells of durable positions by itself, in rising
// order and from a goroutine that may take its time. That spares a change of
// goroutine between the disk and the answer.
type notifier interface {
	NotifyDurable(func(engine.Position))
}

// releaser lets messages go when what they rest on is durable, in the order of
// batches.
type releaser struct {
	n *Node
	// durable is the position up to which everything is durable. It is
	// written under mu.
	durable atomic.Uint64
	// waits has the positions that an engine without notices is asked about.
	waits chan engine.Position
	wg    sync.WaitGroup

	mu sync.Mutex
	// idle is signalled when nobody is releasing any more.
	idle sync.Cond
	// waiting are the batches whose messages have not left, oldest first.
	waiting []release
	// last is the highest position that was waited for.
	last engine.Position
	// releasing: somebody is sending, and will look again. Written under mu.
	releasing atomic.Bool
}

// release is the messages that wait for a batch.
type release struct {
	at    engine.Position
	sends []*msg.Envelope
	// entries is the size of the batch; since is when it was appended.
	entries int
	since   int64
}

func newReleaser(n *Node) *releaser {
	r := &releaser{n: n}
	r.idle.L = &r.mu
	return r
}

func (r *releaser) start() {
	if e, ok := r.n.opt.Engine.(notifier); ok {
		e.NotifyDurable(r.advance)
		return
	}
	r.waits = make(chan engine.Position, 1024)
	r.wg.Go(func() {
		for at := range r.waits {
			if err := r.n.opt.Engine.WaitDurable(at); err != nil {
				r.n.opt.OnFatal(err)
				return
			}
			r.advance(at)
		}
	})
}

// position is up to where everything is durable.
func (r *releaser) position() engine.Position { return engine.Position(r.durable.Load()) }

// add has messages wait. Only the committer calls it.
func (r *releaser) add(x release) {
	r.mu.Lock()
	r.waiting = append(r.waiting, x)
	r.last = max(r.last, x.at)
	r.mu.Unlock()
	if r.waits != nil {
		r.waits <- x.at
		return
	}
	r.advance(0) // it may be durable already, and nobody tells again
}

// advance notes a durable position, and sends what has waited for it unless
// somebody else is sending: then that one does.
func (r *releaser) advance(at engine.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.durable.Store(max(r.durable.Load(), uint64(at)))
	if r.releasing.Load() {
		return
	}
	r.releasing.Store(true)
	for {
		ready := r.ready()
		if len(ready) == 0 {
			break
		}
		r.mu.Unlock()
		for i := range ready {
			ready[i].tell(r.n)
			if len(ready[i].sends) > 0 {
				r.n.route(ready[i].sends)
			}
		}
		r.mu.Lock()
	}
	r.releasing.Store(false)
	r.idle.Broadcast()
}

// ready takes the batches that are durable from the front.
func (r *releaser) ready() []release {
	n := 0
	for n < len(r.waiting) && uint64(r.waiting[n].at) <= r.durable.Load() {
		n++
	}
	ready := r.waiting[:n:n]
	if r.waiting = r.waiting[n:]; len(r.waiting) == 0 {
		r.waiting = nil
	}
	return ready
}

// close waits until everything has been sent. Nothing may be added any more.
func (r *releaser) close() {
	if r.waits != nil {
		close(r.waits)
		r.wg.Wait()
		return
	}
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	if err := r.n.opt.Engine.WaitDurable(last); err != nil {
		r.n.opt.OnFatal(err)
		return
	}
	r.advance(last)
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.releasing.Load() {
		r.idle.Wait()
	}
}
