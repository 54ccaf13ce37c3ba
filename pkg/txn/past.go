package txn

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// How says how a transaction is to read. The zero value is the usual way.
type How struct {
	// At is the state that is read.
	At At
	// After is a token: what is read is not older. It may be nil.
	After *vclock.Clock
	// Plan is how to read without locks; PlanAny leaves it to the gateway.
	Plan Plan
	// User is for whom it is.
	User kv.Account
}

// plain reports whether it is the present that is read, in any way.
func (h How) plain() bool {
	h.User = 0
	return h == How{}
}

// At names a state of the past: a snapshot by its name or its number, or the
// newest state of the history that is not younger than a time. The zero value
// is the present.
type At struct {
	Name   string
	Number uint64
	// AsOf is in nanoseconds since 1970, by the clock of the hot shard's node.
	AsOf int64
}

// IsZero reports whether it is the present.
func (a At) IsZero() bool { return a == At{} }

// past is the state at which a transaction reads: a pin, once it is found, or
// one that the shards keep for a round.
type past struct {
	want At
	pin  *msg.Pin
	kept kv.TxnRef
	at   *vclock.Clock
	// places are where keys were that were not found where they are now.
	places map[string]pastPlace
}

// foreignToken is the hint to whoever comes with a token that cannot be of here.
const foreignToken = "it is one of another cluster, or from before a backup was restored; read without it"

func invalid(text, hint string) *msg.Failure {
	f := failure(msg.ReasonRequest, kv.KindInvalid, text)
	f.Hint = hint
	return f
}

// refuse tells why a transaction cannot be run in such a way, nil if it can.
func (g *Gateway) refuse(how How, readOnly bool) *msg.Failure {
	if !how.At.IsZero() && !readOnly {
		return invalid("the transaction writes, and the past cannot be changed", "read at the snapshot, and write without it")
	}
	if how.After == nil {
		return nil
	}
	for _, e := range how.After.Entries() {
		if int(e.Shard) >= g.cfg.Router.Shards() {
			return invalid(fmt.Sprintf("the token that came with the request names shard %v, which this cluster does not have", e.Shard), foreignToken)
		}
	}
	return nil
}

func (g *Gateway) onPinReply(r *msg.PinReply) {
	c, asked := g.answered(r.Request)
	switch {
	case c == nil:
	case asked.KeepPin != nil && r.Failure != nil && r.Failure.Reason == msg.ReasonIncarnation:
		c.phase = phasePinning
		g.joinRound(c)
	case r.Failure != nil:
		g.abort(c, r.Failure)
	case c.kind != snapping:
		g.found(c, &r.Pins[0])
	case c.dropping && asked.FindPin != nil:
		g.dropPin(c, &r.Pins[0])
	case c.dropping:
		g.finish(c, Done{Committed: true, Pins: c.pins})
	default:
		g.finish(c, Done{Committed: true, Pins: r.Pins})
	}
}

// resolve finds the pin that a transaction is to read at.
func (g *Gateway) resolve(c *call) {
	w := c.past.want
	g.ask(c, func(e *msg.Envelope, request kv.TxnRef) {
		e.FindPin = &msg.FindPin{Request: request, Gateway: g.cfg.Node, Name: w.Name, Number: w.Number, AsOf: w.AsOf}
	})
}

// found: the transaction goes on, at the pin.
func (g *Gateway) found(c *call, p *msg.Pin) {
	c.past.pin, c.past.at = p, msg.Clock(p.Clock)
	if c.how.After != nil && !c.past.at.Covers(c.how.After) {
		g.abort(c, invalid(fmt.Sprintf("snapshot %d is older than the token that came with the request", p.Number), "read at a later one, or without the token"))
		return
	}
	if c.kind == interactive {
		g.fetch(c, c.ops)
		return
	}
	g.start(c)
}

// unresolved reports whether a transaction has still to find its pin.
func (c *call) unresolved() bool { return c.past != nil && c.past.at == nil }

// fillPast makes a request one for the past.
func (c *call) fillPast(q *msg.Read, s kv.ShardID) {
	q.Index, q.Kept, q.LeaseNanos = c.past.at.At(s), c.past.kept, 0
	if c.past.pin != nil {
		q.Pin = c.past.pin.Number
	}
	q.Ops = c.past.say(q.Ops)
}

// startPast sends a one-shot's reads.
func (g *Gateway) startPast(c *call, ps pieces) {
	g.newReading(c, PlanPin)
	c.phase = phaseReading
	for _, p := range ps {
		q := &msg.Read{Ops: p.piece.Ops}
		c.fillPast(q, p.shard)
		g.askRead(c, p.shard, q)
	}
}

