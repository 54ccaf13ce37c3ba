package txn

// The rules that tests break, each with its mutant.

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
)

// hasLostLock reports whether an attempt has lost a read lock, so that its reads may be of different instants.
//
// Sequence: A is granted a read lock, the shard breaks it for a waiting writer since A's gateway did not respond to a
// push, and the writer commits.
func (t *flowTable) hasLostLock(r *msg.CheckResponse) bool {
	return !r.Ok && !t.gw.Mutants.Has(mutant.CheckSkipped)
}

// isReading reports whether a flow accepts reads. A view that waits for a snapshot does not: what
// arrives now may be newer than the snapshot.
func (t *flowTable) isReading(f flow.Reader) bool {
	p := f.Base().Phase
	return p == flow.Reading || p == flow.AwaitingSnapshot && t.gw.Mutants.Has(mutant.LateReadsUsed)
}

// resendNoWait repeats outstanding lock requests of a wounded attempt with "no wait". Otherwise it waits for locks
// while the older transaction waits for it.
func (t *flowTable) resendNoWait(f flow.Locker) {
	if !t.gw.Mutants.Has(mutant.LockWithoutWound) {
		f.Requests().ResendNoWait(t.gw.Env)
	}
}

// forwardWound forwards a wound to the last agent. The gateway does not retry before that has decided: it may have
// committed the attempt.
func (t *flowTable) forwardWound(f flow.Committer, w *msg.Wound) {
	switch {
	case t.gw.Mutants.Has(mutant.GatewayDropsWounds):
	case f.Base().Kind == flow.OneShotKind && t.gw.Mutants.Has(mutant.RetryWithoutAbort):
		text := "an older transaction, " + w.By.String() + ", waited for a lock of this one"
		t.OnAborted(f, env.Failure(msg.ReasonWounded, kv.KindAborted, text))
	default:
		f.Commit().SetNoWait(t.gw.Env)
		t.gw.SendTo(f.Commit().Last()).Body = w
	}
}
