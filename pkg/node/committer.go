package node

import (
	"runtime"
	"sync"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
)

// committer appends what the shards want written, one batch for all shards
// that have something at the moment.
type committer struct {
	n        *Node
	releaser *releaser

	mu     sync.Mutex
	gather groupcommit.Gather
	closed bool
	signal chan struct{}
	wg     sync.WaitGroup

	// appending is held by whoever appends.
	appending sync.Mutex
}

func newCommitter(n *Node) *committer {
	return &committer{n: n, releaser: newReleaser(n), signal: make(chan struct{}, 1), gather: groupcommit.Gather{Mutants: n.opt.Shard.Mutants}}
}

func (c *committer) start() {
	c.releaser.start()
	c.wg.Add(1)
	go c.appendLoop()
}

// submit hands a step on; commit or commitNow is to follow. Steps of one
// shard keep their order.
func (c *committer) submit(s *groupcommit.Step) {
	c.mu.Lock()
	c.gather.Submit(s)
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

// take appends what was submitted, and reports whether it is the last.
// Whoever calls it holds appending.
func (c *committer) take() (closed bool) {
	c.mu.Lock()
	batch := c.gather.Take()
	closed = c.closed
	c.mu.Unlock()
	if len(batch.Steps) > 0 {
		c.append(batch)
	}
	clear(batch.Steps)
	return closed
}

// append appends the entries of some steps, starts their reads, and has their
// messages wait.
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
		free(s)
	}
	// What leaves now is of earlier steps than what waits, so it leaves first.
	if len(now) > 0 {
		c.releaser.send(now)
	}
	if !wait.Empty() {
		c.releaser.add(wait)
	}
}
