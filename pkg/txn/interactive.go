package txn

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// Begin opens an interactive transaction. A retry passes the id with the next
// attempt's number, and keeps its age. The returned failure is nil if the
// transaction is open.
func (g *Gateway) Begin(now int64, ref kv.TxnRef, readOnly bool) *msg.Failure {
	return g.BeginAs(now, ref, readOnly, How{})
}

// BeginAs is Begin in a particular way. A state of the past is looked up with
// the first call.
func (g *Gateway) BeginAs(now int64, ref kv.TxnRef, readOnly bool, how How) *msg.Failure {
	g.now = max(g.now, now)
	if f := g.taken(ref.TxnID); f != nil {
		return f
	}
	if f := g.refuse(how, readOnly); f != nil {
		return f
	}
	c := &call{how: how, ref: ref, kind: interactive, readOnly: readOnly, started: g.now, idleSince: g.now, left: g.leavings, session: newSession()}
	c.deadline = g.now + int64(g.cfg.MaxAge)
	c.session.optimistic = ref.Attempt == 1 && !readOnly && !g.cfg.NoOptimistic
	if f := g.admitOpen(c); f != nil {
		return f
	}
	if !how.At.IsZero() {
		c.past = &past{want: how.At}
	}
	g.enter(c)
	g.timed(c.deadline)
	return nil
}

// open finds an interactive transaction that can take a call, and otherwise
// answers the call.
func (g *Gateway) open(token Token, ref kv.TxnRef) *call {
	c := g.find(ref)
	var f *msg.Failure
	switch {
	case c == nil && g.ended[ref] != nil:
		f = g.ended[ref]
	case c == nil || c.kind != interactive:
		f = failure(msg.ReasonRequest, kv.KindInvalid, "the transaction is not open")
	case c.phase != phaseIdle:
		f = failure(msg.ReasonRequest, kv.KindInvalid, "the transaction's last call has not ended")
	default:
		c.token = token
		return c
	}
	d := Done{Token: token, Txn: ref, Failure: f, Closed: c == nil}
	d.Ended.note(f)
	g.out.Done = append(g.out.Done, d)
	return nil
}

// Do executes operations in an open transaction: reads lock and return,
// writes are buffered. A failed condition fails the call, not the
// transaction.
func (g *Gateway) Do(now int64, token Token, ref kv.TxnRef, ops []msg.Op) {
	g.DoBy(now, token, ref, ops, 0)
}

// DoBy is Do with a deadline, 0 for none: a little before it the transaction is
// given up if the call has not ended.
func (g *Gateway) DoBy(now int64, token Token, ref kv.TxnRef, ops []msg.Op, deadline int64) {
	g.now = max(g.now, now)
	c := g.open(token, ref)
	if c == nil {
		return
	}
	s := c.session
	c.doFrom, c.doBy, s.waited = g.now, deadline, msg.Receipt{}
	if deadline != 0 {
		g.timed(c.endAt())
	}
	c.ops = ops
	for i := range ops {
		ops[i].Seq = s.seq
		s.seq++
		if c.readOnly && ops[i].Writes() {
			g.failedCall(c, &msg.Failure{Reason: msg.ReasonRequest, Kind: uint32(kv.KindInvalid), Key: ops[i].Key,
				Seq: ops[i].Seq, HasSeq: true, Text: "the transaction is read-only"})
			return
		}
	}
	if f := g.refusingCall(c, ops); f != nil {
		g.abort(c, f)
		return
	}
	if f := g.admitCall(c, ops); f != nil {
		g.finish(c, Done{Failure: f})
		return
	}
	g.fetch(c, ops)
}

