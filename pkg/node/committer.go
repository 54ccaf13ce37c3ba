package node

import (
	"runtime"
	"sync"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
	"github.com/linchpindb/linchpin/pkg/shardlog"
)

// committer writes the entries of all shards. While one batch is written the next one accumulates.
type committer struct {
	n        *Node
	releaser *releaser

	mu sync.Mutex
	// group has the logs of the shards. What appends to them is called under mu, what becomes durable is
	// guarded by releaser.mu, and what is applied by appending.
	group  groupcommit.Group
	closed bool
	signal chan struct{}
	wg     sync.WaitGroup

	// appending is held by the goroutine that writes a batch.
	appending sync.Mutex
	// ready is a buffer of append.
	ready []shardlog.Reads
}

func newCommitter(n *Node) *committer {
	c := &committer{n: n, signal: make(chan struct{}, 1), group: groupcommit.Group{Mutants: n.opt.Shard.Mutants}}
	if n.opt.Metrics != nil {
		c.group.BatchDurable = n.recordFsync
	}
	c.releaser = newReleaser(n, &c.group)
	return c
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
	c.group.Submit(s)
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
	batch := c.group.Take()
	closed = c.closed
	c.mu.Unlock()
	if len(batch.Steps) > 0 {
		c.append(batch)
	}
	clear(batch.Steps)
	return closed
}

// append writes the entries of a batch, starts its store reads, and passes its messages to the releaser.
func (c *committer) append(batch groupcommit.Batch) {
	since := c.n.opt.Clock.Now()
	var at engine.Position
	if len(batch.Groups) > 0 {
		var err error
		at, err = c.n.opt.Engine.Append(batch.Groups)
		if err != nil {
			c.n.opt.OnFatal(err)
			return
		}
	}
	batch.OnApplied()
	for _, s := range batch.Steps {
		c.ready = s.Shard.Reads(c.ready[:0])
		for i := range c.ready {
			c.startReads(c.n.shards[s.Shard.ID], &c.ready[i])
		}
		clear(c.ready)
	}
	c.releaser.release(batch, at, since)
	for _, s := range batch.Steps {
		recycle(s)
	}
}

func (c *committer) startReads(loop *shardLoop, reads *shardlog.Reads) {
	for _, r := range reads.Start {
		c.n.startRead(loop, r)
	}
	if len(reads.Drop) > 0 {
		c.n.reads.drop(loop, reads.Drop)
	}
}
