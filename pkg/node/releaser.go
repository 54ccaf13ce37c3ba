package node

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
)

// notifier is an engine that calls back with durable positions, in ascending order, from a goroutine that
// may block. This avoids one goroutine switch between the disk and the response.
type notifier interface {
	NotifyDurable(func(engine.Position))
}

// releaser sends messages when the entries that they depend on are durable, in the order of batches.
type releaser struct {
	n *Node
	// positions are those to wait for, if the engine is not a notifier.
	positions chan engine.Position
	wg        sync.WaitGroup

	mu sync.Mutex
	// idle is signalled when releasing becomes false.
	idle sync.Cond
	// waiting are the unsent messages.
	waiting groupcommit.Releases
	// durable is waiting.Durable. It is written under mu.
	durable atomic.Uint64
	// releasing: a goroutine is sending, and checks again before it stops. It is written under mu.
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
	r.positions = make(chan engine.Position, 1024)
	r.wg.Go(func() {
		for at := range r.positions {
			if err := r.n.opt.Engine.WaitDurable(at); err != nil {
				r.n.opt.OnFatal(err)
				return
			}
			r.advance(at)
		}
	})
}

// position is the position up to which everything is durable.
func (r *releaser) position() engine.Position { return engine.Position(r.durable.Load()) }

// add registers the messages of a batch. Only the committer calls it.
func (r *releaser) add(x groupcommit.Release) {
	r.mu.Lock()
	r.waiting.Add(x)
	r.mu.Unlock()
	if r.positions != nil {
		r.positions <- x.At
		return
	}
	r.advance(0) // the position may be durable already, in which case no notification follows
}

// send sends messages that depend on durable entries only. If a goroutine is sending earlier messages, it
// sends these next. Only the committer calls it.
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

// advance records a durable position, and sends the messages that waited for it, unless another goroutine
// is sending: that one sends them.
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
			r.recordBatch(&ready[i])
			if len(ready[i].Sends) > 0 {
				r.n.route(ready[i].Sends)
			}
		}
		r.mu.Lock()
	}
	r.releasing.Store(false)
	r.idle.Broadcast()
}

// recordBatch records a durable batch in the metrics.
func (r *releaser) recordBatch(x *groupcommit.Release) {
	if x.Entries > 0 && r.n.opt.Metrics != nil {
		r.n.recordFsync(x.Entries, time.Duration(r.n.opt.Clock.Now()-x.Since))
	}
}

// close waits until everything has been sent. add must not be called any more.
func (r *releaser) close() {
	if r.positions != nil {
		close(r.positions)
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
