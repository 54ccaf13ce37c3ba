package agent

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/outcome"
)

// commitRef is the commit that a message to the last agent names, with what the message states about it.
type commitRef struct {
	txn         kv.TxnRef
	commit      kv.CommitID
	user        kv.Account
	known       kv.KnownState
	fingerprint uint64
	// shard is the participant that sent the message.
	shard kv.ShardID
	// needsResult: the gateway sent the message. If an earlier commit of the id was made, its client must
	// receive that result and no abort.
	needsResult bool
}

func refOfVote(v *msg.Vote) *commitRef {
	return &commitRef{txn: v.Txn, commit: v.CommitID, user: v.User, known: v.Known(), shard: v.Shard}
}

func refOfUnseal(u *msg.Unseal) *commitRef {
	return &commitRef{txn: u.Txn, commit: u.CommitID, user: u.User, known: u.Known(), shard: u.Shard}
}

func refOfRequest(p *msg.CommitRequest) *commitRef {
	return &commitRef{txn: p.Txn, commit: p.CommitID, user: p.User, known: p.Known(), fingerprint: p.Fingerprint,
		needsResult: true}
}

func refOfCancel(c *msg.CancelRequest) *commitRef {
	return &commitRef{txn: c.Txn, commit: c.CommitID, user: c.User, known: c.Known(), fingerprint: c.Fingerprint,
		needsResult: true}
}

// replies are the messages of a last agent to gateways and participants.
type replies struct{ Parts }

// newResponse sends a response, which the caller fills in within the step. It reports the number of
// aborts, from which the gateway's next requests prove that they are newer (package outcome).
func (r *replies) newResponse(txn kv.TxnRef, commit kv.CommitID) *msg.CommitResponse {
	m, a := msg.CommitResponseTo(commit.Gateway)
	*a = msg.CommitResponse{Txn: txn, CommitID: commit, Shard: r.ID, Incarnation: r.Inc,
		Aborts: r.Outcomes.AbortCount()}
	r.Send(m)
	return a
}

// NewResponse sends a response to a commit request, which the caller fills in.
func (r *replies) NewResponse(p *msg.CommitRequest) *msg.CommitResponse {
	return r.newResponse(p.Txn, p.CommitID)
}

func (r *replies) respondAborted(to *commitRef, f *msg.Failure) {
	r.newResponse(to.txn, to.commit).Failure = f
}

// respondFinished answers a commit of an id that has committed, by this or another commit. With the
// same operations the result of that one is the response. A row without a fingerprint cannot be
// compared; then only the same attempt counts as the same operations.
func (r *replies) respondFinished(to *commitRef, o *entry.Outcome) {
	a := r.newResponse(to.txn, to.commit)
	a.CSN = r.Store.CSN()
	same := to.fingerprint != 0 && o.Fingerprint == to.fingerprint
	if same || o.Committed == to.txn.Attempt && !areDifferent(o.Fingerprint, to.fingerprint) {
		a.Committed, a.Results, a.ResultsLost = true, o.Results, o.ResultsLost
	} else {
		a.Failure = supersededFailure(o.Fingerprint, to.fingerprint)
	}
}

// sendDecision sends the decision to the participant that sent the message.
func (r *replies) sendDecision(x *commitRef, commit bool) {
	r.sendDecisions(x.txn, x.commit, []kv.ShardID{x.shard}, commit)
}

// sendDecisions sends the decision about a commit to participants.
func (r *replies) sendDecisions(txn kv.TxnRef, id kv.CommitID, shards []kv.ShardID, commit bool) {
	for _, s := range shards {
		m, decide := msg.DecisionTo(s)
		*decide = msg.Decision{Txn: txn, Last: r.ID, Commit: commit, CommitID: id}
		r.Send(m)
	}
}

// sendUnsealResponse reports the drop of an epoch, and for how long readers have blocked the update
// here. If that is longer than at the participant, the participant closes its snapshot-queues by it.
// The message does not wait for the log: the drop is in memory only, and a restarted last agent decides
// nothing of an earlier incarnation.
func (r *replies) sendUnsealResponse(to *commitRef, epoch kv.Epoch) {
	m := msg.ToShard(to.shard)
	m.Body = &msg.UnsealResponse{Txn: to.txn, CommitID: to.commit, Epoch: epoch,
		HeldNanos: r.Queue.TimeBlocked(r.Now, to.txn)}
	r.Urgent(m)
}

func (r *replies) respondQuery(q *msg.QueryTxn, a *msg.QueryTxnResponse) {
	a.Id, a.Shard = q.Id, r.ID
	m := msg.ToGateway(q.Gateway)
	m.Body = a
	r.Send(m)
}

// resendResponse sends the result of a commit again, from the log.
func (r *replies) resendResponse(to *commitRef) { r.Outcomes.LookUp(to.txn.TxnID, to) }

func (r *replies) onResendOutcome(to *commitRef, f *outcome.Found) {
	o := f.Outcome
	// The low watermark has passed the id, and its row is deleted. Memory may still know the commit,
	// without its results.
	if f.Err == nil && o.Committed == 0 {
		made := r.Outcomes.Finished(to.txn.TxnID)
		o = &entry.Outcome{Committed: made.Committed, Fingerprint: made.Fingerprint, ResultsLost: true}
	}
	if f.Err == nil && o.Committed != 0 {
		r.respondFinished(to, o)
	}
}

// HasRecords reports whether there are records.
func (r *replies) HasRecords() bool { return r.Records.Len() > 0 }
