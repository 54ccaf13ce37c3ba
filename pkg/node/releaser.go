package node

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
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
	// waits has the positions that an engine without notices is asked about.
	waits chan engine.Position
	wg    sync.WaitGroup

	mu sync.Mutex
	// idle is signalled when nobody is releasing any more.
	idle sync.Cond
	// waiting is what has not left.
	waiting groupcommit.Releases
	// durable is waiting.Durable. It is written under mu.
	durable atomic.Uint64
	// releasing: somebody is sending, and will look again. Written under mu.
	releasing atomic.Bool
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
func (r *releaser) add(x groupcommit.Release) {
	r.mu.Lock()
	r.waiting.Add(x)
	r.mu.Unlock()
	if r.waits != nil {
		r.waits <- x.At
		return
	}
	r.advance(0) // it may be durable already, and nobody tells again
}

// send sends messages that rest on what is durable. If a goroutine is sending earlier ones, it sends
// these next. Only the committer calls it.
func (r *releaser) send(envs []*msg.Envelope) {
	r.mu.Lock()
	if r.releasing.Load() {
		r.waiting.Behind(envs)
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	r.n.route(envs)
}

// advance notes a durable position, and sends what has waited for it unless
// somebody else is sending: then that one does.
func (r *releaser) advance(at engine.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting.Advance(at)
	r.durable.Store(uint64(r.waiting.Durable()))
	if r.releasing.Load() {
		return
	}
	r.releasing.Store(true)
	for {
		ready := r.waiting.Ready()
		if len(ready) == 0 {
			break
		}
		r.mu.Unlock()
		for i := range ready {
			r.tell(&ready[i])
			if len(ready[i].Sends) > 0 {
				r.n.route(ready[i].Sends)
			}
		}
		r.mu.Lock()
	}
	r.releasing.Store(false)
	r.idle.Broadcast()
}

// tell has the metrics know of a batch that is durable.
func (r *releaser) tell(x *groupcommit.Release) {
	if x.Entries > 0 && r.n.opt.Metrics != nil {
		r.n.durable(x.Entries, time.Duration(r.n.opt.Clock.Now()-x.Since))
	}
}

// close waits until everything has been sent. Nothing may be added any more.
func (r *releaser) close() {
	if r.waits != nil {
		close(r.waits)
		r.wg.Wait()
		return
	}
	r.mu.Lock()
	last := r.waiting.Last()
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
