package txn

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
)

type phase uint8

const (
	// phaseIdle: an interactive transaction between two calls.
	phaseIdle phase = iota
	// phaseLocking: lock requests are outstanding.
	phaseLocking
	// phaseReading: reads without locks are outstanding.
	phaseReading
	// phaseCommitting: the commit has been sent; only the last agent can end
	// it now.
	phaseCommitting
	// phaseChecking: a reader checks that its locks were never lost.
	phaseChecking
	// phaseBackoff: the next attempt starts at retryAt.
	phaseBackoff
	// phasePaging: a scan reads at its kept indexes.
	phasePaging
	// phasePinning: a state is being fixed by a round.
	phasePinning
	// phaseAsking: the hot shard has a question.
	phaseAsking
	// phaseSharing: the same read of another transaction answers this one too.
	phaseSharing
)

func (p phase) String() string {
	return [...]string{"idle", "locking", "reading", "committing", "checking", "backoff", "paging", "pinning", "asking", "sharing"}[p]
}

type callKind uint8

const (
	oneShot callKind = iota
	interactive
	scanning
	// snapping is about a pin that is kept; pinning is a round.
	snapping
	pinning
	// lending is a state for another machine of the node.
	lending
	// moving moves a key to another shard.
	moving
	// ruling asks about hot keys, or sets the rules for them.
	ruling
)

// call is one transaction at its gateway.
type call struct {
	ref      kv.TxnRef
	kind     callKind
	phase    phase
	token    Token
	readOnly bool
	started  int64
	deadline int64
	// ops are those of a one-shot, or of the Do under way.
	ops []msg.Op

	// ticket is the place that the call has taken, interest what it is counted
	// with, if it is interactive; nil before the first call.
	ticket admission.Ticket
	*interest

	marked   bool
	markedAt int64
	// idleSince is when the last call of an interactive one ended; left is how many
	// shards were known to leave, or to have left, when it began.
	idleSince int64
	left      uint64
	retryAt   int64
	aborts    []msg.Reason // of the attempts before this one
	contested bool         // another commit of the id was found under way
	redirects uint32       // of the attempts before this one, those that only looked in the wrong place
	receipt   msg.Receipt
	// open is the wait that lasts, as far as was heard of it, and ended tells of
	// the attempts that others ended. conflict is what the mark is for.
	open     *waits
	ended    Ended
	conflict *msg.Receipt
	// doFrom and doBy are when an interactive call began and its deadline, 0 for
	// none.
	doFrom, doBy int64

	*session        // reads and writes of an attempt that locks before it commits
	commit   commit // phaseCommitting
	oneSend  [1]*msg.Envelope
	onePiece [1]shardPiece
	check    checks  // phaseChecking
	scan     *paging // phasePaging
	reading  *reading
	rollback bool // the check under way ends a rollback
	// concluded is the failure that the check under way is for.
	concluded *msg.Failure

	how How
	// past is the state that is read, if it is not the present.
	past *past
	// round is the one that the call waits for, while waiting, or at whose state
	// it reads.
	round   *round
	waiting bool
	// pinAt is when an open reader is to be pinned, 0 for not.
	pinAt int64
	// question is the one under way; questions counts them.
	question  *question
	questions uint32
	// What to keep, or that to drop.
	pinName  string
	pinTTL   int64
	dropping bool
	pins     []msg.Pin
	move     *move
	sharing
	// places are where keys are that were not where they were looked for.
	places map[string]kv.ShardID
}

// interest is the keys that an interactive transaction has named so far: claimed
// in their order, wants to find them.
type interest struct {
	claimed [][]byte
	wants   map[string]bool
}

// cancelAt is when an undecided commit is cancelled, so that its outcome is
// known by the deadline.
func (c *call) cancelAt() int64 { return giveUpAt(c.started, c.deadline) }

// lastRepeat is when what has no answer is repeated once more before that.
func (c *call) lastRepeat() int64 { return lastRepeat(c.started, c.deadline) }

// endAt is when a call that has not asked to commit is given up, and lastAsk
// when it asks once more before that.
func (c *call) endAt() int64 {
	switch {
	case c.doBy != 0:
		return min(giveUpAt(c.doFrom, c.doBy), c.deadline)
	case c.kind == oneShot, c.kind == scanning && !c.scan.opened:
		return c.cancelAt()
	}
	return c.deadline
}

func (c *call) lastAsk() int64 {
	switch {
	case c.doBy != 0:
		return lastRepeat(c.doFrom, c.doBy)
	case c.kind == oneShot, c.kind == scanning:
		return c.lastRepeat()
	}
	return 0
}
