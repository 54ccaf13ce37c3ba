package node

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// Reads of the store are executed by a few goroutines, the readers, and wait for them in bounded queues.
// The committer fills the queues and must not block: on a disk that does not respond it would block for
// ever, and with it every shard of the node, even for transactions whose keys are in memory. So beyond the
// bound reads fail with an error: those of the user with the most reads.
//
//	reads of commits ─────▶ commit readers
//	          └───────────▶ point readers
//	reads of single rows ─────────┘ └────▶ range readers, except one
//	reads of ranges ─────────────────────▶ range readers: one turn, then back into the queue
//
// A range is read in turns of 2 ms (engine.Turns). Between turns the read may be dropped, if its call has
// ended (shard.Output.Dropped). A page of a scan is returned partially after many turns.
const (
	// maxReadsWaiting bounds the queued reads.
	maxReadsWaiting = 4096
	// turnRows is the number of rows that a range reads in one turn. If they are in memory, that takes less
	// than the 2 ms of a turn.
	turnRows = 4096
	// maxPageTurns is the number of turns after which a page of a scan is returned partially.
	maxPageTurns = 50
)

// startRead queues a read, or rejects one if too many are queued.
func (n *Node) startRead(loop *shardLoop, r entry.Read) {
	n.reads.start(newReadJob(loop, loop.gen, r, n.opt.Clock.Now()))
}

// start adds a read, and rejects one if too many are queued.
func (q *readQueue) start(j *readJob) {
	rejected := q.add(j)
	if rejected != nil {
		rejected.reject("too many store reads are queued on the node",
			"retry later; the cause is a slow disk or large scans: the node's log lists slow reads")
	}
}

// readNow waits for the result of a read that no machine has requested, or until the node stops.
func (q *readQueue) readNow(loop *shardLoop, r entry.Read, now int64, stop <-chan struct{}) entry.ReadResult {
	const noMachine = 0
	r.ID = q.ids.Add(1)
	j := newReadJob(loop, noMachine, r, now)
	j.result = make(chan entry.ReadResult, 1)
	q.start(j)
	select {
	case res := <-j.result:
		return res
	case <-stop:
		return entry.ReadResult{Err: kv.Errorf(kv.KindUnavailable, "the node stops")}
	}
}

// reject completes a read with an error, as if the disk had returned it.
func (j *readJob) reject(text, hint string) {
	j.deliver(entry.ReadResult{ID: j.read.ID, Kind: j.read.Kind,
		Err: &kv.Error{Kind: kv.KindResourceExhausted, Op: -1, Text: text, Hint: hint, RetryAfter: slowReadRetry}})
}

// slowReadRetry is the suggested delay before a retry.
const slowReadRetry = time.Second

// reader is a goroutine that reads.
type reader struct {
	classes []readClass
	// active is the read that it executes, nil if none.
	active atomic.Pointer[activeRead]
}

type activeRead struct {
	// startedAt is when the read or its turn started, by the node's clock.
	startedAt int64
	job       *readJob
}

// newReaders makes n readers of single rows, and more for commits and ranges.
func newReaders(n int) []reader {
	var out []reader
	add := func(n int, classes ...readClass) {
		for range n {
			out = append(out, reader{classes: classes})
		}
	}
	few := max(n/4, 1)
	add(n, commitReads, pointReads)
	add(few, commitReads)
	add(1, rangeReads)
	add(few, pointReads, rangeReads)
	return out
}

func (n *Node) readLoop(r *reader) {
	defer n.rwg.Done()
	for {
		j := n.reads.take(r.classes)
		if j == nil {
			return
		}
		n.readOne(r, j)
	}
}

