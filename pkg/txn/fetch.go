package txn

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// ask is a lock request without an answer.
type ask struct {
	env        *msg.Envelope
	next, wait int64
}

// sees reports whether an operation needs the value of its key, and whether
// it will write it.
func sees(op *msg.Op) (needs, forUpdate bool) {
	switch op.Kind {
	case msg.OpGet, msg.OpRequire:
		return true, op.ForUpdate
	case msg.OpAddGet, msg.OpExpire:
		return true, true
	case msg.OpPut, msg.OpDelete:
		return op.Expect != msg.ExpectNothing, true
	}
	return false, false
}

// needsAll reports whether an operation needs all of what its key holds, not only
// what is shown of it (mvcc.Shown).
func needsAll(op *msg.Op) bool { return op.Stored || op.Expect == msg.ExpectValue }

// neededWhole are the keys of which some operation needs all, nil if there are none.
func neededWhole(ops []msg.Op) (keys map[string]bool) {
	for i := range ops {
		if needsAll(&ops[i]) {
			if keys == nil {
				keys = map[string]bool{}
			}
			keys[string(ops[i].Key)] = true
		}
	}
	return keys
}

// fetch asks the shards for what ops need to know, or goes on at once.
func (g *Gateway) fetch(c *call, ops []msg.Op) {
	switch {
	case c.unresolved():
		g.resolve(c)
		return
	case c.waiting: // the reader is being pinned
		c.phase = phasePinning
		return
	}
	wanted, hasty := g.wants(c, ops)
	if c.readOnly && c.kind == interactive && (c.past != nil || g.cfg.Reads == SnapshotReads) {
		g.openRead(c, wanted)
		return
	}
	c.phase = phaseLocking
	for sh := range g.cfg.Router.Shards() {
		g.askLock(c, kv.ShardID(sh), wanted[kv.ShardID(sh)], false)
		g.askLock(c, kv.ShardID(sh), hasty[kv.ShardID(sh)], true)
	}
	g.evaluateIfRead(c)
}

// wants lists what ops need to know, by shard: what is wanted under locks, and what
// is read without, hastily, to be checked in the end.
func (g *Gateway) wants(c *call, ops []msg.Op) (wanted, hasty map[kv.ShardID][]msg.Op) {
	s := c.session
	wanted, hasty = map[kv.ShardID][]msg.Op{}, map[kv.ShardID][]msg.Op{}
	asked, whole := map[string]bool{}, neededWhole(ops)
	a := asking{s, ops, map[string]int{}}
	for i := range ops {
		op := &ops[i]
		called := s.called(ops[:i], op)
		for _, key := range called {
			sh := g.place(c, key)
			wanted[sh] = append(wanted[sh], a.finds(i, key)...)
		}
		if op.IsRange() {
			s.rows[op.Seq] = &mvcc.RangeRows{}
			if op.Span().IsEmpty() {
				continue // nothing to lock, so no shard need hear of it
			}
			for sh := range g.cfg.Router.Shards() {
				wanted[kv.ShardID(sh)] = append(wanted[kv.ShardID(sh)], s.rangeAsk(op))
			}
			continue
		}
		if op.IsCall() {
			if sh := g.place(c, op.Key); op.Kind != msg.OpChange {
				wanted[sh] = append(wanted[sh], a.after(i, op)...)
			}
			continue
		}
		needs, forUpdate := sees(op)
		forUpdate = forUpdate || needs && g.early(c, op.Key)
		all := whole[string(op.Key)]
		if !needs || s.knows(op.Key, all) || len(called) > 0 || asked[string(op.Key)] || s.determined(op.Key) {
			continue
		}
		asked[string(op.Key)] = true
		get := msg.Op{Kind: msg.OpGet, Seq: op.Seq, Key: op.Key, ForUpdate: forUpdate, Stored: all, Methods: uint64(adt.MethodsOf(op))}
		if sh := g.place(c, op.Key); s.optimistic && op.Kind == msg.OpGet && !forUpdate && sh == g.cfg.Router.HotShard() {
			hasty[sh] = append(hasty[sh], get)
		} else {
			wanted[sh] = append(wanted[sh], get)
		}
	}
	return wanted, hasty
}

// rangeAsk is what the shards are asked for a range operation. A scan may
// lose rows to the transaction's own deletes, so it asks for as many more.
func (s *session) rangeAsk(op *msg.Op) msg.Op {
	out := msg.Op{Kind: msg.OpScan, Seq: op.Seq, Key: op.Key, End: op.End, ForUpdate: op.ForUpdate || op.Kind == msg.OpDeleteRange,
		Methods: uint64(adt.MethodsOf(op))}
	if op.Kind == msg.OpLockRange {
		out.Kind = msg.OpLockRange
	}
	if op.Kind != msg.OpScan {
		return out
	}
	out.Limit = uint32(scanLimit(op))
	for i := range s.buffer {
		switch w := &s.buffer[i]; {
		case (w.Kind == msg.OpDelete || w.IsCall()) && op.Span().Contains(w.Key): // a call may leave an empty value
			out.Limit++
		case w.Kind == msg.OpDeleteRange && op.Span().Overlaps(w.Span()):
			out.Limit += kv.MaxTxnOps
		}
	}
	return out
}

