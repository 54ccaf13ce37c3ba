package txn

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// commit is what has been sent to the shards to commit an attempt, and is
// repeated until the last agent answers.
type commit struct {
	last  kv.ShardID
	known kv.Known
	sends []*msg.Envelope
	// next is when to repeat, after wait.
	next, wait int64
	// cancelling: the last agent is asked for an end. without is why, if it is that the
	// node of a participant is down.
	cancelling bool
	without    *msg.Failure
	// validating: it has no writes, and is the first half of a reader's end.
	validating bool
}

// noWait has the messages say from now on that the transaction is marked.
// They are copied, since earlier ones may still be on their way.
func (c *commit) noWait(m mutant.Set) {
	for i, env := range c.sends {
		e := *env
		if p := env.Park; p != nil && !m.Has(mutant.ParkWithoutMark) {
			q := *p
			q.NoWait = true
			e.Park = &q
		}
		if p := env.Prepare; p != nil && !m.Has(mutant.PrepareWithoutMark) {
			q := *p
			q.NoWait = true
			e.Prepare = &q
		}
		c.sends[i] = &e
	}
}

// pieces are what a transaction does, by shard, in the order of shards.
type pieces []shardPiece

type shardPiece struct {
	shard kv.ShardID
	piece msg.Piece
}

func (p *pieces) at(s kv.ShardID) *msg.Piece {
	i, ok := slices.BinarySearchFunc(*p, s, func(x shardPiece, s kv.ShardID) int { return int(x.shard) - int(s) })
	if !ok {
		*p = slices.Insert(*p, i, shardPiece{shard: s})
	}
	return &(*p)[i].piece
}

// only gives the shard that all operations are for, if they are for one.
func (g *Gateway) only(c *call, ops []msg.Op) (only kv.ShardID, ok bool) {
	for i := range ops {
		if ops[i].IsRange() {
			return 0, false
		}
		s := g.place(c, ops[i].Key)
		if i > 0 && s != only {
			return 0, false
		}
		only = s
	}
	return only, len(ops) > 0
}

// cut gives every operation to the shards that it concerns.
func (g *Gateway) cut(c *call, p *pieces, ops []msg.Op) {
	for i := range ops {
		op := &ops[i]
		if !op.IsRange() {
			pc := p.at(g.place(c, op.Key))
			pc.Ops = append(pc.Ops, *op)
			continue
		}
		for s := range g.cfg.Router.Shards() {
			pc := p.at(kv.ShardID(s))
			pc.Ops = append(pc.Ops, *op)
		}
	}
}

func (p pieces) shards() []kv.ShardID {
	out := make([]kv.ShardID, len(p))
	for i := range p {
		out[i] = p[i].shard
	}
	return out
}

// lastAgent is the shard that decides: the hottest. In the baseline it is the
// coldest in the router's order: the decision is not where the contention is, as
// it is not with a coordinator apart.
func (g *Gateway) lastAgent(ps pieces) kv.ShardID {
	if len(ps) == 1 {
		return ps[0].shard
	}
	if g.cfg.Order != Parallel {
		last, _ := g.hottest(ps)
		return last
	}
	last := ps[0].shard
	for _, p := range ps[1:] {
		if !g.cfg.Router.Hotter(p.shard, last) {
			last = p.shard
		}
	}
	return last
}

