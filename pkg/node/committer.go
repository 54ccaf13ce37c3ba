package node

import (
	"runtime"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// committer appends what the shards want written, one batch for all shards
// that have something at the moment.
type committer struct {
	n        *Node
	releaser *releaser

	mu     sync.Mutex
	queue  []*stepOut
	closed bool
	signal chan struct{}
	wg     sync.WaitGroup

	// appending is held by whoever appends; taken is the room of the queue
	// that is not in use.
	appending sync.Mutex
	taken     []*stepOut
}

func newCommitter(n *Node) *committer {
	return &committer{n: n, releaser: newReleaser(n), signal: make(chan struct{}, 1)}
}

func (c *committer) start() {
	c.releaser.start()
	c.wg.Add(1)
	go c.appendLoop()
}

// submit hands an output on; commit or commitNow is to follow. Outputs of one
// shard keep their order.
func (c *committer) submit(o *stepOut) {
	c.mu.Lock()
	c.queue = append(c.queue, o)
	c.mu.Unlock()
}

// commit has what was submitted appended soon.
func (c *committer) commit() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// commitNow appends what was submitted, if nobody else is at it.
func (c *committer) commitNow() {
	if !c.appending.TryLock() {
		c.commit()
		return
	}
	c.take()
	c.appending.Unlock()
}

// close ends the committer when everything submitted has been released.
func (c *committer) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.commit()
	c.wg.Wait()
	c.releaser.close()
}

func (c *committer) appendLoop() {
	defer c.wg.Done()
	for range c.signal {
		// The first of several shards that end a step wakes the committer. To
		// let the others end theirs makes larger batches; a lone one loses
		// nothing.
		runtime.Gosched()
		c.appending.Lock()
		closed := c.take()
		c.appending.Unlock()
		if closed {
			return
		}
	}
}

// take appends what is in the queue, and reports whether it is the last.
// Whoever calls it holds appending.
func (c *committer) take() (closed bool) {
	c.mu.Lock()
	c.taken, c.queue = c.queue, c.taken[:0]
	closed = c.closed
	c.mu.Unlock()
	if len(c.taken) > 0 {
		c.append(c.taken)
	}
	clear(c.taken)
	return closed
}

// append appends the entries of some outputs, starts their reads, and has
// their messages wait.
func (c *committer) append(outs []*stepOut) {
	groups := make([]entry.Group, 0, len(outs))
	total := 0
	for _, o := range outs {
		if len(o.out.Entries) > 0 {
			groups = append(groups, entry.Group{Shard: o.loop.id, Entries: o.out.Entries})
			total += len(o.out.Entries)
		}
	}
	since := c.n.opt.Clock.Now()
	var at engine.Position
	if len(groups) > 0 {
		var err error
		if at, err = c.n.opt.Engine.Append(groups); err != nil {
			c.n.opt.OnFatal(err)
			return
		}
	}
	r := release{at: at, entries: total, since: since}
	durable := c.releaser.position()
	var free []*msg.Envelope
	for _, o := range outs {
		if len(o.out.Entries) > 0 {
			o.loop.appended = at
		}
		// A shard without new entries waits for its last ones.
		if o.loop.appended <= durable {
			free = append(free, o.out.Send...)
		} else {
			r.at = max(r.at, o.loop.appended)
			r.sends = append(r.sends, o.out.Send...)
		}
		for _, read := range o.out.Reads {
			c.n.startRead(readJob{o.loop, read})
		}
	}
	for _, o := range outs {
		o.free()
	}
	if len(r.sends) > 0 || total > 0 {
		c.releaser.add(r)
	}
	if len(free) > 0 {
		c.n.route(free)
	}
}

// tell has the metrics know of a batch that is durable.
func (r *release) tell(n *Node) {
	if r.entries > 0 && n.opt.Metrics != nil {
		n.durable(r.entries, time.Duration(n.opt.Clock.Now()-r.since))
	}
}