// startPastScan reads a scan's pages at a pin.
func (g *Gateway) startPastScan(c *call) {
	c.scan.name, c.scan.pin = c.ref, c.past.pin.Number
	for _, s := range g.everyShard() {
		c.scan.fixed(s, 0, c.past.at.At(s))
	}
	g.startPaging(c)
}

// keepPin asks for a round's state to be kept.
func (g *Gateway) keepPin(c *call, p *round) {
	g.ask(c, func(e *msg.Envelope, request kv.TxnRef) {
		e.KeepPin = &msg.KeepPin{Request: request, Gateway: g.cfg.Node, Incarnation: p.inc, Fixed: p.fixed, Clock: msg.Indexes(&p.at), Name: c.pinName, TtlNanos: c.pinTTL}
	})
}

// stamp says in a Done which state a transaction saw, and refuses one that is
// older than the token that came with it: the token is then of another cluster,
// or this one has lost what it had told.
func (g *Gateway) stamp(c *call, d *Done) {
	if c.past != nil && c.past.pin != nil {
		d.Pins = []msg.Pin{*c.past.pin}
	}
	if !d.Committed {
		return
	}
	switch {
	case c.past != nil && c.past.at != nil:
		d.At = msg.Indexes(c.past.at)
	case c.scan != nil:
		d.At = msg.Indexes(&c.scan.at)
	case c.reading != nil:
		for _, r := range c.reading.replies {
			d.At = append(d.At, msg.ShardIndex{Shard: r.Reading.Shard, Index: r.Index})
		}
	case c.session != nil && d.Index.Index == 0:
		for _, t := range c.session.touched {
			d.At = append(d.At, msg.ShardIndex{Shard: t.shard, Index: t.index})
		}
	}
	if c.how.After == nil || !c.readOnly {
		return
	}
	saw := d.Clock()
	for _, e := range saw.Entries() {
		if e.Index < c.how.After.At(e.Shard) {
			*d = Done{Failure: invalid("the token that came with the request names a state that this cluster has not reached", foreignToken)}
			return
		}
	}
}

// newSnapping makes a call that is about snapshots.
func (g *Gateway) newSnapping(token Token, id kv.TxnID, deadline int64) *call {
	return g.newAsking(snapping, token, id, deadline)
}

// KeepSnapshot fixes the state of the whole store at one instant between now
// and its Done, and has it kept under a name for a time. Done.Pins is the pin.
func (g *Gateway) KeepSnapshot(now int64, token Token, id kv.TxnID, name string, ttl, deadline int64) {
	g.now = max(g.now, now)
	if c := g.newSnapping(token, id, deadline); c != nil {
		c.pinName, c.pinTTL, c.phase = name, ttl, phasePinning
		g.joinRound(c)
	}
}

// Snapshots lists the snapshots that have a name.
func (g *Gateway) Snapshots(now int64, token Token, id kv.TxnID, deadline int64) {
	g.now = max(g.now, now)
	if c := g.newSnapping(token, id, deadline); c != nil {
		g.ask(c, func(e *msg.Envelope, request kv.TxnRef) {
			e.FindPin = &msg.FindPin{Request: request, Gateway: g.cfg.Node, List: true}
		})
	}
}

// DropSnapshot gives a snapshot up. Done.Pins is what it was.
func (g *Gateway) DropSnapshot(now int64, token Token, id kv.TxnID, at At, deadline int64) {
	g.now = max(g.now, now)
	if c := g.newSnapping(token, id, deadline); c != nil {
		c.dropping = true
		g.ask(c, func(e *msg.Envelope, request kv.TxnRef) {
			e.FindPin = &msg.FindPin{Request: request, Gateway: g.cfg.Node, Name: at.Name, Number: at.Number}
		})
	}
}

func (g *Gateway) dropPin(c *call, p *msg.Pin) {
	c.pins = []msg.Pin{*p}
	g.ask(c, func(e *msg.Envelope, request kv.TxnRef) {
		e.DropPin = &msg.DropPin{Request: request, Gateway: g.cfg.Node, Number: p.Number}
	})
}

// onPinDue: the keeper wants a state of the present. One at a time is enough.
func (g *Gateway) onPinDue() {
	if g.due != nil && g.ids[g.due.ref.TxnID] == g.due {
		return
	}
	g.lastReader = max(g.lastReader+1, g.now)
	id := kv.TxnID{Time: g.lastReader, Rand: uint64(g.lastReader)}
	if g.due = g.newSnapping(nil, id, never); g.due != nil {
		g.due.phase = phasePinning
		g.joinRound(g.due)
	}
}
