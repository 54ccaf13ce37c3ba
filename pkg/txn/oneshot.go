package txn

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Execute starts a one-shot transaction: ops in order, all or none. They have
// been validated; the gateway numbers them. Its Done carries the results.
func (g *Gateway) Execute(now int64, token Token, id kv.TxnID, ops []msg.Op, deadline int64) {
	g.ExecuteAs(now, token, id, ops, deadline, How{})
}

// ExecuteAs is Execute in a particular way.
func (g *Gateway) ExecuteAs(now int64, token Token, id kv.TxnID, ops []msg.Op, deadline int64, how How) {
	g.now = max(g.now, now)
	c := g.newCall()
	c.how = how
	c.ref, c.kind, c.token, c.started, c.ops, c.readOnly = kv.TxnRef{TxnID: id, Attempt: 1}, oneShot, token, g.now, ops, true
	c.deadline = min(deadline, g.now+int64(g.cfg.MaxAge))
	for i := range ops {
		ops[i].Seq = uint32(i)
		c.readOnly = c.readOnly && !ops[i].Writes()
	}
	f := g.taken(id)
	if f == nil {
		f = g.refuse(how, c.readOnly)
	}
	if !how.At.IsZero() {
		c.past = &past{want: how.At}
	}
	if f != nil {
		g.done(c, Done{Failure: f, Closed: true})
		return
	}
	g.enter(c)
	g.start(c)
}

// onExpireKey deletes a key that is due, unless it has been written since. It is a
// one-shot like those of clients, of which nobody is told: the shard sees whether
// the key is gone, and asks again if it is not.
func (g *Gateway) onExpireKey(k *msg.ExpireKey) {
	if g.ids[k.Txn.TxnID] == nil {
		g.Execute(g.now, nil, k.Txn.TxnID, []msg.Op{{Kind: msg.OpDeleteExpired, Key: k.Key, Expiry: k.Expires}}, g.now+int64(kv.DefaultExpiryTime))
	}
}

// start begins an attempt of whatever is not interactive, or of an open reader that was
// turned away.
func (g *Gateway) start(c *call) {
	switch {
	case c.kind == pinning:
		g.startPin(c)
		return
	case c.kind == snapping:
		c.phase = phasePinning
		g.joinRound(c)
		return
	case c.unresolved():
		g.resolve(c)
		return
	case c.kind == interactive:
		g.fetch(c, c.ops)
		return
	case c.kind == scanning:
		g.startScan(c)
		return
	case c.kind == moving:
		g.startMove(c)
		return
	}
	ps := pieces(c.onePiece[:0])
	if s, ok := g.only(c, c.ops); ok {
		// The piece shares the operations, which nobody changes any more.
		ps = append(ps, shardPiece{shard: s, piece: msg.Piece{Ops: c.ops}})
	} else {
		g.cut(c, &ps, c.ops)
	}
	if f := g.admit(c, ps); f != nil {
		g.finish(c, Done{Failure: f})
		return
	}
	if c.past != nil {
		g.startPast(c, ps)
		return
	}
	if c.readOnly && g.share(c) {
		return
	}
	if c.readOnly && g.cfg.Reads == SnapshotReads {
		g.startReading(c, ps)
		return
	}
	if !c.readOnly || len(ps) == 1 {
		g.sendCommit(c, ps)
		return
	}
	c.session = newSession()
	c.session.optimistic = false
	g.fetch(c, c.ops)
}

// evaluated: a read-only one-shot has read everything under its locks.
func (g *Gateway) evaluatedOneShot(c *call, results []msg.Result) {
	c.session.results = slices.Clone(results)
	g.endRead(c)
}
