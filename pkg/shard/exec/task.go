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
	// Optimistic reads without locks; the commit validates what it has read.
	Optimistic
	// Prepare is a participant's piece.
	Prepare
	// Decide is the last agent's own piece, executed at the instant of the decision.
	Decide
	// Snapshot is a read-only transaction of this shard alone.
	Snapshot
	// Read is a reader's request in a read-only transaction of several shards.
	Read
)

// Reader reports whether the piece is part of a read-only transaction, which takes no locks and
// is registered in the snapshot-queues.
func (k Kind) Reader() bool { return k == Read || k == Snapshot }

func (k Kind) lockless() bool { return k == Optimistic || k.Reader() }

// Step is how far a piece has come.
type Step uint8

const (
	// Waiting: for keys, pages, locks or rows. Next, Woken or Granted report when it moves on.
	Waiting Step = iota
	// Loaded: the keys are in memory, or unreadable (Task.Err). A piece that is decided here
	// waits for votes now, a reader for its notices; Acquire and ReadRanges move it on.
	Loaded
	// Ready: locks are held and rows are read. Run executes it.
	Ready
	// Refused: it cannot go on; Task.Failure is why.
	Refused
)

type stage uint8

const (
	loading stage = iota
	loaded
	waiting
	ranging
	// held: outside, a piece waits for readers or votes.
	held
	// paging: for pages that executing the piece has shown to be absent.
	paging
	done
)

// Task is a piece under execution. The caller fills in the first part.
type Task struct {
	Kind    Kind
	Txn     kv.TxnRef
	Gateway kv.NodeID
	// User is whose transaction it is.
	User kv.Account
	Ops  []msg.Op
	// Seen are the versions that optimistic reads have returned, and the results of the first
	// operations, to be validated.
	Seen []msg.Seen
	// NoWait: the transaction is wounded, and dies where it would have to wait.
	NoWait bool
	// Admitted: it is not refused for what others do. Spans: other shards take part.
	Admitted, Spans bool
	// Owner is the caller's, to find its own again.
	Owner any

	// Failure is set with Refused, Err when a key, page or range could not be read.
	Failure *msg.Failure
	Err     error
	// Request is that of the lock table. When the transaction began, and
	// whether it lasts, are the caller's to fill in.
	Request locktable.Request

	stage stage
	// overflow: the task itself was too much, so that its end is no sign of progress.
	overflow bool
	// items are the keys of the point operations and of Seen, pinned.
	items []*mvcc.Item
	loads loads
	// reading are the reads of ranges without an answer.
	reading []uint64
	rows    map[uint32]mvcc.RangeRows
	scans   Scans
	ranges  bool
	// paged: it has asked for pages, so that the store may still refer to it when it ends.
	paged bool
	// plans: the lock set depends on what keys hold.
	plans bool
	// more are locks that executing it has shown to be needed.
	more  []locktable.Need
	usual usual
}

// usual is room for the usual case: one key.
type usual struct {
	need [1]locktable.Need
	item [1]*mvcc.Item
}

// loads are what a task waits for.
type loads struct {
	// missing counts the reads of the log that are under way for it.
	missing int
	// round tells reads of an earlier try apart.
	round int
}

// Caller is for whom the task waits, and whether that is a commit.
func (t *Task) Caller() (user kv.Account, commit bool) {
	return t.User, t.Kind == Prepare || t.Kind == Decide
}

// Ranges reports whether some operation is on a range.
func (t *Task) Ranges() bool { return t.ranges }

// ReadsAgain reports whether some of its operations are reads that are to be validated.
func (t *Task) ReadsAgain() bool {
	return slices.ContainsFunc(t.Seen, func(s msg.Seen) bool { return s.Digest != 0 })
}

// Shared reports whether reads of the log may still refer to the task after its end.
func (t *Task) Shared() bool { return t.ranges || t.paged }

// Idle reports whether a task has not gone further than its keys.
func (t *Task) Idle() bool { return t.stage == loading || t.stage == loaded }

// Loaded reports whether a task has its keys, and has not gone further.
func (t *Task) Loaded() bool { return t.stage == loaded }

// Held reports whether Hold has put the task aside.
func (t *Task) Held() bool { return t.stage == held }

// Register notes that a reader waits in the snapshot-queues.
func (t *Task) Register() { t.stage = waiting }

// Done reports whether the task has ended, or is being executed.
func (t *Task) Done() bool { return t.stage == done }

// fail ends a task's way.
func (t *Task) fail(f *msg.Failure) Step {
	t.Failure = f
	return Refused
}
