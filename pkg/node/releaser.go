package node

import (
	"sync"
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
)

// notifier is an engine that calls back with durable positions, in ascending order, from a goroutine that
// may block. This avoids one goroutine switch between the disk and the response.
type notifier interface {
	NotifyDurable(func(engine.Position))
}

// releaser sends the messages of the shards. Those of a shard leave in the order of its steps, each when the
// shard's log is durable up to the step (shardlog.Releaser).
type releaser struct {
	n *Node
	// positions are those to wait for, if the engine is not a notifier.
	positions chan engine.Position
	wg        sync.WaitGroup
	// passing is a buffer of release, sending one of the goroutine that has set releasing.
	passing, sending []*msg.Envelope

	mu sync.Mutex
	// idle is signalled when releasing becomes false.
	idle sync.Cond
	// group has the durable positions of the logs, and the unsent messages.
	group *groupcommit.Group
	// releasing: a goroutine is sending, and checks again before it stops. It is written under mu.
	releasing atomic.Bool
}

func newReleaser(n *Node, group *groupcommit.Group) *releaser {
	r := &releaser{n: n, group: group}
	r.idle.L = &r.mu
	return r
}

func (r *releaser) start() {
	if e, ok := r.n.opt.Engine.(notifier); ok {
		e.NotifyDurable(r.onDurable)
		return
	}
	r.positions = make(chan engine.Position, 1024)
	r.wg.Go(func() {
		for at := range r.positions {
			if err := r.n.opt.Engine.WaitDurable(at); err != nil {
				r.n.opt.OnFatal(err)
				return
			}
			r.onDurable(at)
		}
	})
}

// release sends the messages of a batch that is written at a position, 0 if it has no entries: at once, or
// when they may leave. Only the committer calls it.
func (r *releaser) release(batch groupcommit.Batch, at engine.Position, since int64) {
	rest := true
	r.mu.Lock()
	r.group.Written(batch, at, since)
	// While another goroutine sends, messages of this batch would overtake those that it has taken.
	if !r.releasing.Load() {
		r.passing, rest = r.group.Pass(batch, r.passing[:0])
	}
	r.mu.Unlock()
	if len(r.passing) > 0 {
		r.n.route(r.passing)
		r.passing = reuse(r.passing)
	}
	if r.positions != nil && at > 0 {
		r.positions <- at
	}
	if rest {
		r.mu.Lock()
		batch.Hold() // after those that have passed: these are of later steps
		r.mu.Unlock()
		r.onDurable(0) // a position may have become durable meanwhile, and its notification is over
	}
}

// onDurable records a durable position, and sends the messages that waited for it, unless another goroutine
// is sending: that one sends them.
func (r *releaser) onDurable(at engine.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.group.OnDurable(at)
	if r.releasing.Load() {
		return
	}
	r.releasing.Store(true)
	for {
		ready := r.group.Sends(r.sending[:0])
		if len(ready) == 0 {
			break
		}
		r.mu.Unlock()
		r.n.route(ready)
		r.mu.Lock()
		r.sending = reuse(ready)
	}
	r.releasing.Store(false)
	r.idle.Broadcast()
}

// reuse returns a buffer for the next messages.
func reuse(sent []*msg.Envelope) []*msg.Envelope {
	if cap(sent) > maxRecycledCap {
		return nil
	}
	clear(sent)
	return sent[:0]
}

// close waits until everything has been sent. release must not be called any more.
func (r *releaser) close() {
	if r.positions != nil {
		close(r.positions)
		r.wg.Wait()
		return
	}
	r.mu.Lock()
	last := r.group.Last()
	r.mu.Unlock()
	if err := r.n.opt.Engine.WaitDurable(last); err != nil {
		r.n.opt.OnFatal(err)
		return
	}
	r.onDurable(last)
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.releasing.Load() {
		r.idle.Wait()
	}
}
