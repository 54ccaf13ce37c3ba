package readers

import (
	"maps"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/agent"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// Config bounds readers.
type Config struct {
	// Lease is for how long a reader may be registered without a word.
	Lease time.Duration
	// Left bounds the readers that are remembered to have left.
	Left int
	// Gateway is the one that ends when the shard's process does; 0 for none.
	Gateway kv.NodeID
}

// Parts are those of the shard that readers work with.
type Parts struct {
	Env   *step.Env
	Store *store.Store
	Queue *snapshotqueue.Queue
	Exec  *exec.Executor
	Heat  *contention.Part
	Part  *agent.Participant
	Last  *agent.LastAgent
}

// Stats are counters; they only rise.
type Stats struct {
	// Reads counts answers, Waits those that had to wait for updates, in WaitNanos together.
	Reads, Waits, WaitNanos uint64
}

// Readers are a shard's read-only transactions.
type Readers struct {
	*step.Env
	store *store.Store
	queue *snapshotqueue.Queue
	exec  *exec.Executor
	heat  *contention.Part
	part  *agent.Participant
	last  *agent.LastAgent
	cfg   Config
	stats Stats

	// readers are those of several shards; left are those that have ended.
	readers   map[kv.TxnRef]*reader
	left      outcome.Ended
	snapshots map[kv.TxnRef]*snapshot
	pool      step.Pool[snapshot]
	// loaded are pieces that are to enter the snapshot-queues when Settle is called.
	loaded []*exec.Task
}

// New makes a shard's readers.
func New(p Parts, cfg Config) *Readers {
	r := &Readers{Env: p.Env, store: p.Store, queue: p.Queue, exec: p.Exec, heat: p.Heat, part: p.Part, last: p.Last, cfg: cfg,
		readers: map[kv.TxnRef]*reader{}, snapshots: map[kv.TxnRef]*snapshot{}}
	r.left.Init(p.Env.Now, cfg.Left)
	return r
}

// piece is one execution for a reader.
type piece struct {
	task exec.Task
	// entered is its read in the snapshot-queues.
	entered snapshotqueue.Read
}

// reading is a request of a reader of several shards, under way.
type reading struct {
	piece
	q *msg.Read
}

// reader is a read-only transaction of several shards: its read under way or the answer, and the
// notices that have come for it. Its registration is in the snapshot-queues.
type reader struct {
	id kv.TxnRef
	// number is that of its newest request.
	number uint32
	// reading is under way; replied is the answer to number, which a repeat gets again while the
	// reader is registered.
	reading *reading
	replied *msg.Read
	reply   *msg.ReadResponse
	// notices are the newest readings that other shards have reported.
	notices map[kv.ShardID]msg.Reading
	// expires is when it is forgotten if nothing more is heard of it.
	expires int64
}

func pieceOf(t *exec.Task) *piece {
	switch x := t.Owner.(type) {
	case *reading:
		return &x.piece
	case *snapshot:
		return &x.piece
	}
	return nil
}

// Stats gives the counters.
func (r *Readers) Stats() Stats { return r.stats }

// Len is the number of read-only transactions: those that are registered, or those of which something
// is here, whichever are more.
func (r *Readers) Len() int { return max(len(r.readers), r.queue.Readers()) + len(r.snapshots) }

// Snapshots are the snapshots of this shard alone that are under way, by age.
func (r *Readers) Snapshots() []kv.TxnRef {
	return slices.SortedFunc(maps.Keys(r.snapshots), kv.TxnRef.CompareAge)
}

// Known reports whether Clean has anything to do.
func (r *Readers) Known() bool { return len(r.readers) > 0 }

// Left reports whether a reader has left: what comes from it is late.
func (r *Readers) Left(id kv.TxnRef) bool {
	_, left := r.left.Get(id)
	return left
}

// EndStep frees what only the step still referred to.
func (r *Readers) EndStep() { r.pool.EndStep() }

func (r *Readers) readerOf(id kv.TxnRef) *reader {
	x := r.readers[id]
	if x == nil {
		x = &reader{id: id}
		r.readers[id] = x
	}
	x.expires = r.Now + int64(r.cfg.Lease)
	return x
}

// Clean drops what is left of readers that nothing was heard of for long. What has entered the
// snapshot-queues lapses there.
func (r *Readers) Clean() {
	var gone []kv.TxnRef
	for id, x := range r.readers {
		idle := x.reading == nil || x.reading.task.Loaded()
		if r.Now >= x.expires && idle && !r.queue.Registered(id) {
			gone = append(gone, id)
		}
	}
	slices.SortFunc(gone, kv.TxnRef.CompareAge)
	for _, id := range gone {
		r.stop(r.readers[id])
		delete(r.readers, id)
	}
}
