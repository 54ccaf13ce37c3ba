package node

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// Reads of the store are done by a few goroutines, the readers, and wait for them in queues that have
// a bound. The committer fills these, and must not wait: on a disk that stands still it would do so for
// ever, and so would every shard of the node, also for transactions whose keys are all in memory. So
// beyond the bound reads fail, as if the disk had said so: those of the user who has most.
//
//	reads of commits ─────▶ commit readers
//	          └───────────▶ point readers
//	reads of single rows ─────────┘ └────▶ range readers, but one
//	reads of ranges ─────────────────────▶ range readers: a turn, and back into the queue
//
// A range is read in turns of 2 ms (engine.Turns), between which its result can turn out not to be used:
// its call has ended, and the shard drops the read (shard.Output.Dropped). A page of a scan that has had
// many turns is answered with what it has.

const (
	// maxReadsWaiting bounds the reads that wait for a reader. Somewhat arbitrary.
	maxReadsWaiting = 4096
	// turnRows is how many rows a range looks at in one turn. Somewhat arbitrary: it takes less than the
	// 2 ms that a turn may take if the rows are in memory.
	turnRows = 4096
	// shortAfter is after how many turns a page is answered as it is. Somewhat arbitrary.
	shortAfter = 50
)

// startRead has a read done soon, or fail at once if too many wait.
func (n *Node) startRead(loop *shardLoop, r entry.Read) {
	refused := n.reads.add(newReadJob(loop, r, n.opt.Clock.Now()))
	if refused != nil {
		refused.refuse("too many store reads are queued on the node",
			"retry later; the cause is a slow disk or large scans: the node's log lists slow reads")
	}
}

// refuse fails a read as if the disk had.
func (j *readJob) refuse(text, hint string) {
	j.loop.inbox.pushRead(entry.ReadResult{ID: j.read.ID, Kind: j.read.Kind,
		Err: &kv.Error{Kind: kv.KindResourceExhausted, Op: -1, Text: text, Hint: hint, RetryAfter: retrySlow}})
}

// retrySlow is when to come back to a node that could not read. Somewhat arbitrary.
const retrySlow = time.Second

// reader is one of the goroutines that read.
type reader struct {
	classes []readClass
	// at is what it reads.
	at atomic.Pointer[readUnderway]
}

type readUnderway struct {
	// since is when the read, or its turn, began, by the node's clock.
	since int64
	job   *readJob
}

// newReaders makes n readers of single rows, and those of commits and of ranges beside them.
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

// readOne does a read, or a turn of it.
func (n *Node) readOne(r *reader, j *readJob) {
	if n.opt.NoMemory() {
		if n.reads.done(j) {
			j.refuse("the node has no memory for this store read (--memory-budget)",
				"retry later, and read less at a time")
		}
		return
	}
	begin := n.opt.Clock.Now()
	r.at.Store(&readUnderway{begin, j})
	res, complete := j.turn(n.opt.Engine)
	r.at.Store(nil)
	if n.opt.Metrics != nil {
		n.opt.Metrics.StoreRead(time.Duration(n.opt.Clock.Now() - begin))
	}
	if !complete {
		n.reads.again(j)
		return
	}
	if !n.reads.done(j) {
		return
	}
	if sizeOf(res.Rows) > foldHere {
		shard.Fold(&res)
	}
	j.loop.inbox.pushRead(res)
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

// turn reads, and reports whether the result is complete.
func (j *readJob) turn(e storeReader) (res entry.ReadResult, complete bool) {
	if j.turns == nil {
		return e.Read(j.loop.id, j.read), true
	}
	j.taken++
	switch {
	case j.turns.Add(e.Read(j.loop.id, j.turns.Next())):
		return j.turns.Result(), true
	case j.read.Short && j.taken >= shortAfter:
		return j.turns.Partial(), true
	}
	return res, false
}

// storeReader is what a read needs of the engine.
type storeReader interface {
	Read(shard kv.ShardID, r entry.Read) entry.ReadResult
}

// slowReads reports reads that take long. Only the watcher uses it.
type slowReads struct {
	// reported is when it did so last, by the node's clock; 0 is never.
	reported int64
}

const (
	// slowRead is from when on an operator should know: a disk takes milliseconds.
	slowRead = time.Second
	// slowReadEvery is how often that is logged at most.
	slowReadEvery = 10 * time.Second
)

// look logs reads that have not ended for long, once in a while, and what they wait for: the disk, or
// other reads.
func (s *slowReads) look(n *Node) {
	now := n.opt.Clock.Now()
	if s.reported != 0 && now-s.reported < int64(slowReadEvery) {
		return
	}
	var longest *readUnderway
	slow := 0
	for i := range n.readers {
		at := n.readers[i].at.Load()
		if at != nil && now-at.since >= int64(slowRead/2) {
			slow++
			if longest == nil || at.since < longest.since {
				longest = at
			}
		}
	}
	waiting, oldest := n.reads.backlog()
	switch {
	case longest != nil && now-longest.since < int64(slowRead):
		return // soon
	case longest != nil:
		n.opt.Log.Warn("slow store reads: check the disk",
			append(longest.job.about(n, now-longest.since), "slow", slow, "waiting", waiting)...)
	case oldest != nil && now-oldest.since >= int64(slowRead):
		user, reads := n.reads.busiest()
		n.opt.Log.Warn("store reads are queued for long",
			append(oldest.about(n, now-oldest.since), "waiting", waiting, "most_of", n.userName(user), "most", reads)...)
	default:
		return
	}
	s.reported = max(now, 1)
}

// about is what the log says of a read.
func (j *readJob) about(n *Node, took int64) []any {
	what := kv.Point(j.read.Key)
	if j.class == rangeReads {
		what = j.read.Span
	}
	return []any{"longest", time.Duration(took).Round(time.Millisecond), "shard", j.loop.id.String(),
		"table", j.read.Table.String(), "range", cutText(what.String()), "user", n.userName(j.read.User)}
}

// userName names a user for the log.
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

// cutText shortens what clients have named.
func cutText(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
