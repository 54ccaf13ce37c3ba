package agent

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
	"github.com/linchpindb/linchpin/pkg/shard/exec"
	"github.com/linchpindb/linchpin/pkg/shard/expiry"
	"github.com/linchpindb/linchpin/pkg/shard/interactive"
	"github.com/linchpindb/linchpin/pkg/shard/record"
	"github.com/linchpindb/linchpin/pkg/shard/step"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
)

// Parts are the components of the shard that both roles share.
type Parts struct {
	*interactive.Requests
	Heat    *contention.Part
	Expiry  *expiry.Deadlines
	Records *record.Table
}

// Config has the times and bounds of both roles.
type Config struct {
	// Repeat is the first interval between two sendings of a message that has had no response. It
	// doubles up to Liveness, which is also the silence after which a vote is requested or a push is
	// sent.
	Repeat, Liveness time.Duration
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

// makeVisible turns an effect into a version at the current CSN. The caller holds a reference to the
// item.
func (p *Parts) makeVisible(txn kv.TxnRef, it *mvcc.Item, e *entry.Effect) {
	before, after := p.Store.MakeVisible(it, e)
	if before.Expires|after.Expires != 0 {
		p.Expiry.Settle(it.Key, before.Expires, after.Expires, e)
	}
	if p.Trace.Visible != nil {
		p.Trace.Visible(txn, e, after, p.Store.CSN())
	}
}

// csnOnly is the change of a piece that writes only on other shards: it raises the CSN of this
// shard, which is the transaction's causality token. A snapshot round that fixes the CSN must hold
// it. Otherwise: the round fixes this shard before F(T) and a participant after it; the snapshot
// contains the update, but its CSN here does not cover the token.
var csnOnly = []snapshotqueue.Need{{Span: kv.Point(nil), Mode: adt.ModeWrite}}

// failureOf returns the failure of an executed piece, nil for none. A response that exceeds the
// client's limit, together with the results of the votes, is a failure: the commit would be made and
// the client could not receive its results.
func failureOf(x *mvcc.Execution, votedBytes int, maxResponse uint32) *msg.Failure {
	if x.Failure != nil || maxResponse == 0 {
		return x.Failure
	}
	return msg.ResponseTooLarge(votedBytes+msg.ResponseBytes(x.Results), maxResponse)
}

// validate returns the failure of a piece that was executed with failure f, nil for none. A stale
// read takes precedence over f, because the client may have caused f by what it read: the attempt is
// then retried instead of failing. again is the number of results that belong to reads which were
// executed only to be validated.
func (p *Parts) validate(t *exec.Task, x *mvcc.Execution, f *msg.Failure) (again int, _ *msg.Failure) {
	again, stale := p.Exec.ValidateReads(t, x.Results)
	return again, p.precedingFailure(stale, f)
}

// staleGrantFailure is the failure of an attempt that has lost a grant.
func staleGrantFailure() *msg.Failure {
	return msg.Fail(msg.ReasonStaleGrant, kv.KindAborted, "the transaction lost a read lock")
}
