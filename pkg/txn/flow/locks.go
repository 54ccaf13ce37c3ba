package flow

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/lockreq"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
	"github.com/linchpindb/linchpin/pkg/txn/session"
)

// locks is what an attempt has that locks before it commits, or locks to read.
type locks struct {
	session  *session.Session
	requests lockreq.Requests
	checks   lockreq.Checks
	// results are those of a read that is being checked.
	results []msg.Result
}

func newLocks() *locks { return &locks{session: session.New()} }

// granted takes the locks of an answer. It reports false if the shard has restarted in between,
// and lost those that it had granted before.
func (l *locks) addGrants(r *msg.LockResponse) bool {
	t := l.session.At(r.Shard)
	if len(r.Grants) > 0 {
		if t.Inc != 0 && t.Inc != r.Incarnation {
			return false
		}
		t.Inc = r.Incarnation
		t.Granted(r.Grants)
	}
	t.Index = max(t.Index, r.Index)
	return true
}

// restarted is the failure of an attempt that has lost locks.
func locksLost() *msg.Failure {
	return env.Failure(msg.ReasonIncarnation, kv.KindAborted, "a shard has restarted and lost the locks of the transaction")
}

// awaits lists the shards that have not answered.
func (l *locks) pendingShards(p Phase) []kv.ShardID {
	switch p {
	case Locking:
		return l.requests.Awaits()
	case Checking:
		return l.checks.Awaits()
	}
	return nil
}

// repeat sends again what has no answer.
func (l *locks) retry(gw *Gateway, c *Call) {
	switch c.Phase {
	case Locking:
		l.requests.Tick(gw.Env, c.LastRequestRetry())
	case Checking:
		l.checks.Tick(gw.Env)
	}
}

// seen is the commit sequence number of every shard that has answered.
func (l *locks) readCSNs() (at []msg.ShardCSN) {
	for _, t := range l.session.Touched() {
		at = append(at, msg.ShardCSN{Shard: t.Shard, Index: t.Index})
	}
	return at
}

// ask asks the shards for locks, and for what is read without.
func (l *locks) requestLocks(gw *Gateway, c *Call, locked, unlocked piece.Pieces) {
	for _, s := range gw.EveryShard() {
		for i := range locked {
			if locked[i].Shard == s {
				l.requestLock(gw, c, s, &msg.Lock{Ops: locked[i].Ops})
			}
		}
		for i := range unlocked {
			if unlocked[i].Shard == s {
				l.requestLock(gw, c, s, &msg.Lock{Ops: unlocked[i].Ops, Optimistic: true})
			}
		}
	}
}

func (l *locks) requestLock(gw *Gateway, c *Call, s kv.ShardID, m *msg.Lock) {
	if c.Kind.IsInteractive() && !c.ReadOnly { // it may hold its locks for long
		for i := range m.Ops {
			m.Ops[i].Methods = uint64(adt.MethodsOf(&m.Ops[i]) | adt.Interactive)
		}
	}
	l.session.At(s)
	m.Txn, m.Begun, m.User, m.NoWait = c.Ref, c.Begun, c.How.User, c.Wound.Is
	l.requests.Ask(gw.Env, s, m, c.LastRequestRetry())
	gw.Timed(c.AbortAt())
}

// end ends what has only read: that its locks were never lost is checked, unless all were
// granted by one request.
func (l *locks) finishReads(gw *Gateway, f Checker) Outcome {
	if l.requests.Sent() > 1 {
		return l.checkLocks(gw, f)
	}
	l.release(gw, f.Base().Ref)
	return f.OnChecked(gw)
}

// check asks the shards whether the locks were held all along, which releases them.
func (l *locks) checkLocks(gw *Gateway, f Checker) Outcome {
	c := f.Base()
	c.Phase = Checking
	l.checks.Start(gw.Env, c.Ref, l.session.Touched())
	gw.Timed(c.deadline)
	if l.checks.Open() {
		return Continue
	}
	return f.OnChecked(gw)
}

// release gives up whatever an attempt may hold on any shard.
func (l *locks) release(gw *Gateway, ref kv.TxnRef) {
	for _, sh := range l.session.Shards() {
		gw.To(sh).Body = &msg.Release{Txn: ref}
	}
}

// where is what a session has to know of keys. early says which reads lock for writing.
func (gw *Gateway) sessionWhere(c *Call, early func([]byte) bool) session.Where {
	return session.Where{
		Shards: gw.Router.Shards(),
		Hot:    gw.Hot(),
		Place:  func(key []byte) kv.ShardID { return gw.shardOf(c, key) },
		Early:  early,
	}
}