// sendCommit sends the pieces: Park to the last agent, Prepare to the others.
func (g *Gateway) sendCommit(c *call, ps pieces) {
	last := g.lastAgent(ps)
	parallel := g.cfg.Order == Parallel && len(ps) > 1
	if c.kind == moving {
		last, parallel = g.cfg.Router.HotShard(), false
	}
	for i := range ps {
		if ps[i].piece.Incarnation == 0 {
			ps[i].piece.Incarnation = g.incs[ps[i].shard]
		}
	}
	g.noteTogether(ps)
	c.phase = phaseCommitting
	c.commit = commit{last: last, known: g.known(last, ps.at(last).Incarnation), validating: c.commit.validating, wait: int64(g.cfg.Repeat)}
	if len(ps) == 1 {
		c.commit.sends = c.oneSend[:0]
	}
	env, park := msg.ParkTo(last)
	park.Txn, park.Gateway, park.User, park.Aborts = c.ref, g.cfg.Node, c.how.User, c.commit.known.Aborts
	for _, p := range ps {
		if p.shard == last && !parallel {
			park.Piece = p.piece
			continue
		}
		park.Participants = append(park.Participants, p.shard)
		env, prepare := msg.PrepareTo(p.shard)
		*prepare = msg.Prepare{Txn: c.ref, Gateway: g.cfg.Node, User: c.how.User, Last: last, LastIncarnation: c.commit.known.Incarnation, LastAborts: c.commit.known.Aborts, Piece: p.piece}
		c.commit.sends = append(c.commit.sends, env)
	}
	park.Piece.Incarnation = c.commit.known.Incarnation
	park.ReadBefore = c.kind == interactive && c.session.hasRead()
	park.Snapshot = c.kind == oneShot && c.readOnly && g.cfg.Reads == SnapshotReads
	c.commit.sends = append(c.commit.sends, env)
	if c.marked {
		c.commit.noWait(g.cfg.Mutants)
	}
	g.out.Send = append(g.out.Send, c.commit.sends...)
	c.commit.next = nextRepeat(g.now, c.commit.wait, c.lastRepeat())
	g.timed(min(c.commit.next, c.cancelAt()))
}

// tickCommit repeats the commit; near the deadline it asks for an end, and at
// the deadline the outcome is unknown, unless there is nothing to apply.
func (g *Gateway) tickCommit(c *call) {
	reads := c.kind == oneShot && c.readOnly || c.commit.validating
	if len(g.down) > 0 && g.meetDown(c, reads) {
		return
	}
	if g.now >= c.deadline {
		if reads {
			g.finish(c, Done{Failure: g.late(c)})
			return
		}
		g.finish(c, Done{Failure: failure(msg.ReasonCancelled, kv.KindUnknown,
			"the answer to the commit of transaction "+c.ref.TxnID.String()+" did not come in time; ask for its outcome by that id")})
		return
	}
	g.timed(c.deadline)
	if g.now >= c.cancelAt() {
		c.commit.cancel(g)
	}
	if g.now >= c.commit.next {
		c.commit.wait = min(2*c.commit.wait, int64(g.cfg.Liveness))
		c.commit.next = nextRepeat(g.now, c.commit.wait, c.lastRepeat())
		if c.commit.cancelling {
			g.sendShard(c.commit.last, func(e *msg.Envelope) {
				e.Cancel = &msg.Cancel{Txn: c.ref, Gateway: g.cfg.Node, User: c.how.User, Incarnation: c.commit.known.Incarnation, Aborts: c.commit.known.Aborts}
			})
		} else {
			g.out.Send = append(g.out.Send, c.commit.sends...)
		}
	}
	g.timed(c.commit.next)
	if !c.commit.cancelling {
		g.timed(c.cancelAt())
	}
}

// onAnswer: the last agent has decided.
func (g *Gateway) onAnswer(a *msg.Answer) {
	g.LearnAborts(a.Shard, kv.Known{Incarnation: a.Incarnation, Aborts: a.Aborts})
	for _, s := range a.Seen {
		g.Learn(s.Shard, s.Incarnation)
	}
	c := g.find(a.Txn)
	if c == nil || c.phase != phaseCommitting || a.Shard != c.commit.last || !c.commit.known.Names(a.Named()) {
		return
	}
	c.heard(a.Shard, a.Receipt)
	switch {
	case a.Failure != nil && a.Failure.Reason == msg.ReasonClosed:
		g.turnedAway(c)
	case !a.Committed:
		if c.commit.validating || c.session != nil {
			g.release(c)
		}
		f := a.Failure
		if f.Reason == msg.ReasonRequest && c.session != nil && c.session.sawAbsent() {
			f = unvalidated()
		}
		if f.Reason == msg.ReasonCommitted && c.kind == oneShot {
			// Its client has sent it before, and what it asked for is done.
			g.finish(c, Done{Committed: true, ResultsLost: true, Index: msg.ShardIndex{Shard: a.Shard, Index: a.Index}})
			return
		}
		g.afterAbort(c, f)
	case c.commit.validating:
		c.commit.validating = false
		g.startCheck(c)
	default:
		d := Done{Committed: true, ResultsLost: a.ResultsLost, Index: msg.ShardIndex{Shard: a.Shard, Index: a.Index}}
		if c.kind == oneShot && c.readOnly && g.cfg.Reads == SnapshotReads {
			d.Plan = PlanOne
		}
		if c.kind == oneShot && !a.ResultsLost {
			d.Results = assemble(c.ops, a.Results)
		}
		g.finish(c, d)
	}
}

