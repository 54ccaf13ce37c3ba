package txn

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// paging is a scan that has fixed the index of every shard and reads there,
// page by page, holding no lock.
type paging struct {
	span kv.Span
	// reverse begins with the last key.
	reverse bool
	// name is the attempt's on the shards.
	name kv.TxnRef
	// at is the state that is scanned: the index of every shard.
	at    vclock.Clock
	parts []*scanPart // by shard
	// pin is the number of the pin that is scanned, 0 if the shards keep the
	// state for the scan.
	pin uint64
	// limit is what the Next under way may return.
	limit int
	// asked: pages are on their way.
	next, wait int64
	opened     bool
}

// scanPart is one shard's part of a scan.
type scanPart struct {
	shard kv.ShardID
	inc   kv.Incarnation
	pairs []msg.Pair
	// from is where the next page begins, or ends if it is in reverse; nil when there
	// is none.
	from []byte
	ask  *msg.Envelope
}

// Scan opens a strictly serializable scan over all shards: it registers
// everywhere, or locks the range, fixes the indexes, and lets go. Its Done has
// no pairs; Next reads them. The deadline is for the opening.
func (g *Gateway) Scan(now int64, token Token, id kv.TxnID, span kv.Span, deadline int64) kv.TxnRef {
	return g.ScanAs(now, token, id, span, false, deadline, How{})
}

// ScanAs is Scan in a particular way, and perhaps from the last key on.
func (g *Gateway) ScanAs(now int64, token Token, id kv.TxnID, span kv.Span, reverse bool, deadline int64, how How) kv.TxnRef {
	g.now = max(g.now, now)
	c := &call{how: how, ref: kv.TxnRef{TxnID: id, Attempt: 1}, kind: scanning, token: token, readOnly: true, started: g.now}
	c.deadline = min(deadline, g.now+int64(g.cfg.MaxAge))
	c.scan = &paging{span: span, reverse: reverse}
	c.ops = []msg.Op{{Kind: msg.OpLockRange, Key: span.Start, End: span.End}}
	f := g.taken(id)
	if f == nil {
		f = g.refuse(how, true)
	}
	if f != nil {
		g.done(c, Done{Failure: f, Closed: true})
		return c.ref
	}
	if !how.At.IsZero() {
		c.past = &past{want: how.At}
	}
	g.enter(c)
	g.start(c)
	return c.ref
}

func (g *Gateway) startScan(c *call) {
	if f := g.admitScan(c); f != nil {
		g.finish(c, Done{Failure: f})
		return
	}
	c.scan.parts, c.scan.at, c.scan.name = nil, vclock.Clock{}, c.ref
	switch {
	case c.past != nil:
		g.startPastScan(c)
		return
	case g.cfg.Reads == SnapshotReads:
		c.phase = phasePinning
		g.joinRound(c)
		return
	}
	c.session = newSession()
	g.fetch(c, c.ops)
}

// locked: the range is locked everywhere.
func (g *Gateway) locked(c *call) { g.startCheck(c) }

// fixed takes the index of a shard.
func (p *paging) fixed(s kv.ShardID, inc kv.Incarnation, at kv.Index) {
	p.at.Raise(s, at)
	from := p.span.Start
	if p.reverse {
		from = p.span.End
	}
	p.parts = append(p.parts, &scanPart{shard: s, inc: inc, from: from})
}

// rest is what has not been read of a part.
func (p *paging) rest(of *scanPart) kv.Span {
	if p.reverse {
		return kv.Range(p.span.Start, of.from)
	}
	return kv.Range(of.from, p.span.End)
}

// before reports whether a key comes before another one.
func (p *paging) before(a, b []byte) bool {
	if p.reverse {
		return bytes.Compare(a, b) > 0
	}
	return bytes.Compare(a, b) < 0
}

func (g *Gateway) startPaging(c *call) {
	slices.SortFunc(c.scan.parts, func(a, b *scanPart) int { return int(a.shard) - int(b.shard) })
	for _, p := range c.scan.parts {
		if p.from == nil {
			p.from = []byte{}
		}
	}
	c.phase, c.session, c.scan.opened = phasePaging, nil, true
	c.deadline = g.now + int64(kv.DefaultScanKeep)
	g.timed(c.deadline)
	d := Done{Committed: true}
	if c.round != nil || c.past != nil {
		d.Plan = PlanPin
	}
	if g.stamp(c, &d); d.Failure != nil {
		g.endScan(c)
		g.finish(c, d)
		return
	}
	g.done(c, d)
}

// Next reads up to limit pairs of an open scan. Its Done says in More whether
// there may be others.
func (g *Gateway) Next(now int64, token Token, ref kv.TxnRef, limit int) {
	g.now = max(g.now, now)
	c := g.find(ref)
	if c == nil || c.kind != scanning || c.phase != phasePaging || c.token != nil {
		f := g.ended[ref]
		if f == nil {
			f = failure(msg.ReasonRequest, kv.KindAborted, "the scan is no longer open; begin it again")
		}
		g.out.Done = append(g.out.Done, Done{Token: token, Txn: ref, Failure: f, Closed: true})
		return
	}
	c.token, c.scan.limit = token, limit
	c.started, c.deadline = g.now, g.now+int64(kv.DefaultScanKeep)
	c.scan.wait = int64(g.cfg.Repeat)
	c.scan.next = g.now + c.scan.wait
	g.timed(c.scan.next)
	for _, p := range c.scan.parts {
		if len(p.pairs) == 0 && p.from != nil {
			g.askPage(c, p)
		}
	}
	g.page(c)
}

