package groups

import (
	"sync"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/node/replication"
	"github.com/linchpindb/linchpin/pkg/raftlog"
)

// queue is what waits for a goroutine that takes all of it at once.
type queue[T any] struct {
	mu     sync.Mutex
	items  []T
	closed bool
	signal chan struct{}
}

func newQueue[T any]() *queue[T] { return &queue[T]{signal: make(chan struct{}, 1)} }

func (q *queue[T]) add(x T) {
	q.mu.Lock()
	q.items = append(q.items, x)
	q.mu.Unlock()
	q.wake()
}

func (q *queue[T]) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// close has take return nil when all items are taken.
func (q *queue[T]) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
}

// take waits for items. It returns nil when the queue is closed and empty.
func (q *queue[T]) take() []T {
	for {
		q.mu.Lock()
		items, closed := q.items, q.closed
		q.items = nil
		q.mu.Unlock()
		if len(items) > 0 || closed {
			return items
		}
		<-q.signal
	}
}

// logWriter writes the logs of the node's replicas: one goroutine appends, another one waits for the disk (R6.2). While
// an fsync runs, the next batch is appended.
type logWriter struct {
	opt      *Options
	counters *counters
	turns    *turns
	records  *queue[logRecord]
	written  *queue[writtenLog]
	wg       sync.WaitGroup
	disk     disk
}

// logRecord is what a replica wants to be written. A turn of the replica calls done when it is durable; nil if that is
// of no interest.
type logRecord struct {
	raftlog.Record
	replica *replica
	done    func(now int64)
}

// writtenLog is a batch that is appended at a position.
type writtenLog struct {
	at      engine.Position
	records []logRecord
	since   int64
}

func newLogWriter(o *Options, c *counters, t *turns) *logWriter {
	return &logWriter{opt: o, counters: c, turns: t, records: newQueue[logRecord](), written: newQueue[writtenLog]()}
}

func (w *logWriter) start() {
	w.wg.Go(w.append)
	w.wg.Go(w.await)
}

func (w *logWriter) append() {
	defer w.written.close()
	var records []raftlog.Record
	for {
		batch := w.records.take()
		if batch == nil {
			return
		}
		records = records[:0]
		for i := range batch {
			records = append(records, batch[i].Record)
		}
		since := w.opt.Clock.Now()
		w.disk.begin(since)
		at, err := w.opt.Replication.Log.Write(records)
		if err != nil {
			w.opt.OnFatal(err) // R6.3
			return
		}
		w.counters.countLog(batch)
		w.written.add(writtenLog{at, batch, since})
	}
}

func (w *logWriter) await() {
	var ended []*replica
	for {
		all := w.written.take()
		if all == nil {
			return
		}
		// One fsync may cover several batches.
		if err := w.opt.Replication.Log.WaitDurable(all[len(all)-1].at); err != nil {
			w.opt.OnFatal(err)
			return
		}
		w.onDiskEnd(len(all))
		ended = ended[:0]
		for _, b := range all {
			entries := 0
			for i := range b.records {
				x := &b.records[i]
				if x.Write != nil {
					entries += len(x.Write.Entries)
				}
				if x.done != nil {
					x.replica.in.end(x.done)
					ended = append(ended, x.replica)
				}
			}
			w.opt.OnDurable(entries, b.since)
		}
		w.turns.add(ended...)
	}
}

// close returns when everything is written. Nothing may be added any more.
func (w *logWriter) close() {
	w.records.close()
	w.wg.Wait()
}

// rowWriter sets the rows that the groups of the node have committed (R2.4). It may wait for the disk; the replicas
// never do.
type rowWriter struct {
	opt   *Options
	turns *turns
	jobs  *queue[rowJob]
	wg    sync.WaitGroup
}

// rowJob is a batch of committed rows, or the rows of a Raft snapshot. done is called with the position in the store,
// and then the replica takes a turn, if it is not nil.
// check is set if the rows are to be checked as they are then: it gets a view of them, or why there is none.
type rowJob struct {
	replica *replica
	apply   *replication.Apply
	rows    engine.ShardWriter
	done    func(at engine.Position)
	check   func(view engine.ShardReader, err error)
}

func newRowWriter(o *Options, t *turns) *rowWriter {
	return &rowWriter{opt: o, turns: t, jobs: newQueue[rowJob]()}
}

func (w *rowWriter) start() { w.wg.Go(w.run) }

func (w *rowWriter) run() {
	for {
		jobs := w.jobs.take()
		if jobs == nil {
			return
		}
		for len(jobs) > 0 {
			n, err := w.write(jobs)
			if err != nil {
				w.opt.OnFatal(err)
				return
			}
			jobs = jobs[n:]
		}
	}
}

// write executes the first jobs, and returns their number.
func (w *rowWriter) write(jobs []rowJob) (n int, err error) {
	if jobs[0].rows != nil {
		at, err := jobs[0].rows.Replace()
		if err == nil {
			jobs[0].done(at)
		}
		return 1, err
	}
	var groups []entry.Group
	for n < len(jobs) && jobs[n].apply != nil {
		groups = append(groups, jobs[n].apply.Group)
		n++
		if jobs[n-1].check != nil {
			break // later batches are not in its view
		}
	}
	at, err := w.opt.Engine.Append(groups)
	if err != nil {
		return 0, err
	}
	if last := jobs[n-1]; last.check != nil {
		last.check(w.opt.Engine.ReadShard(last.apply.Group.Shard))
	}
	ended := make([]*replica, 0, n)
	for i := range n {
		jobs[i].done(at)
		ended = append(ended, jobs[i].replica)
	}
	w.turns.add(ended...)
	return n, nil
}

// close returns when everything is set. Nothing may be added any more.
func (w *rowWriter) close() {
	w.jobs.close()
	w.wg.Wait()
}