// assemble puts the results of the pieces into the order of the operations,
// and joins those of a range, which come from every shard.
func assemble(ops []msg.Op, parts []msg.Result) []msg.Result {
	if inOrder(ops, parts) {
		return parts
	}
	out := make([]msg.Result, len(ops))
	ranged := map[int][]msg.Result{}
	for _, r := range parts {
		i := int(r.Seq)
		switch {
		case i >= len(ops):
		case ops[i].IsRange():
			ranged[i] = append(ranged[i], r)
		default:
			out[i] = r
		}
	}
	for i := range ops {
		out[i].Seq = uint32(i)
		if ops[i].IsRange() {
			out[i] = joinRange(&ops[i], ranged[i])
			out[i].Seq = uint32(i)
		}
	}
	return out
}

// inOrder reports whether parts are the results as they are: one for each
// operation, as a single shard gives them.
func inOrder(ops []msg.Op, parts []msg.Result) bool {
	if len(parts) != len(ops) {
		return false
	}
	for i := range parts {
		if int(parts[i].Seq) != i || ops[i].IsRange() {
			return false
		}
	}
	return true
}

// joinRange merges the shards' parts of one range operation.
func joinRange(op *msg.Op, parts []msg.Result) msg.Result {
	out := joinParts(parts)
	out.Pairs, out.Resume = cutPairs(out.Pairs, out.Resume, scanLimit(op))
	return out
}

// joinParts merges the shards' parts of one range operation, whose limit each
// of them has kept for itself. What lies beyond the first place where some
// shard stopped is cut off: it is not complete.
func joinParts(parts []msg.Result) msg.Result {
	var out msg.Result
	for _, r := range parts {
		out.Found = out.Found || r.Found
		out.Count += r.Count
		out.Pairs = append(out.Pairs, r.Pairs...)
		if len(r.Resume) > 0 && (len(out.Resume) == 0 || bytes.Compare(r.Resume, out.Resume) < 0) {
			out.Resume = r.Resume
		}
	}
	slices.SortFunc(out.Pairs, func(a, b msg.Pair) int { return bytes.Compare(a.Key, b.Key) })
	out.Pairs, out.Resume = cutPairs(out.Pairs, out.Resume, kv.MaxScanLimit)
	return out
}

// recorded puts the results in a record into order, one for each operation.
// The operations are not known: where several shards had a part in one, it is
// a range, and joined without its limit.
func recorded(parts []msg.Result) []msg.Result {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b msg.Result) int { return cmp.Compare(a.Seq, b.Seq) })
	var out []msg.Result
	for i, j := 0, 0; i < len(parts); i = j {
		for j = i + 1; j < len(parts) && parts[j].Seq == parts[i].Seq; j++ {
		}
		r := parts[i]
		if j > i+1 {
			r = joinParts(parts[i:j])
			r.Seq, r.Operation = parts[i].Seq, parts[i].Operation
		}
		out = append(out, r)
	}
	return out
}

func cutPairs(pairs []msg.Pair, resume []byte, limit int) ([]msg.Pair, []byte) {
	if len(resume) > 0 {
		i, _ := slices.BinarySearchFunc(pairs, resume, func(p msg.Pair, k []byte) int { return bytes.Compare(p.Key, k) })
		pairs = pairs[:i]
	}
	if len(pairs) > limit {
		resume = pairs[limit].Key
		pairs = pairs[:limit]
	}
	return pairs, resume
}

func scanLimit(op *msg.Op) int {
	if op.Limit == 0 || op.Limit > kv.MaxScanLimit {
		return kv.MaxScanLimit
	}
	return int(op.Limit)
}
