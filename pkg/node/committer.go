package node

import (
	"runtime"
	"sync"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
)

// committer appends the entries of all shards. While one batch is appended the next one accumulates.
type committer struct {
	n        *Node
	releaser *releaser

	mu      sync.Mutex
	pending groupcommit.Pending
	closed  bool
	signal  chan struct{}
	wg      sync.WaitGroup

	// appending is held by the goroutine that appends.
	appending sync.Mutex
}

func newCommitter(n *Node) *committer {
	return &committer{n: n, releaser: newReleaser(n), signal: make(chan struct{}, 1),
		pending: groupcommit.Pending{Mutants: n.opt.Shard.Mutants}}
}

func (c *committer) start() {
	c.releaser.start()
	c.wg.Add(1)
	go c.appendLoop()
}

// submit adds a step to the next batch. The caller then calls commit or commitNow. Steps of one shard keep
// their order.
func (c *committer) submit(s *groupcommit.Step) {
	c.mu.Lock()
	c.pending.Submit(s)
	c.mu.Unlock()
}

// commit requests an append by the committer's goroutine.
func (c *committer) commit() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// commitNow appends the batch on the calling goroutine, unless another one is appending.
func (c *committer) commitNow() {
	if !c.appending.TryLock() {
		c.commit()
		return
	}
	c.appendPending()
	c.appending.Unlock()
}

// close stops the committer after all submitted steps are released.
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
		// The first of several shards that complete a step wakes the committer. Yielding lets the others complete
		// theirs, which makes batches larger; a single shard loses nothing.
		runtime.Gosched()
		c.appending.Lock()
		closed := c.appendPending()
		c.appending.Unlock()
		if closed {
			return
		}
	}
}

// appendPending appends the accumulated batch, and reports whether the committer is closed. The caller
// holds appending.
func (c *committer) appendPending() (closed bool) {
	c.mu.Lock()
	batch := c.pending.Take()
	closed = c.closed
	c.mu.Unlock()
	if len(batch.Steps) > 0 {
		c.append(batch)
	}
	clear(batch.Steps)
	return closed
}

// append appends the entries of a batch, starts its store reads, and registers its messages with the
// releaser.
func (c *committer) append(batch groupcommit.Batch) {
	since := c.n.opt.Clock.Now()
	groups := batch.Groups()
	var at engine.Position
	if len(groups) > 0 {
		var err error
		at, err = c.n.opt.Engine.Append(groups)
		if err != nil {
			c.n.opt.OnFatal(err)
			return
		}
	}
	now, wait := batch.Appended(at, c.releaser.position())
	wait.Since = since
	for _, s := range batch.Steps {
		loop := c.n.shards[s.Shard.ID]
		for _, read := range s.Out.Reads {
			c.n.startRead(loop, read)
		}
		if len(s.Out.Dropped) > 0 {
			c.n.reads.drop(loop, s.Out.Dropped)
		}
	}
	for _, s := range batch.Steps {
		recycle(s)
	}
	// The messages that leave now are of earlier steps than those that wait.
	if len(now) > 0 {
		c.releaser.send(now)
	}
	if !wait.Empty() {
		c.releaser.add(wait)
	}
}
