package txn

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// place is where a call looks for a key: where it was told that the key is, or
// else at its home. What it was told may be out of date; the shard says so, and
// the call goes on where the shard says.
func (g *Gateway) place(c *call, key []byte) kv.ShardID {
	if c.past != nil {
		if p, ok := c.past.places[string(key)]; ok {
			return p.shard
		}
	}
	if to, ok := c.places[string(key)]; ok {
		return to
	}
	if len(g.moved) > 0 {
		if to, ok := g.moved[string(key)]; ok {
			return to
		}
	}
	return g.cfg.Router.Shard(key)
}

// pastPlace is where a key was at the state that a call reads. marked: its home
// has said so.
type pastPlace struct {
	shard  kv.ShardID
	marked bool
}

// maxMoved bounds the keys that a gateway knows to be elsewhere; the hot shard
// takes in far fewer. What is forgotten is told again by the keys' homes.
const maxMoved = 4096

// redirected takes note of where a key is, if that is why a request failed.
func (g *Gateway) redirected(c *call, f *msg.Failure) bool {
	if f.Reason != msg.ReasonMoved {
		return false
	}
	if g.cfg.Mutants.Has(mutant.RedirectIgnored) && c.past == nil {
		return true
	}
	home := f.MovedTo == g.cfg.Router.Shard(f.Key)
	switch {
	case c.past != nil:
		if c.past.places == nil {
			c.past.places = map[string]pastPlace{}
		}
		c.past.places[string(f.Key)] = pastPlace{f.MovedTo, !home}
	default:
		if c.places == nil {
			c.places = map[string]kv.ShardID{}
		}
		c.places[string(f.Key)] = f.MovedTo
		g.learnPlace(f.Key, f.MovedTo, home)
	}
	return true
}

// learnPlace has all calls from now on look for a key where it is.
func (g *Gateway) learnPlace(key []byte, to kv.ShardID, home bool) {
	if home {
		delete(g.moved, string(key))
		return
	}
	if len(g.moved) >= maxMoved {
		clear(g.moved)
	}
	g.moved[string(key)] = to
}

// LearnMoved takes which keys the hot shard has taken in, as of an epoch, from
// wherever it is remembered; what is told of a later one goes before it.
func (g *Gateway) LearnMoved(epoch uint64, keys [][]byte) { g.setMoved(epoch, keys) }

// setMoved takes what the hot shard says of the keys that it has taken in, if it
// is news.
func (g *Gateway) setMoved(epoch uint64, keys [][]byte) {
	if epoch <= g.movedEpoch {
		return
	}
	g.movedEpoch = epoch
	clear(g.moved)
	for _, k := range keys {
		if hot := g.cfg.Router.HotShard(); g.cfg.Router.Shard(k) != hot && len(g.moved) < maxMoved {
			g.moved[string(k)] = hot
		}
	}
}

// say has operations on the past say what the keys' homes have said.
func (p *past) say(ops []msg.Op) []msg.Op {
	if len(p.places) == 0 {
		return ops
	}
	ops = slices.Clone(ops) // an earlier request may still be on its way
	for i := range ops {
		ops[i].Marked = p.places[string(ops[i].Key)].marked
	}
	return ops
}

// readElsewhere goes on with a reader of which a request has met a key that lives
// on another shard. An open reader asks there, and stays registered where it
// is; nothing else that it has read has to be read again. A one-shot begins anew.
func (g *Gateway) readElsewhere(c *call, at kv.ShardID, ops []msg.Op) {
	if c.kind == interactive {
		wanted := map[kv.ShardID][]msg.Op{}
		for _, op := range ops {
			s := at // which has a part of every range
			if !op.IsRange() {
				s = g.place(c, op.Key)
			}
			wanted[s] = append(wanted[s], op)
		}
		// A shard reads for one request at a time, and forgets all but the last.
		c.reading.asks = slices.DeleteFunc(c.reading.asks, func(a *readAsk) bool {
			ops, again := wanted[a.env.Shard]
			if again {
				wanted[a.env.Shard] = append(ops, a.env.Read.Ops...)
			}
			return again
		})
		g.openRead(c, wanted)
		return
	}
	g.endReading(c)
	var ps pieces
	g.cut(c, &ps, c.ops)
	if c.past != nil {
		g.startPast(c, ps)
		return
	}
	g.startReading(c, ps)
}

