package agent

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard/record"
)

// onUnseal drops a participant's epochs for good, or says what was decided. It
// is never refused.
func (l *LastAgent) onUnseal(u *msg.Unseal) {
	x := said{txn: u.Txn, commit: u.CommitID, user: u.User, named: u.Known(), by: u.Shard}
	rec, s := l.standingOf(x)
	switch s {
	case recorded:
		l.dropEpoch(rec, u)
	case unheard:
		l.dropUnheard(x, u)
	case unsure:
		l.standingInLog(x, func() { l.onUnseal(u) }, func() { l.dropUnheard(x, u) })
	}
}

// dropUnheard drops an epoch before anything was heard of the transaction.
func (l *LastAgent) dropUnheard(x said, u *msg.Unseal) {
	if l.Mutants.Has(mutant.DropForgotten) {
		l.tellUnsealed(x, u.Epoch)
		return
	}
	l.dropEpoch(l.heardOf(x), u)
}

func (l *LastAgent) dropEpoch(rec *record.Record, u *msg.Unseal) {
	rec.DropEpoch(u.Shard, u.Epoch, l.Mutants)
	if rec.State == record.Ready && !rec.AllIn(l.Mutants) {
		l.unready(rec)
	}
	l.tellUnsealed(said{txn: u.Txn, commit: u.CommitID, by: u.Shard}, u.Epoch)
}

// unready has a piece wait for votes again.
func (l *LastAgent) unready(rec *record.Record) {
	rec.State = record.Parked
	rec.NextAsk = l.Now + int64(l.cfg.Liveness)
	l.at(rec.NextAsk)
	l.Queue.Unready(l.Now, rec.Txn)
	l.Exec.Unready(taskOf(rec))
}

// tellUnsealed also tells for how long readers have kept the update from being decided
// here. Where that is longer than at the participant its keys are closed by it. It does not wait
// for the log: a restarted last agent decides nothing of an earlier incarnation.
func (l *LastAgent) tellUnsealed(to said, epoch kv.Epoch) {
	m := msg.ToShard(to.by)
	m.Body = &msg.UnsealResponse{Txn: to.txn, CommitID: to.commit, Epoch: epoch, HeldNanos: l.Queue.HeldAge(l.Now, to.txn)}
	l.Urgent(m)
}
