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

// Config are the bounds of readers.
type Config struct {
	// Lease is the longest lease of a registration.
	Lease time.Duration
	// Left bounds the ended readers that are remembered.
	Left int
	// Gateway is the gateway in the process of the shard, which ends with it; 0 if there is none.
	Gateway kv.NodeID
}

// Parts are the components of the shard that readers use.
type Parts struct {
	Env   *step.Env
	Store *store.Store
	Queue *snapshotqueue.Queue
	Exec  *exec.Executor
	Heat  *contention.Part
	Part  *agent.Participant
	Last  *agent.LastAgent
}

// Stats are counters. They never fall.
type Stats struct {
	// Reads counts responses, Waits the reads that waited for updates, WaitNanos the total time for which they
	// waited.
	Reads, Waits, WaitNanos uint64
}

// Readers are the read-only transactions of a shard.
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

	// readers are the transactions on several shards; ended are those that have left.
	readers   map[kv.TxnRef]*reader
	ended     outcome.Ended
	snapshots map[kv.TxnRef]*snapshot
	pool      step.Pool[snapshot]
	// Withheld: leadership is about to be transferred, and no reader is registered, except snapshot rounds. Registered
	// ones go on until they end. The gateways of others repeat their requests to the next leader.
	Withheld bool
	// pendingEntry are pieces that register at the next Settle.
	pendingEntry []*exec.Task
}

// New returns the readers of a shard.
func New(p Parts, cfg Config) *Readers {
	r := &Readers{
		Env: p.Env, store: p.Store, queue: p.Queue, exec: p.Exec, heat: p.Heat, part: p.Part, last: p.Last, cfg: cfg,
		readers: map[kv.TxnRef]*reader{}, snapshots: map[kv.TxnRef]*snapshot{},
	}
	r.ended.Init(p.Env.Now, cfg.Left)
	return r
}

// piece is one execution for a reader.
type piece struct {
	task exec.Task
	// registration is its read in the snapshot-queues.
	registration snapshotqueue.Read
}

// readRequest is a request of a transaction on several shards, in execution.
type readRequest struct {
	piece
	request *msg.Read
	// granted is the duration of its registration, if that is shorter than requested, else 0.
	granted int64
}

// reader is a read-only transaction on several shards: its current request or the last response, and the
// notices received for it. Its registration is in the snapshot-queues.
type reader struct {
	id kv.TxnRef
	// number is that of its newest request.
	number uint32
	// current is the request in execution. reply is the response to request number, as answered; a retry
	// receives it again while the reader is registered.
	current  *readRequest
	answered *msg.Read
	reply    *msg.ReadResponse
	// notices are the newest readings that other shards have reported.
	notices map[kv.ShardID]msg.Reading
	// expires is when the reader is forgotten unless another message arrives.
	expires int64
}

// pieceOf returns the piece of a task, nil if the task is not a reader's.
func pieceOf(t *exec.Task) *piece {
	switch x := t.Owner.(type) {
	case *readRequest:
		return &x.piece
	case *snapshot:
		return &x.piece
	}
	return nil
}

// Stats returns the counters.
func (r *Readers) Stats() Stats { return r.stats }

// Len is the number of read-only transactions: of those registered or of those with state here, whichever is
// larger, plus the snapshots of this shard.
//
// A registered reader may have no state here, after its request has ended; and one with state may not be registered
// yet.
func (r *Readers) Len() int { return max(len(r.readers), r.queue.ReaderCount()) + len(r.snapshots) }

// Snapshots returns the running snapshots of this shard alone, oldest first.
func (r *Readers) Snapshots() []kv.TxnRef {
	return slices.SortedFunc(maps.Keys(r.snapshots), kv.TxnRef.CompareAge)
}

// HasReaders reports whether Clean has something to do.
func (r *Readers) HasReaders() bool { return len(r.readers) > 0 }

// HasLeft reports whether a reader has ended: its messages are late copies.
//
// A bounded number is remembered. After that, a late copy of a request registers the reader for one lease at most.
func (r *Readers) HasLeft(id kv.TxnRef) bool {
	_, left := r.ended.Get(id)
	return left
}

// EndStep releases what only the messages of the step referred to.
func (r *Readers) EndStep() { r.pool.EndStep() }

// touchReader returns a reader, a new one if it is unknown, and extends its time.
func (r *Readers) touchReader(id kv.TxnRef) *reader {
	x := r.readers[id]
	if x == nil {
		x = &reader{id: id}
		r.readers[id] = x
	}
	x.expires = r.Now + int64(r.cfg.Lease)
	return x
}

// Clean removes the state of readers that have sent nothing for a lease. Their registrations expire in the
// snapshot-queues.
//
// An open reader renews its leases and stays. A reader that was remembered for a notice alone, whose request never
// arrives, ends here.
func (r *Readers) Clean() {
	var expired []kv.TxnRef
	for id, x := range r.readers {
		// A read that waits in the snapshot-queues, or for the log, is not idle: it ends by itself.
		idle := x.current == nil || x.current.task.Loaded()
		if r.Now >= x.expires && idle && !r.queue.IsRegistered(id) {
			expired = append(expired, id)
		}
	}
	slices.SortFunc(expired, kv.TxnRef.CompareAge)
	for _, id := range expired {
		r.cancelRead(r.readers[id])
		delete(r.readers, id)
	}
}