// readOne executes a read or one turn of it.
func (n *Node) readOne(r *reader, j *readJob) {
	if n.opt.NoMemory() {
		if n.reads.finish(j) {
			j.reject("the node has no memory for this store read (--memory-budget)",
				"retry later, and read less at a time")
		}
		return
	}
	begin := n.opt.Clock.Now()
	r.active.Store(&activeRead{begin, j})
	res, complete := j.readTurn(n.opt.Engine)
	r.active.Store(nil)
	if n.opt.Metrics != nil {
		n.opt.Metrics.StoreRead(time.Duration(n.opt.Clock.Now() - begin))
	}
	if !complete {
		n.reads.requeue(j)
		return
	}
	if !n.reads.finish(j) {
		return
	}
	if j.result == nil && sizeOf(res.Rows) > minFoldBytes {
		shard.FoldChain(&res)
	}
	j.deliver(res)
}

// minFoldBytes is the size from which on a reader computes the value of a key's chain. The shard folds
// smaller ones itself, which takes microseconds.
const minFoldBytes = 4 << 10

func sizeOf(rows []entry.Row) (n int) {
	for i := range rows {
		n += len(rows[i].Value)
	}
	return n
}

// readTurn reads, and reports whether the result is complete.
func (j *readJob) readTurn(e rowReader) (res entry.ReadResult, complete bool) {
	if j.turns == nil {
		return e.Read(j.loop.id, j.read), true
	}
	j.turnCount++
	switch {
	case j.turns.Add(e.Read(j.loop.id, j.turns.Next())):
		return j.turns.Result(), true
	case j.read.Short && j.turnCount >= maxPageTurns:
		return j.turns.Partial(), true
	}
	return res, false
}

// rowReader is the part of the engine that reads use.
type rowReader interface {
	Read(shard kv.ShardID, r entry.Read) entry.ReadResult
}

// slowReads logs reads that take long. The watcher alone uses it.
type slowReads struct {
	// reported is the time of the last log entry by the node's clock; 0 means never.
	reported int64
}

const (
	// slowReadAge is the age from which on a read is logged: a disk takes milliseconds.
	slowReadAge = time.Second
	// slowReadInterval is the minimum time between two log entries.
	slowReadInterval = 10 * time.Second
)

// check logs reads that have not ended for a long time, and what they wait for: the disk, or other reads.
func (s *slowReads) check(n *Node) {
	now := n.opt.Clock.Now()
	if s.reported != 0 && now-s.reported < int64(slowReadInterval) {
		return
	}
	var longest *activeRead
	slow := 0
	for i := range n.readers {
		at := n.readers[i].active.Load()
		if at != nil && now-at.startedAt >= int64(slowReadAge/2) {
			slow++
			if longest == nil || at.startedAt < longest.startedAt {
				longest = at
			}
		}
	}
	waiting, oldest := n.reads.backlog()
	switch {
	case longest != nil && now-longest.startedAt < int64(slowReadAge):
		return // logged at a later check
	case longest != nil:
		n.opt.Log.Warn("slow store reads: check the disk",
			append(longest.job.logFields(n, now-longest.startedAt), "slow", slow, "waiting", waiting)...)
	case oldest != nil && now-oldest.queuedAt >= int64(slowReadAge):
		user, reads := n.reads.busiest()
		n.opt.Log.Warn("store reads are queued for long",
			append(oldest.logFields(n, now-oldest.queuedAt), "waiting", waiting, "most_of", n.userName(user), "most", reads)...)
	default:
		return
	}
	s.reported = max(now, 1)
}

// logFields describe a read in the log.
func (j *readJob) logFields(n *Node, age int64) []any {
	what := kv.Point(j.read.Key)
	if j.class == rangeReads {
		what = j.read.Span
	}
	return []any{"longest", time.Duration(age).Round(time.Millisecond), "shard", j.loop.id.String(),
		"table", j.read.Table.String(), "range", cutText(what.String()), "user", n.userName(j.read.User)}
}

// userName names a user in the log.
func (n *Node) userName(u kv.Account) string {
	if u == 0 {
		return "(internal)"
	}
	if n.opt.UserName != nil {
		name := n.opt.UserName(u)
		if name != "" {
			return name
		}
	}
	return fmt.Sprintf("account %d", u)
}

// cutText shortens a text that contains names chosen by clients.
func cutText(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