func (g *Gateway) askPage(c *call, p *scanPart) {
	g.pageNumber++
	g.pages[g.pageNumber] = c
	rest := c.scan.rest(p)
	p.ask = g.sendShard(p.shard, func(e *msg.Envelope) {
		e.ScanAt = &msg.ScanAt{Txn: c.scan.name, Gateway: g.cfg.Node, Number: g.pageNumber, Pin: c.scan.pin, Incarnation: p.inc, Index: c.scan.at.At(p.shard),
			Start: rest.Start, End: rest.End, Reverse: c.scan.reverse, Limit: uint32(min(c.scan.limit, kv.MaxScanLimit)), KeepNanos: int64(kv.DefaultScanKeep)}
	})
}

func (g *Gateway) repeatPages(c *call) {
	if c.token == nil {
		return
	}
	if g.now >= c.scan.next {
		c.scan.wait = min(2*c.scan.wait, int64(g.cfg.Liveness))
		c.scan.next = g.now + c.scan.wait
		for _, p := range c.scan.parts {
			if p.ask != nil {
				g.out.Send = append(g.out.Send, p.ask)
			}
		}
	}
	g.timed(c.scan.next)
}

func (g *Gateway) onScanPage(r *msg.ScanPage) {
	c := g.pages[r.Number]
	if c == nil || c.phase != phasePaging || c.scan.name != r.Txn { // numbers begin anew with the gateway
		return
	}
	i := slices.IndexFunc(c.scan.parts, func(p *scanPart) bool { return p.shard == r.Shard })
	if i < 0 {
		return
	}
	p := c.scan.parts[i]
	if p.ask == nil || p.ask.ScanAt.Number != r.Number {
		return
	}
	p.ask = nil
	delete(g.pages, r.Number)
	if r.Gone {
		f := failure(msg.ReasonIncarnation, kv.KindAborted, "a shard no longer keeps the state that is being scanned; begin the scan again")
		if c.scan.pin != 0 {
			f = failure(msg.ReasonRequest, kv.KindTooOld, "the snapshot is no longer kept: it has expired or was dropped")
		}
		g.endScan(c)
		g.finish(c, Done{Failure: f})
		return
	}
	p.pairs, p.from = r.Pairs, nil
	if len(r.Resume) > 0 {
		p.from = r.Resume
		if len(r.Pairs) == 0 {
			g.askPage(c, p)
		}
	}
	g.page(c)
}

// page answers Next when every shard has something to merge, or is done.
func (g *Gateway) page(c *call) {
	if c.token == nil {
		return
	}
	parts := c.scan.parts
	if slices.ContainsFunc(parts, func(p *scanPart) bool { return p.ask != nil }) {
		return
	}
	var out []msg.Pair
	for len(out) < c.scan.limit {
		var next *scanPart
		for _, p := range parts {
			if len(p.pairs) > 0 && (next == nil || c.scan.before(p.pairs[0].Key, next.pairs[0].Key)) {
				next = p
			}
		}
		if next == nil {
			break
		}
		out = append(out, next.pairs[0])
		next.pairs = next.pairs[1:]
		if len(next.pairs) == 0 && next.from != nil {
			break // its next key is not known yet
		}
	}
	more := slices.ContainsFunc(parts, func(p *scanPart) bool { return len(p.pairs) > 0 || p.from != nil })
	if !more {
		g.endScan(c)
		g.finish(c, Done{Pairs: out, Committed: true})
		return
	}
	g.done(c, Done{Pairs: out, More: true, Committed: true})
}

// Close gives a scan up, whichever attempt to open it is under way.
func (g *Gateway) Close(now int64, ref kv.TxnRef) {
	g.now = max(g.now, now)
	c := g.ids[ref.TxnID]
	if c == nil || c.kind != scanning {
		return
	}
	g.endScan(c)
	g.release(c)
	g.finish(c, Done{Failure: failure(msg.ReasonCancelled, kv.KindCancelled, "the scan was closed")})
}

// endScan gives up what is asked for. Of a scan whose state the shards keep for
// itself alone, they forget it.
func (g *Gateway) endScan(c *call) {
	if c.scan == nil {
		return
	}
	for _, p := range c.scan.parts {
		if p.ask != nil {
			delete(g.pages, p.ask.ScanAt.Number)
		}
		if c.round == nil && c.scan.pin == 0 {
			g.sendShard(p.shard, func(e *msg.Envelope) { e.ScanAt = &msg.ScanAt{Txn: c.scan.name, Done: true} })
		}
	}
	c.scan.parts = nil
	g.leaveRound(c)
}
