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

// locks is the state of an attempt that takes locks before it commits.
type locks struct {
	session  *session.Session
	requests lockreq.Requests
	checks   lockreq.Checks
	// results are the reads of a one-shot whose locks are being checked.
	results []msg.Result
}

func newLocks() *locks { return &locks{session: session.New()} }

// addGrants records the grants of a response. It reports false if the shard has granted locks in
// another incarnation before: it has restarted, and has lost those.
func (l *locks) addGrants(r *msg.LockResponse) bool {
	t := l.session.Part(r.Shard)
	if len(r.Grants) > 0 {
		if t.Incarnation != 0 && t.Incarnation != r.Incarnation {
			return false
		}
		t.Incarnation = r.Incarnation
		t.AddGrants(r.Grants)
	}
	t.CSN = max(t.CSN, r.CSN)
	return true
}

// locksLost is the failure of an attempt that has lost locks by a restart.
func locksLost() *msg.Failure {
	text := "a shard has restarted and lost the locks of the transaction"
	return env.Failure(msg.ReasonIncarnation, kv.KindAborted, text)
}

// pendingShards lists the shards that have not responded in a phase.
func (l *locks) pendingShards(p Phase) []kv.ShardID {
	switch p {
	case Locking:
		return l.requests.PendingShards()
	case Checking:
		return l.checks.PendingShards()
	}
	return nil
}

// retry retries the requests of the current phase.
func (l *locks) retry(gw *Gateway, c *Call) {
	switch c.Phase {
	case Locking:
		l.requests.Tick(gw.Env, c.LastRequestRetry())
	case Checking:
		l.checks.Tick(gw.Env)
	}
}

// readCSNs is the CSN of each shard at its last response.
func (l *locks) readCSNs() (at []msg.ShardCSN) {
	for _, t := range l.session.Parts() {
		at = append(at, msg.ShardCSN{Shard: t.Shard, CSN: t.CSN})
	}
	return at
}

// requestLocks sends lock requests, and reads without locks, in the order of the shards.
func (l *locks) requestLocks(gw *Gateway, c *Call, locked, unlocked piece.Pieces) {
	// The order of shards makes runs reproducible.
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

// requestLock sends one lock request. Locks of interactive updates are flagged: a receipt then
// reports that the holder may hold its locks across client round trips.
func (l *locks) requestLock(gw *Gateway, c *Call, s kv.ShardID, m *msg.Lock) {
	if c.Kind.IsInteractive() && !c.ReadOnly {
		for i := range m.Ops {
			m.Ops[i].Methods = uint64(adt.MethodsOf(&m.Ops[i]) | adt.Interactive)
		}
	}
	l.session.Part(s)
	m.Txn, m.Begun, m.User, m.NoWait = c.Ref, c.Begun, c.How.User, c.Wound.Is
	l.requests.Send(gw.Env, s, m, c.LastRequestRetry())
	gw.WakeAt(c.AbortAt())
}

// finishReads ends a transaction that has only read. If one request has granted all locks, its
// reads were current at the grant; else the locks are checked.
//
// This saves the check's message delay for the most common case, a read of one shard.
func (l *locks) finishReads(gw *Gateway, f Checker) Outcome {
	// With one request, all locks were held at the instant of its grant.
	if l.requests.SentCount() > 1 {
		return l.checkLocks(gw, f)
	}
	l.release(gw, f.Base().Ref)
	return f.OnChecked(gw)
}

// checkLocks sends checks to the shards, which report whether the locks were held without
// interruption, and release them.
//
//	reader A              shard s0                 shard s1
//	  ├─ lock x ────────────▶│ granted, 1            │
//	  ├─ lock y ─────────────────────────────────────▶│ granted, 2
//	  │                      │     ◀── instant of A's reads: both grants are held
//	  ├─ check 1 ───────────▶│ held, and released    │
//	  ├─ check 2 ────────────────────────────────────▶│ held, and released
//
// If s0 has restarted before y was granted, there is no such instant, and check 1 fails. A check
// names the grant, since a late copy of the request may have acquired the lock again.
func (l *locks) checkLocks(gw *Gateway, f Checker) Outcome {
	c := f.Base()
	c.Phase = Checking
	l.checks.Start(gw.Env, c.Ref, l.session.Parts())
	gw.WakeAt(c.deadline)
	if l.checks.HasPending() {
		return Continue
	}
	return f.OnChecked(gw)
}

// release releases all locks and lock requests of an attempt.
//
// A release may be lost: the shard then pushes the attempt, and this gateway answers that it does not know it.
func (l *locks) release(gw *Gateway, ref kv.TxnRef) {
	for _, sh := range l.session.Shards() {
		gw.SendTo(sh).Body = &msg.Release{Txn: ref}
	}
}

// sessionWhere is the placement of keys as a session needs it. early reports which reads take a
// write lock.
func (gw *Gateway) sessionWhere(c *Call, early func([]byte) bool) session.Placement {
	return session.Placement{
		Shards: gw.Router.Shards(),
		Hot:    gw.Hot(),
		Place:  func(key []byte) kv.ShardID { return gw.shardOf(c, key) },
		Early:  early,
	}
}
