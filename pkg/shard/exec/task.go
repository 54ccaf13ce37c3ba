package exec

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
)

// Kind is the purpose of a piece.
type Kind uint8

const (
	// Lock reads under locks that last, for an interactive transaction.
	Lock Kind = iota
	// Optimistic reads without locks; the commit validates the reads.
	Optimistic
	// Prepare is the piece of a participant.
	Prepare
	// Decide is the piece of the last agent, executed in the step of the decision.
	Decide
	// Snapshot is a read-only transaction on this shard alone.
	Snapshot
	// Read is a request of a read-only transaction on several shards.
	Read
)

// Reader reports whether the piece belongs to a read-only transaction, which takes no locks and registers in
// the snapshot-queues.
func (k Kind) Reader() bool { return k == Read || k == Snapshot }

// isLockless reports whether the piece takes no locks.
func (k Kind) isLockless() bool { return k == Optimistic || k.Reader() }

// Step is the progress of a piece, as the caller sees it.
type Step uint8

const (
	// Waiting: for keys, pages, locks or rows. Next, OnWake or Granted advance it.
	Waiting Step = iota
	// Loaded: the keys are in memory, or unreadable (Task.Err). The piece of a last agent waits for votes now, a
	// reader for its notices; Acquire and ReadRanges advance it.
	Loaded
	// Ready: locks are held and rows are read. Run executes it.
	Ready
	// Refused: the piece is rejected, for the reason in Task.Failure.
	Refused
)

// stage is the progress of a piece; see the drawing of the package comment.
type stage uint8

const (
	loading stage = iota
	loaded
	waiting
	ranging
	// held: the piece is suspended by Hold and waits for readers or votes.
	held
	// paging: the piece waits for pages that its execution has found to be absent.
	paging
	done
)

// Task is a piece in execution. The caller sets the first part.
type Task struct {
	Kind    Kind
	Txn     kv.TxnRef
	Gateway kv.NodeID
	// User is the user of the transaction.
	User kv.Account
	Ops  []msg.Op
	// Seen are the optimistic reads to validate: by version, or by the digest of the results of the first
	// operations.
	Seen []msg.Seen
	// NoWait: the transaction is wounded; the task is rejected if it would have to wait.
	NoWait bool
	// Admitted: the bounds for new work do not apply. Spans: the transaction has other shards.
	Admitted, Spans bool
	// Owner belongs to the caller.
	Owner any

	// Failure is set with the step Refused. Err is set when a key, page or range could not be read.
	Failure *msg.Failure
	Err     error
	// Request is the request to the lock table. The caller sets Begun and Lasting.
	Request locktable.Request

	stage stage
	// overflow: the task was rejected by a bound, so its end does not count in the completion rate.
	overflow bool
	// items are the referenced keys of point operations and of Seen.
	items []*mvcc.Item
	loads loads
	// rangeReads are the ids of range reads in flight.
	rangeReads []uint64
	rows       map[uint32]mvcc.RangeRows
	scans      Scans
	ranges     bool
	// waitedForPages: the task has requested pages, so the store may still refer to it after its end.
	waitedForPages bool
	// planned: the lock set depends on values.
	planned bool
	// extraNeeds are locks that an execution has found to be missing.
	extraNeeds []locktable.Need
	scratch    taskScratch
}

// taskScratch is the memory for the common case of one key.
type taskScratch struct {
	need [1]locktable.Need
	item [1]*mvcc.Item
}

// loads are the reads for which a task waits.
type loads struct {
	// missing is the number of outstanding reads.
	missing int
	// generation distinguishes the current reads from those of an earlier try, whose responses are ignored.
	generation int
}

// Caller returns the user of the task, and whether the task is part of a commit.
//
// Reads of commits have goroutines of their own, in which users take turns (docs/protocol.md, section 7).
func (t *Task) Caller() (user kv.Account, commit bool) {
	return t.User, t.Kind == Prepare || t.Kind == Decide
}

// Ranges reports whether an operation is on a range.
func (t *Task) Ranges() bool { return t.ranges }

// ReadsAgain reports whether some operations repeat reads in order to validate them.
//
// Such reads were ranges or queries without locks. They are the first operations of the task, before its writes.
func (t *Task) ReadsAgain() bool {
	return slices.ContainsFunc(t.Seen, func(s msg.Seen) bool { return s.Digest != 0 })
}

// Shared reports whether reads in flight may still refer to the task after its end.
func (t *Task) Shared() bool { return t.ranges || t.waitedForPages }

// Idle reports whether a task has not advanced beyond its keys.
func (t *Task) Idle() bool { return t.stage == loading || t.stage == loaded }

// Loaded reports whether a task has its keys and has not advanced further.
func (t *Task) Loaded() bool { return t.stage == loaded }

// Held reports whether Hold has suspended the task.
func (t *Task) Held() bool { return t.stage == held }

// Register records that a reader waits in the snapshot-queues.
//
// A reader has no lock request that could be pending; the stage keeps late wakes from advancing it.
func (t *Task) Register() { t.stage = waiting }

// Done reports whether the task has ended or is being executed.
func (t *Task) Done() bool { return t.stage == done }

// refuse rejects a task.
func (t *Task) refuse(f *msg.Failure) Step {
	t.Failure = f
	return Refused
}
