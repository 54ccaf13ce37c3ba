package txn

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// session is what an attempt that locks before it commits has read, buffered
// and been granted.
type session struct {
	optimistic bool
	touched    []*touched // by shard
	// base are the values that were read; they are locked, or in seen.
	base map[string]entry.Value
	// rows are the answers to range operations, by Op.Seq.
	rows map[uint32]*mvcc.RangeRows
	// answers are those of calls of data types, by Op.Seq; after is what an
	// operation finds that comes after such calls on its key.
	answers map[uint32]msg.Result
	after   map[finding]entry.Value
	// buffer are the writes so far, in order; byKey finds those of a key.
	buffer []msg.Op
	byKey  map[string][]int
	ranged []int // buffered operations on ranges
	// savepoints are places in the buffer, oldest first.
	savepoints []savepoint
	seq        uint32
	bytes      int
	number     uint32
	asks       []*ask
	results    []msg.Result
	// rounds counts lock requests ever sent.
	rounds int
	// waited is the longest wait in the call under way.
	waited msg.Receipt
}

// touched is one shard's part in a session.
type touched struct {
	shard kv.ShardID
	inc   kv.Incarnation
	// grants are by number and mode.
	grants []msg.Grant
	seen   []msg.Seen
	// index is the shard's when it last answered.
	index kv.Index
}

// granted notes grants, each once: a lock that is asked for again is granted under
// the number that it has. They are by number, as shards mostly tell of them.
func (t *touched) granted(grants []msg.Grant) {
	if t.grants == nil {
		t.grants = make([]msg.Grant, 0, len(grants))
	}
	for i := range grants {
		at, known := slices.BinarySearchFunc(t.grants, &grants[i], func(a msg.Grant, b *msg.Grant) int {
			return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Mode, b.Mode))
		})
		if !known {
			t.grants = slices.Insert(t.grants, at, grants[i])
		}
	}
}

// ask is a lock request without an answer.
type ask struct {
	env        *msg.Envelope
	next, wait int64
}

func newSession() *session {
	return &session{base: map[string]entry.Value{}, rows: map[uint32]*mvcc.RangeRows{}, answers: map[uint32]msg.Result{}, after: map[finding]entry.Value{}, byKey: map[string][]int{}}
}

func (s *session) shards() []kv.ShardID {
	out := make([]kv.ShardID, len(s.touched))
	for i, t := range s.touched {
		out[i] = t.shard
	}
	return out
}

func (s *session) at(shard kv.ShardID) *touched {
	i, ok := slices.BinarySearchFunc(s.touched, shard, func(t *touched, s kv.ShardID) int { return int(t.shard) - int(s) })
	if !ok {
		s.touched = slices.Insert(s.touched, i, &touched{shard: shard})
	}
	return s.touched[i]
}

// buffered appends a write.
func (s *session) push(op msg.Op) {
	if op.IsRange() {
		s.ranged = append(s.ranged, len(s.buffer))
	} else {
		s.byKey[string(op.Key)] = append(s.byKey[string(op.Key)], len(s.buffer))
	}
	s.buffer = append(s.buffer, op)
}

// relevant lists the buffered writes that some of ops can see, in order.
func (s *session) relevant(ops []msg.Op) []msg.Op {
	var hits []int
	for i := range ops {
		span := ops[i].Span()
		if span.IsPoint() {
			hits = append(hits, s.byKey[string(span.Start)]...)
		} else {
			for j := range s.buffer {
				if s.buffer[j].Span().Overlaps(span) {
					hits = append(hits, j)
				}
			}
		}
		for _, j := range s.ranged {
			if s.buffer[j].Span().Overlaps(span) {
				hits = append(hits, j)
			}
		}
	}
	slices.Sort(hits)
	hits = slices.Compact(hits)
	// A range brings in all its keys, whose other writes matter too.
	out := make([]msg.Op, len(hits))
	for i, j := range hits {
		out[i] = s.buffer[j]
	}
	return out
}

