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
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// onUnseal drops the epochs of a participant up to the named one, for good, or sends the decision.
// It never refuses, since a reader waits for the response.
func (l *LastAgent) onUnseal(u *msg.Unseal) {
	rec := l.recordFor(refOfUnseal(u), u)
	if rec != nil {
		l.dropEpoch(rec, u)
	}
}

// dropEpoch drops the epochs. A piece that waits for its locks with all votes must wait for a vote
// again.
func (l *LastAgent) dropEpoch(rec *record.Record, u *msg.Unseal) {
	l.recordDrop(rec, u)
	if rec.State == record.Ready && !rec.AllSealed() {
		l.returnToPending(rec)
	}
	l.sendUnsealResponse(refOfUnseal(u), u.Epoch)
}

// returnToPending makes a piece wait for votes again.
func (l *LastAgent) returnToPending(rec *record.Record) {
	rec.State = record.Pending
	l.scheduleRepeat(rec)
	l.Queue.AwaitVotes(l.Now, rec.Txn)
	l.Exec.Unready(taskOf(rec))
}
