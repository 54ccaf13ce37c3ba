package agent

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/expiry"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
	"github.com/linchpindb/linchpin/pkg/shard/record"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/shard/store"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// Parts are the components of the shard that both roles share.
type Parts struct {
	*step.Env
	Store    *store.Store
	Locks    *locktable.Table
	Queue    *snapshotqueue.Queue
	Exec     *exec.Executor
	Heat     *contention.Part
	Expiry   *expiry.Deadlines
	Outcomes *outcome.Outcomes
	Records  *record.Table
}

// Config has the times and bounds of both roles.
type Config struct {
	// Repeat is the first interval between two sendings of a message that has had no response. It
	// doubles up to Liveness, which is also the silence after which a vote is requested or a push is
	// sent.
	Repeat, Liveness time.Duration
	// Ended bounds the attempts that are remembered as ended without a record.
	Ended int
	// FixedUnseal: the time for which a reader waits before it requests an unseal is configured, not
	// derived from measurements.
	FixedUnseal bool
}

// Stats are the counters of both roles. They never decrease.
type Stats struct {
	// Committed counts transactions that this shard decided to commit, Applied those that it applied
	// as a participant, Aborted those that it decided to abort, by reason.
	Committed, Applied uint64
	Aborted            [16]uint64
	// WoundsSent counts wounds that were sent to holders, LocksBroken attempts that were ended
	// because their gateway does not know them or their user is overdrawn, UnsealsRequested unseal
	// requests.
	WoundsSent, LocksBroken, UnsealsRequested uint64
	// RequestToReady is the time from the creation of a record until all votes and keys are there.
	// VoteToDecision is the time from a participant's first vote to the decision.
	RequestToReady, VoteToDecision step.Duration
}

// CountAbort counts an abort.
func (s *Stats) CountAbort(f *msg.Failure) {
	if f != nil && int(f.Reason) < len(s.Aborted) {
		s.Aborted[f.Reason]++
	}
}

// deadline is when the next message of a role is due to be repeated. One time suffices, because Tick
// looks at all candidates.
type deadline struct{ next int64 }

func (d *deadline) schedule(when int64) { d.next = min(d.next, when) }

// Next is when Tick has something to do.
func (d *deadline) Next() int64 { return d.next }

// worstReceipt returns r, or the receipt of the time for which readers have held the transaction
// here, if that is longer.
func (p *Parts) worstReceipt(r msg.Receipt, txn kv.TxnRef) msg.Receipt {
	nanos, _ := p.Queue.HeldTime(p.Now, txn)
	if nanos == 0 {
		return r
	}
	return msg.Worst(r, p.Queue.Receipt(p.Now, txn))
}