// determined reports whether the buffer alone tells the value of a key.
func (s *session) determined(key []byte) bool {
	for _, j := range s.byKey[string(key)] {
		if k := s.buffer[j].Kind; k == msg.OpPut || k == msg.OpDelete {
			return true
		}
	}
	for _, j := range s.ranged {
		if s.buffer[j].Span().Contains(key) {
			return true
		}
	}
	return false
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

// knows reports whether the value of a key has been read, and all of it if that
// is needed.
func (s *session) knows(key []byte, all bool) bool {
	v, known := s.base[string(key)]
	return known && (!all || v.Payload != nil || v.Type <= adt.Counter || !v.Exists())
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
	s := c.session
	wanted := map[kv.ShardID][]msg.Op{}
	hasty := map[kv.ShardID][]msg.Op{}
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
		all := whole[string(op.Key)]
		if !needs || s.knows(op.Key, all) || len(called) > 0 || asked[string(op.Key)] || s.determined(op.Key) {
			continue
		}
		asked[string(op.Key)] = true
		get := msg.Op{Kind: msg.OpGet, Seq: op.Seq, Key: op.Key, ForUpdate: forUpdate, Stored: all}
		if sh := g.place(c, op.Key); s.optimistic && op.Kind == msg.OpGet && !forUpdate && sh == g.cfg.Router.HotShard() {
			hasty[sh] = append(hasty[sh], get)
		} else {
			wanted[sh] = append(wanted[sh], get)
		}
	}
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

// rangeAsk is what the shards are asked for a range operation. A scan may
// lose rows to the transaction's own deletes, so it asks for as many more.
func (s *session) rangeAsk(op *msg.Op) msg.Op {
	out := msg.Op{Kind: msg.OpScan, Seq: op.Seq, Key: op.Key, End: op.End, ForUpdate: op.ForUpdate || op.Kind == msg.OpDeleteRange}
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
	if r.Failure != nil {
		g.abort(c, c.ofCall(r.Failure))
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

// evaluateIfRead executes the call's operations once everything is there.
func (g *Gateway) evaluateIfRead(c *call) {
	s := c.session
	if len(s.asks) > 0 {
		return
	}
	if c.kind == scanning {
		g.locked(c)
		return
	}
	for i := range c.ops {
		if c.ops[i].IsRange() {
			cutRows(s.rows[c.ops[i].Seq])
		}
	}
	before := s.relevant(c.ops)
	n := uint64(0)
	x := mvcc.Exec(sessionView{s, g.clock()}, append(before, c.ops...), func(kv.Version) kv.Version {
		n++
		return mvcc.Provisional(n)
	})
	if x.Failure != nil {
		g.failedCall(c, x.Failure)
		return
	}
	results := x.Results[len(before):]
	for i := range results {
		if a, ok := s.answers[c.ops[i].Seq]; ok && c.ops[i].IsCall() {
			results[i] = a
			delete(s.answers, c.ops[i].Seq)
		}
		results[i].Version = mvcc.Identity(results[i].Version)
	}
	if c.kind == oneShot {
		g.evaluatedOneShot(c, results)
		return
	}
	g.evaluatedDo(c, results)
}

// sessionView is what a session's operations see (mvcc.View).
type sessionView struct {
	s *session
	// clock is for deadlines that the transaction sets itself and asks for; in the
	// end they are those of the shards' clocks.
	clock int64
}

func (v sessionView) Clock() int64 { return v.clock }

func (v sessionView) Value(key []byte) (entry.Value, error) {
	if val, ok := v.s.base[string(key)]; ok {
		return val, nil
	}
	// Not read: only blind writes ask, and their type is checked where the
	// key is.
	return entry.Value{Type: entry.TypeDeleted}, nil
}

func (v sessionView) Pending([]byte) (low, high int64) { return 0, 0 }

// Calls: values of data types are not here, so that calls are only buffered.
func (v sessionView) Calls() *mvcc.Calls { return nil }

// After is what the shard says that the operation number seq finds.
func (v sessionView) After(seq uint32, key []byte) entry.Value {
	return v.s.after[finding{seq, string(key)}]
}

func (v sessionView) Rows(seq uint32) mvcc.RangeRows {
	if r := v.s.rows[seq]; r != nil {
		return *r
	}
	return mvcc.RangeRows{}
}
