package agent

// # Why an epoch is dropped for good
//
//	reader R       participant P            last agent L of T
//	   │              │ T sealed, epoch 7        │
//	   │              ├─ vote, epoch 7 ─ ─ ─ ─ ─ │ ─ ─ (delayed)
//	   ├─ read x ────▶│ waits for T              │
//	   │              ├─ unseal up to 7 ────────▶│ drops 7
//	   │              │◀─ dropped up to 7 ───────┤
//	   │◀─ old x ─────┤ T is held by R           │
//	   │              │            ─ ─ ─ ─ ─ ─ ─▶│ vote, epoch 7: does not count
//
// If the delayed vote counted, L could commit T while R is registered, and R would read the new
// value of another key.

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// onUnseal drops the epochs of a participant up to the named one, for good, or sends the decision.
// It never refuses, since a reader waits for the response.
func (l *LastAgent) onUnseal(u *msg.Unseal) {
	x := commitRef{txn: u.Txn, commit: u.CommitID, user: u.User, known: u.Known(), shard: u.Shard}
	rec, s := l.classify(x)
	switch s {
	case hasRecord:
		l.dropEpoch(rec, u)
	case unknownCommit:
		l.dropEpochOfUnknown(x, u)
	case needsLookup:
		l.classifyAfterLookup(x, func() { l.onUnseal(u) }, func() { l.dropEpochOfUnknown(x, u) })
	}
}

// dropEpochOfUnknown drops an epoch of a commit that no other message has named. The drop must be
// remembered: the vote with that epoch may be in flight, and would count after the participant has
// admitted a reader.
func (l *LastAgent) dropEpochOfUnknown(x commitRef, u *msg.Unseal) {
	if l.Mutants.Has(mutant.DropForgotten) {
		l.sendUnsealResponse(x, u.Epoch)
		return
	}
	l.dropEpoch(l.addSeenRecord(x), u)
}

// dropEpoch drops the epochs. A piece that waits for its locks with all votes must wait for a vote
// again.
func (l *LastAgent) dropEpoch(rec *record.Record, u *msg.Unseal) {
	rec.DropEpoch(u.Shard, u.Epoch, l.Mutants)
	if rec.State == record.Ready && !rec.AllSealed(l.Mutants) {
		l.returnToPending(rec)
	}
	l.sendUnsealResponse(commitRef{txn: u.Txn, commit: u.CommitID, shard: u.Shard}, u.Epoch)
}

// returnToPending makes a piece wait for votes again.
func (l *LastAgent) returnToPending(rec *record.Record) {
	rec.State = record.Pending
	rec.NextRepeat = l.Now + int64(l.cfg.Liveness)
	l.schedule(rec.NextRepeat)
	l.Queue.AwaitVotes(l.Now, rec.Txn)
	l.Exec.Unready(taskOf(rec))
}

// sendUnsealResponse reports the drop, and for how long readers have blocked the update here. If
// that is longer than at the participant, the participant closes its snapshot-queues by it. The
// message does not wait for the log: the drop is in memory only, and a restarted last agent decides
// nothing of an earlier incarnation.
func (l *LastAgent) sendUnsealResponse(to commitRef, epoch kv.Epoch) {
	m := msg.ToShard(to.shard)
	m.Body = &msg.UnsealResponse{Txn: to.txn, CommitID: to.commit, Epoch: epoch,
		HeldNanos: l.Queue.TimeBlocked(l.Now, to.txn)}
	l.Urgent(m)
}