func (g *Gateway) askLock(c *call, sh kv.ShardID, ops []msg.Op, optimistic bool) {
	if len(ops) == 0 {
		return
	}
	if c.kind == interactive && !c.readOnly {
		for i := range ops {
			ops[i].Methods = uint64(adt.MethodsOf(&ops[i]) | adt.Interactive)
		}
	}
	s := c.session
	s.number++
	s.rounds++
	s.at(sh)
	env := g.sendShard(sh, func(e *msg.Envelope) {
		e.Lock = &msg.Lock{Txn: c.ref, Gateway: g.cfg.Node, Number: s.number, Ops: ops, NoWait: c.marked, Optimistic: optimistic}
	})
	a := &ask{env: env, wait: int64(g.cfg.Repeat)}
	a.next = nextRepeat(g.now, a.wait, c.lastAsk())
	s.asks = append(s.asks, a)
	g.timed(min(a.next, c.endAt()))
}

// askNoWait has the lock requests of a transaction that has been marked say so: a
// request that waits dies. One that has been granted is answered; its answer may be on
// its way, since it leaves later than marks do. Requests are copied, since the first
// may still be on its way.
func (g *Gateway) askNoWait(c *call) {
	for _, a := range c.session.asks {
		if a.env.Lock.NoWait {
			continue
		}
		env, l := *a.env, *a.env.Lock
		l.NoWait = true
		env.Lock = &l
		a.env = &env
		g.out.Send = append(g.out.Send, a.env)
	}
}

func (g *Gateway) repeatLocks(c *call) {
	for _, a := range c.session.asks {
		if g.now >= a.next {
			a.wait = min(2*a.wait, int64(g.cfg.Liveness))
			a.next = nextRepeat(g.now, a.wait, c.lastAsk())
			g.out.Send = append(g.out.Send, a.env)
		}
		g.timed(a.next)
	}
}

func (g *Gateway) onLockReply(r *msg.LockReply) {
	g.Learn(r.Shard, r.Incarnation)
	c := g.find(r.Txn)
	if c == nil || c.phase == phasePaging {
		// A late duplicate; if it took a lock again, give that up.
		if len(r.Grants) > 0 {
			g.sendShard(r.Shard, func(e *msg.Envelope) { e.Release = &msg.Release{Txn: r.Txn} })
		}
		return
	}
	if c.phase != phaseLocking {
		return
	}
	s := c.session
	i := slices.IndexFunc(s.asks, func(a *ask) bool { return a.env.Lock.Number == r.Number && a.env.Shard == r.Shard })
	if i < 0 {
		return
	}
	c.heard(r.Shard, &r.Receipt)
	g.noteWaited(&r.Receipt)
	if r.Failure != nil {
		g.conclude(c, c.ofCall(r.Failure))
		return
	}
	l := s.asks[i].env.Lock
	s.asks = slices.Delete(s.asks, i, i+1)
	t := s.at(r.Shard)
	if len(r.Grants) > 0 && t.inc != 0 && t.inc != r.Incarnation {
		g.abort(c, failure(msg.ReasonIncarnation, kv.KindAborted, "a shard has restarted and lost the transaction's locks"))
		return
	}
	if len(r.Grants) > 0 {
		t.inc = r.Incarnation
		t.granted(r.Grants)
	}
	t.index = max(t.index, r.Index)
	if c.kind == moving {
		g.moveLocked(c, &r.Results[0])
		return
	}
	s.learn(t, l.Ops, l.Optimistic, r.Results)
	g.evaluateIfRead(c)
}

// learn takes what was read.
func (s *session) learn(t *touched, ops []msg.Op, optimistic bool, results []msg.Result) {
	for i := range results {
		op, r := &ops[i], &results[i]
		if op.Seq == pretended {
			continue
		}
		if op.IsCall() {
			s.answers[op.Seq] = *r
			continue
		}
		if s.found(op, r) {
			continue
		}
		if !op.IsRange() {
			v := entry.Value{Type: entry.TypeDeleted}
			if r.Found {
				v = entry.Value{Type: entry.Type(r.Type), Version: r.Version, Payload: r.Value, Expires: r.Expires}
			}
			s.base[string(op.Key)] = v
			if optimistic {
				t.seen = append(t.seen, msg.Seen{Key: op.Key, Version: r.Version})
			}
			continue
		}
		rows := s.rows[op.Seq]
		for _, p := range r.Pairs {
			rows.Rows = append(rows.Rows, mvcc.RangeRow{Key: p.Key, Value: entry.Value{Type: entry.Type(p.Type), Version: p.Version, Payload: p.Value, Expires: p.Expires}})
		}
		if len(r.Resume) > 0 && (rows.Resume == nil || bytes.Compare(r.Resume, rows.Resume) < 0) {
			rows.Resume = r.Resume
		}
	}
}