// refusingCall says why an interactive transaction cannot do this: a shard that it needs
// is down, or it began when that was about to stop, and would keep it from that.
func (g *Gateway) refusingCall(c *call, ops []msg.Op) *msg.Failure {
	if !g.avoids() {
		return nil
	}
	for i := range ops {
		shards := g.everyShard()
		if !ops[i].IsRange() {
			shards = []kv.ShardID{g.place(c, ops[i].Key)}
		}
		f := g.unreachable(shards)
		if f == nil {
			f = g.leavingBefore(shards, c.left)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

// failedCall answers a call with a failure that leaves an interactive
// transaction open, and ends any other.
func (g *Gateway) failedCall(c *call, f *msg.Failure) {
	if c.kind != interactive {
		g.abort(c, f)
		return
	}
	f = c.ofCall(f)
	for i := range c.ops {
		c.session.forget(&c.ops[i])
		delete(c.session.answers, c.ops[i].Seq)
	}
	g.idle(c)
	g.done(c, Done{Failure: f})
}

// ofCall is a failure as one of the call under way, which alone the client has
// numbered: operations have numbers that go on from call to call. One of an earlier
// call has none here. The failure may be a shard's own, and is not changed.
func (c *call) ofCall(f *msg.Failure) *msg.Failure {
	if !f.HasSeq || len(c.ops) == 0 {
		return f
	}
	out := *f
	out.Seq -= c.ops[0].Seq
	if out.HasSeq = out.Seq < uint32(len(c.ops)); !out.HasSeq {
		out.Seq = 0
	}
	return &out
}

func (g *Gateway) idle(c *call) {
	c.phase, c.idleSince, c.doBy, c.open = phaseIdle, g.now, 0, nil
	if c.marked {
		g.timed(g.now + int64(g.cfg.IdleGrace))
	}
}

// evaluatedDo: the call's operations have been executed here; its writes go
// into the buffer, without the conditions, which hold under locks now.
func (g *Gateway) evaluatedDo(c *call, results []msg.Result) {
	s := c.session
	size, n := s.bytes, len(s.buffer)
	for i := range c.ops {
		if c.ops[i].Writes() {
			size += c.ops[i].Size()
			n++
		}
	}
	if size > kv.MaxTxnBytes || n > kv.MaxTxnOps {
		g.failedCall(c, failure(msg.ReasonRequest, kv.KindInvalid, "the transaction would exceed 16 MiB or 10,000 operations; split it"))
		return
	}
	s.bytes = size
	for i := range c.ops {
		op := c.ops[i]
		if !op.Writes() {
			s.forget(&op)
			continue
		}
		op.Expect, op.ExpectValue, op.ExpectVersion = msg.ExpectNothing, nil, kv.Version{}
		if op.Kind == msg.OpAddGet {
			op.Kind = msg.OpAdd
		}
		s.push(op)
	}
	for i := range results {
		results[i].Seq = uint32(i)
	}
	g.idle(c)
	g.done(c, Done{Results: slices.Clone(results)})
}

// Commit ends a transaction. Its Done tells whether it committed.
func (g *Gateway) Commit(now int64, token Token, ref kv.TxnRef, deadline int64) {
	g.now = max(g.now, now)
	c := g.open(token, ref)
	if c == nil {
		return
	}
	c.deadline = min(c.deadline, deadline)
	c.started = g.now
	c.ops = nil
	if !c.readOnly {
		g.noteHabits(c)
	}
	if len(c.session.buffer) == 0 {
		g.endRead(c)
		return
	}
	var ps pieces
	g.cut(c, &ps, c.session.buffer)
	for _, t := range c.session.touched {
		if len(t.grants)+len(t.seen) == 0 {
			continue
		}
		p := ps.at(t.shard)
		p.Grants, p.Seen, p.Incarnation = t.grants, t.seen, t.inc
	}
	if f := g.uncommittable(c, ps); f != nil {
		g.abort(c, f)
		return
	}
	g.sendCommit(c, ps)
}

// uncommittable says why a transaction cannot commit on these shards now. One that
// is about to stop waits for those who hold locks there, and for nobody else.
func (g *Gateway) uncommittable(c *call, ps pieces) *msg.Failure {
	if !g.avoids() {
		return nil
	}
	var begun []kv.ShardID
	for _, t := range c.session.touched {
		if len(t.grants) > 0 {
			begun = append(begun, t.shard)
		}
	}
	all := ps.shards()
	if f := g.unreachable(all); f != nil {
		return f
	}
	return g.refusing(slices.DeleteFunc(slices.Clone(all), func(s kv.ShardID) bool { return slices.Contains(begun, s) }))
}

// Rollback gives a transaction up. With validate, its Done comes only after
// it has been made sure that everything it read was current at one instant,
// and has a failure if it was not: then whatever the caller concluded from it
// may be wrong. A lock can be lost too.
func (g *Gateway) Rollback(now int64, token Token, ref kv.TxnRef, validate bool) {
	g.now = max(g.now, now)
	c := g.find(ref)
	if c == nil || c.kind != interactive || c.phase == phaseCommitting || c.phase == phaseChecking {
		f := g.ended[ref]
		if f == nil && validate {
			f = unchecked()
		}
		g.out.Done = append(g.out.Done, Done{Token: token, Txn: ref, Closed: true, Failure: f})
		return
	}
	if c.token != nil {
		g.done(c, Done{Failure: failure(msg.ReasonCancelled, kv.KindCancelled, "the transaction was rolled back"), Closed: true})
	}
	c.token = token
	if validate && c.phase == phaseIdle {
		c.rollback = true
		g.endRead(c)
		return
	}
	g.release(c)
	if validate {
		g.finish(c, Done{Failure: unchecked()})
		return
	}
	g.finish(c, Done{})
}

// unchecked: nobody knows any more, or yet, whether what was read was so.
func unchecked() *msg.Failure {
	return failure(msg.ReasonStaleRead, kv.KindAborted, "what the transaction read cannot be checked: it is not open, or in the middle of a call")
}

// unvalidated is why a failure does not count that the client may have brought about
// by reading that a key is absent. What is asked for failed earlier than that is
// validated, and between the two the key may have been there. The next attempt locks.
func unvalidated() *msg.Failure {
	return failure(msg.ReasonStaleRead, kv.KindAborted, "the transaction failed, perhaps because of a key that was read without a lock and was absent")
}

// endRead ends a transaction without writes: its optimistic reads are
// validated in one step on the hot shard while its locks are held, then the
// locks are checked and released. Between the last grant and the first check
// everything it read was current.
func (g *Gateway) endRead(c *call) {
	if c.readOnly && c.kind == interactive && (c.past != nil || g.cfg.Reads == SnapshotReads) {
		g.endOpen(c)
		return
	}
	s := c.session
	for _, t := range s.touched {
		if len(t.seen) == 0 {
			continue
		}
		var ps pieces
		p := ps.at(t.shard)
		p.Grants, p.Seen, p.Incarnation = t.grants, t.seen, t.inc
		c.commit.validating = true
		g.sendCommit(c, ps)
		return
	}
	if s.rounds <= 1 {
		g.release(c)
		g.endedRead(c)
		return
	}
	g.startCheck(c)
}

// endedRead: what was read is certain.
func (g *Gateway) endedRead(c *call) {
	g.finish(c, Done{Committed: !c.rollback, Results: c.session.results, Failure: c.concluded})
}

// conclude ends an interactive transaction with the failure of a call, for which a
// shard has nothing left to lock. Its client may have asked for what failed because
// of what it had read; so that is made certain first, and if it was not so the
// transaction has lost against others.
func (g *Gateway) conclude(c *call, f *msg.Failure) {
	if c.kind != interactive || f.Reason != msg.ReasonRequest || g.cfg.Mutants.Has(mutant.FailuresUnvalidated) {
		g.abort(c, f)
		return
	}
	for _, t := range c.session.touched {
		if len(t.grants)+len(t.seen) == 0 {
			g.sendShard(t.shard, func(e *msg.Envelope) { e.Release = &msg.Release{Txn: c.ref} })
		}
	}
	c.session.asks = nil
	if c.session.sawAbsent() {
		g.abort(c, unvalidated())
		return
	}
	if c.doBy != 0 {
		c.deadline = min(c.deadline, c.doBy)
	}
	c.started, c.rollback, c.concluded = g.now, true, f
	g.endRead(c)
}

// checks is a reader's last round.
type checks struct {
	envs       []*msg.Envelope
	next, wait int64
}

// startCheck asks the shards whether the grants were held all along. A shard
// on which optimistic reads were validated has checked its grants in that
// same step.
func (g *Gateway) startCheck(c *call) {
	c.phase = phaseChecking
	c.check = checks{wait: int64(g.cfg.Repeat)}
	keep := int64(0)
	if c.scan != nil {
		keep = int64(kv.DefaultScanKeep)
	}
	for _, t := range c.session.touched {
		if len(t.grants) == 0 || len(t.seen) > 0 {
			continue
		}
		env := g.sendShard(t.shard, func(e *msg.Envelope) {
			e.Check = &msg.Check{Txn: c.ref, Gateway: g.cfg.Node, Incarnation: t.inc, Grants: t.grants, KeepNanos: keep}
		})
		c.check.envs = append(c.check.envs, env)
	}
	if len(c.check.envs) == 0 {
		g.checked(c)
		return
	}
	c.check.next = g.now + c.check.wait
	g.timed(min(c.check.next, c.deadline))
}

func (g *Gateway) repeatChecks(c *call) {
	if g.now >= c.check.next {
		c.check.wait = min(2*c.check.wait, int64(g.cfg.Liveness))
		c.check.next = g.now + c.check.wait
		g.out.Send = append(g.out.Send, c.check.envs...)
	}
	g.timed(c.check.next)
}

func (g *Gateway) onCheckReply(r *msg.CheckReply) {
	c := g.find(r.Txn)
	if c == nil || c.phase != phaseChecking {
		return
	}
	i := slices.IndexFunc(c.check.envs, func(e *msg.Envelope) bool { return e.Shard == r.Shard })
	if i < 0 {
		return
	}
	if !r.Ok && !g.cfg.Mutants.Has(mutant.CheckSkipped) {
		g.abort(c, failure(msg.ReasonStaleGrant, kv.KindAborted, "a lock that the transaction read under was lost"))
		return
	}
	c.check.envs = slices.Delete(c.check.envs, i, i+1)
	if c.scan != nil {
		c.scan.fixed(r.Shard, r.Incarnation, r.Index)
	}
	if len(c.check.envs) == 0 {
		g.checked(c)
	}
}

// checked: everything that was read was current at one instant.
func (g *Gateway) checked(c *call) {
	if c.kind == scanning {
		g.startPaging(c)
		return
	}
	// Nothing is left to release: the checks, and the validation of optimistic
	// reads, have done that.
	g.endedRead(c)
}

// cutRows sorts what the shards returned of a range and cuts off what lies
// beyond the first place where one of them stopped.
func cutRows(r *mvcc.RangeRows) {
	slices.SortFunc(r.Rows, func(a, b mvcc.RangeRow) int { return bytes.Compare(a.Key, b.Key) })
	if r.Resume == nil {
		return
	}
	i, _ := slices.BinarySearchFunc(r.Rows, r.Resume, func(x mvcc.RangeRow, k []byte) int { return bytes.Compare(x.Key, k) })
	r.Rows = r.Rows[:i]
}
