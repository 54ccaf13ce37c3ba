package node

import (
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// Reads of the store are done by a few goroutines, and wait for them in a queue that has
// a bound. The committer fills it, and must not wait: on a disk that stands still it would
// do so for ever, and so would every shard of the node, also for transactions whose keys
// are all in memory. So beyond the bound reads fail, as if the disk had said so.

// maxReadsWaiting bounds the reads that wait for a goroutine. Somewhat arbitrary.
const maxReadsWaiting = 4096

// readJob is a cold read of a shard.
type readJob struct {
	loop *shardLoop
	read entry.Read
}

// startRead has a read done soon, or fail at once if too many wait.
func (n *Node) startRead(j readJob) {
	select {
	case n.readers <- j:
	default:
		j.refuse("the node's disk is too slow: too many reads wait for it", "come back later; is the disk broken, or does something else use it?")
	}
}

// refuse fails a read as if the disk had.
func (j *readJob) refuse(text, hint string) {
	j.loop.inbox.pushRead(entry.ReadResult{ID: j.read.ID, Kind: j.read.Kind,
		Err: &kv.Error{Kind: kv.KindExhausted, Op: -1, Text: text, Hint: hint, RetryAfter: retrySlow}})
}

// retrySlow is when to come back to a node that could not read. Somewhat arbitrary.
const retrySlow = time.Second

// reader is one of the goroutines that read.
type reader struct {
	// since is when its read began, by the node's clock; 0 if it has none.
	since atomic.Int64
}

func (n *Node) readLoop(r *reader) {
	defer n.rwg.Done()
	for j := range n.readers {
		if n.opt.NoMemory() {
			j.refuse("the node has no memory for what is to be read from the store (--memory-budget)", "come back later, and read less at a time")
			continue
		}
		begin := n.opt.Clock.Now()
		r.since.Store(max(begin, 1))
		res := n.opt.Engine.Read(j.loop.id, j.read)
		r.since.Store(0)
		if n.opt.Metrics != nil {
			n.opt.Metrics.StoreRead(time.Duration(n.opt.Clock.Now() - begin))
		}
		if sizeOf(res.Rows) > foldHere {
			shard.Fold(&res)
		}
		j.loop.inbox.pushRead(res)
	}
}

// foldHere is how many bytes a chain of a key may have whose value the shard makes itself: that
// takes microseconds.
const foldHere = 4 << 10

func sizeOf(rows []entry.Row) (n int) {
	for i := range rows {
		n += len(rows[i].Value)
	}
	return n
}

// slowReads tells of reads that take long. Only the watcher uses it.
type slowReads struct {
	// told is when it did so last, by the node's clock; 0 is never.
	told int64
}

const (
	// slowRead is from when on somebody should know: a disk takes milliseconds.
	slowRead = time.Second
	// slowReadEvery is how often that is told at most.
	slowReadEvery = 10 * time.Second
)

// look tells of reads that have not ended for long, once in a while.
func (s *slowReads) look(n *Node) {
	now := n.opt.Clock.Now()
	var longest int64
	slow := 0
	for i := range n.reading {
		if since := n.reading[i].since.Load(); since != 0 && now-since >= int64(slowRead) {
			slow++
			longest = max(longest, now-since)
		}
	}
	if slow == 0 || s.told != 0 && now-s.told < int64(slowReadEvery) {
		return
	}
	s.told = max(now, 1)
	n.opt.Log.Warn("reads of the store take long: what is not in memory is served late or not at all; look at the disk",
		"longest", time.Duration(longest).Round(time.Millisecond), "slow", slow, "waiting", len(n.readers))
}
