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

// Parts are those of the shard that both roles work with.
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

// Config has the times of both roles.
type Config struct {
	// Repeat is the first time between two sendings of a message that has no answer; it doubles up
	// to Liveness, which is how long a silence lasts before somebody is asked.
	Repeat, Liveness time.Duration
	// Ended bounds the attempts that are remembered to have ended here without a record.
	Ended int
	// FixedUnseal: how long readers wait for sealed updates is configured, and not measured.
	FixedUnseal bool
}

// Stats are the counters of both roles; they only rise.
type Stats struct {
	// Committed counts transactions decided here, Applied those applied as a participant; Aborted
	// those that were decided against, by reason.
	Committed, Applied uint64
	Aborted            [16]uint64
	// WoundsSent counts messages to holders that are wounded, LocksBroken attempts that were ended
	// because their gateway is gone, UnsealsAsked requests to put a decision off.
	WoundsSent, LocksBroken, UnsealsAsked uint64
	// ParkToReady is the time that parked pieces waited for votes and rows; VoteToDecide that of
	// participants for the decision.
	ParkToReady, VoteToDecide step.Duration
}

// Abort counts an abort.
func (s *Stats) Abort(f *msg.Failure) {
	if f != nil && int(f.Reason) < len(s.Aborted) {
		s.Aborted[f.Reason]++
	}
}

// deadline is when a role's messages are to be repeated next. One time is enough: a round looks at
// everything that could be due.
type deadline struct{ next int64 }

func (d *deadline) at(when int64) { d.next = min(d.next, when) }

// Next is when Tick has something to do.
func (d *deadline) Next() int64 { return d.next }

// OrHeld is a receipt, or that of the time for which readers have held the transaction here, if that
// was worse.
func (p *Parts) OrHeld(r msg.Receipt, txn kv.TxnRef) msg.Receipt {
	nanos, _ := p.Queue.HeldFor(p.Now, txn)
	if nanos == 0 {
		return r
	}
	return msg.Worst(r, p.Queue.Receipt(p.Now, txn))
}