// move is what a moving call moves.
type move struct {
	key      []byte
	from, to kv.ShardID
}

// Move moves a key from one shard to another; one of them is the key's home, the
// other the hot shard. Done says whether it has moved. It may be called for
// any key at any time: if the key is not where it is said to be, nothing is
// moved.
//
// A move is an ordinary transaction: it locks the key where it is, and reads it;
// then the one shard marks it, or removes it, and the other takes it in. The
// hot shard decides.
func (g *Gateway) Move(now int64, token Token, id kv.TxnID, key []byte, from, to kv.ShardID, deadline int64) {
	g.now = max(g.now, now)
	g.startMoving(token, kv.TxnRef{TxnID: id, Attempt: 1}, &move{key, from, to}, deadline)
}

// movesTake is how long a move may take that the hot shard has asked for.
const movesTake = int64(kv.DefaultMoveTime)

func (g *Gateway) onMoveKey(m *msg.MoveKey) {
	if g.ids[m.Txn.TxnID] == nil {
		g.startMoving(nil, m.Txn, &move{m.Key, m.From, m.To}, g.now+movesTake)
	}
}

func (g *Gateway) startMoving(token Token, ref kv.TxnRef, mv *move, deadline int64) {
	c := &call{ref: ref, kind: moving, token: token, started: g.now, move: mv}
	c.deadline = min(deadline, g.now+int64(g.cfg.MaxAge))
	if f := g.taken(ref.TxnID); f != nil {
		g.done(c, Done{Failure: f, Closed: true})
		return
	}
	g.enter(c)
	g.timed(c.deadline)
	g.start(c)
}

// startMove locks the key where it is.
func (g *Gateway) startMove(c *call) {
	if f := g.refusing([]kv.ShardID{c.move.from, c.move.to}); f != nil {
		g.finish(c, Done{Failure: f})
		return
	}
	c.session = newSession()
	c.phase = phaseLocking
	g.askLock(c, c.move.from, []msg.Op{c.moveOut()}, g.cfg.Mutants.Has(mutant.MoveUnlocked))
}

// moveOut leaves a mark at home, and nothing at the hot shard: what that knows
// nothing of is at home.
func (c *call) moveOut() msg.Op {
	return msg.Op{Kind: msg.OpMoveOut, Key: c.move.key, To: c.move.to, Type: uint32(entry.TypeMoved)}
}

// moveLocked: the key is locked, and this is what it holds.
func (g *Gateway) moveLocked(c *call, held *msg.Result) {
	mv := c.move
	if len(held.Value) > kv.MaxMovedBytes && g.cfg.Router.Shard(mv.key) == mv.from {
		g.release(c)
		g.finish(c, Done{Failure: failure(msg.ReasonRequest, kv.KindOutOfRange,
			fmt.Sprintf("the key holds %d bytes; what has more than %d stays at home", len(held.Value), kv.MaxMovedBytes))})
		return
	}
	out := c.moveOut()
	if g.cfg.Router.Shard(mv.key) != mv.from || g.cfg.Mutants.Has(mutant.MoveLeavesNoMark) {
		out.Type = uint32(entry.TypeDeleted)
	}
	in := msg.Op{Kind: msg.OpMoveIn, Seq: 1, Key: mv.key, Type: held.Type, Value: held.Value, Version: held.Version, Expiry: held.Expires}
	if g.cfg.Mutants.Has(mutant.MoveCopiesTooLittle) {
		in.Type, in.Value = uint32(entry.TypeDeleted), nil
	}
	t := c.session.at(mv.from)
	var ps pieces
	p := ps.at(mv.from)
	p.Ops, p.Grants, p.Incarnation = []msg.Op{out}, t.grants, t.inc
	ps.at(mv.to).Ops = []msg.Op{in}
	g.sendCommit(c, ps)
}
