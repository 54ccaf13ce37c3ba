package sim

import (
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// client runs transactions, one after another.
type client struct {
	w    *world
	n    int
	left int
	// versions are some that it has seen, for conditions.
	versions map[string]kv.Version
	values   map[string][]byte
	count    int // of values it made
	// watches: it only reads, in views unless oneShots.
	watches, oneShots bool
}

// mostViews is how many transactions a client that only reads runs at most.
const mostViews = 60

// openCall is a call to a gateway that has no answer yet.
type openCall struct {
	n    *node
	then func(d txn.Done, lost bool)
	done bool
	// ops are those of a one-shot.
	ops []msg.Op
}

// end answers a call, once.
func (c *openCall) end(d txn.Done, lost bool) {
	if c.done {
		c.n.w.fail("a call was answered twice: %+v", d)
		return
	}
	c.done = true
	c.then(d, lost)
}

func (w *world) startClients() {
	for i := range w.opt.Clients {
		c := &client{w: w, n: i, left: w.opt.Txns, versions: map[string]kv.Version{}, values: map[string][]byte{}}
		w.busy++
		w.after(w.upTo(10*time.Millisecond), c.next)
	}
}

// startViews starts the clients that only read. Nobody waits for their end.
func (w *world) startViews() {
	for i := range w.opt.Views + w.opt.OneShotViews {
		c := &client{w: w, n: w.opt.Clients + i, left: mostViews, versions: map[string]kv.Version{}, values: map[string][]byte{},
			watches: true, oneShots: i >= w.opt.Views}
		w.after(w.upTo(max(w.opt.ViewFor, time.Millisecond)), c.next)
	}
}

// watch runs the next transaction of a client that only reads.
func (c *client) watch() {
	w := c.w
	switch {
	case w.calm || c.left == 0:
	case !slices.ContainsFunc(w.nodes, func(n *node) bool { return n.gwUp }):
		w.after(5*time.Millisecond, c.next)
	case c.oneShots:
		c.left--
		w.after(w.upTo(time.Millisecond), func() { c.oneShot(true) })
	default:
		c.left--
		c.interact(true)
	}
}

// thinks is how long a client does nothing between two calls. A view has some three
// pauses.
func (c *client) thinks() time.Duration {
	if c.watches {
		return c.w.upTo(2 * c.w.opt.ViewFor / 3)
	}
	return c.w.about(c.w.opt.Mix.Think)
}

// call makes a call to a node's gateway. A node that is down breaks it.
func (w *world) call(n *node, f func(now int64, tok txn.Token), then func(d txn.Done, lost bool)) {
	w.callWith(n, nil, f, then)
}

// callWith is call for a one-shot.
func (w *world) callWith(n *node, ops []msg.Op, f func(now int64, tok txn.Token), then func(d txn.Done, lost bool)) {
	oc := &openCall{n: n, then: then, ops: ops}
	if !n.gwUp {
		w.after(time.Millisecond, func() { oc.end(txn.Done{}, true) })
		return
	}
	n.calls = append(n.calls, oc)
	w.after(w.opt.Bound, func() {
		if !oc.done {
			w.fail("a call to %v was not answered within %v", n.id, w.opt.Bound)
		}
	})
	n.whenAwake(func() {
		if !oc.done { // the gateway has not died meanwhile
			f(n.local(w.now), oc)
			n.flushSoon()
		}
	})
}

// answer ends the call that a Done belongs to. The client hears of it as an
// event of its own, so that it may call the gateway again.
func (n *node) answer(d txn.Done) {
	lend, lends := d.Token.(lending)
	if lends {
		lend(d)
		return
	}
	oc := d.Token.(*openCall)
	for i, c := range n.calls {
		if c == oc {
			n.calls = append(n.calls[:i:i], n.calls[i+1:]...)
			break
		}
	}
	n.judge(oc, &d)
	n.w.after(0, func() { oc.end(d, false) })
}

// anyNode is a random node, and seldom one whose gateway is down.
func (c *client) anyNode() *node {
	n := c.w.nodes[c.w.rng.IntN(len(c.w.nodes))]
	for tries := 0; !n.gwUp && tries < 3; tries++ {
		n = c.w.nodes[c.w.rng.IntN(len(c.w.nodes))]
	}
	return n
}

// newID makes an id by a node's time of day.
func (c *client) newID(n *node) kv.TxnID {
	c.w.sum.Txns++
	t := n.clk.Wall()
	if c.w.rng.IntN(10) == 0 {
		t -= t % 1_000_000 // ids of one nanosecond
	}
	if c.n < c.w.opt.Behind {
		t -= int64(idsBehind)
	}
	return kv.TxnID{Time: t, Rand: uint64(c.w.sum.Txns)}
}

// how says to a node's gateway that a transaction of the client arrives now.
func (c *client) how(n *node, how txn.How) txn.How {
	how.User, how.Arrived = c.account(), n.clk.OrderAt(n.local(c.w.now))
	return how
}

// deadline is when a call ends at the latest, by the node's clock.
func (c *client) deadline(n *node) int64 {
	d := int64(math.MaxInt64 / 2)
	if c.w.chance(c.w.opt.Mix.ShortDeadline) {
		d = n.local(c.w.now) + int64(time.Millisecond) + int64(c.w.upTo(40*time.Millisecond))
	}
	return d
}

// next begins the client's next transaction, or ends it.
func (c *client) next() {
	w := c.w
	if c.watches {
		c.watch()
		return
	}
	if c.left == 0 {
		w.busy--
		return
	}
	if !slices.ContainsFunc(w.nodes, func(n *node) bool { return n.gwUp }) {
		w.after(5*time.Millisecond, c.next) // nobody to talk to
		return
	}
	c.left--
	w.after(w.about(w.opt.Mix.Think), func() {
		m := &w.opt.Mix
		at := w.rng.IntN(m.OneShot + m.OneShotRead + m.Interactive + m.InteractiveRead + m.Scan + m.Snapshot)
		switch {
		case at < m.OneShot:
			c.oneShot(false)
		case at < m.OneShot+m.OneShotRead:
			c.oneShot(true)
		case at < m.OneShot+m.OneShotRead+m.Interactive:
			c.interact(false)
		case at < m.OneShot+m.OneShotRead+m.Interactive+m.InteractiveRead:
			c.interact(true)
		case at < m.OneShot+m.OneShotRead+m.Interactive+m.InteractiveRead+m.Scan:
			c.scanAs(txn.How{})
		default:
			c.snapshots()
		}
	})
}

// begin makes a transaction's record.
func (c *client) begin(k kind, ref kv.TxnRef) *txnRecord {
	t := &txnRecord{ref: ref, kind: k, client: c.n, start: c.w.now, end: math.MaxInt64}
	c.w.log.enter(t)
	c.curious(ref.TxnID)
	return t
}

// curious may have somebody enquire about an id for no reason.
func (c *client) curious(id kv.TxnID) {
	w := c.w
	if !w.chance(w.opt.Mix.Enquire) {
		return
	}
	w.busy++
	pause := 5 * time.Millisecond
	if w.opt.Jumps > 0 { // outcomes may be forgotten, or wrongly taken for unknown, by then
		pause += min(5*w.retention(), 5*time.Second)
	}
	w.after(w.about(pause), func() {
		c.enquire(id, 0, func(bool, []msg.Result, bool) { w.busy-- })
	})
}

// oneShot runs a transaction of which everything is known.
func (c *client) oneShot(readOnly bool) { c.oneShotAs(readOnly, txn.How{}) }

func (c *client) oneShotAs(readOnly bool, how txn.How) {
	w, n := c.w, c.anyNode()
	t := c.begin(oneShot, kv.TxnRef{TxnID: c.newID(n)})
	call := &callRecord{ops: c.someOps(1+w.rng.IntN(w.opt.Mix.MaxOps), readOnly, w.chance(w.opt.Mix.OneShard))}
	if !readOnly && w.chance(w.opt.Mix.Conclude) {
		call.ops = c.twins()
	}
	if !readOnly {
		call.ops = c.anchored(call.ops)
	}
	c.dump(call.ops)
	if w.opt.Batch > 0 && readOnly && how == (txn.How{}) {
		if n.lastRead != nil && w.rng.IntN(2) == 0 {
			call.ops = n.lastRead
		}
		n.lastRead = call.ops
	}
	t.calls = []*callRecord{call}
	t.readOnly = !t.writes()
	t.reader = t.readOnly
	w.trace("client %d: %s one-shot at %v: %s", c.n, name(t.ref), n.id, describe(call.ops))
	c.send(n, t, how,
		func(d txn.Done, lost bool) {
			if d.Committed {
				call.results, t.resLost = d.Results, d.ResultsLost
				c.remember(call)
			}
			if !t.readOnly && (lost || d.Failure == nil || uncertain(d.Failure)) && w.chance(w.opt.Mix.Again) {
				c.again(t, func() { c.ended(t, d, lost, c.next) })
				return
			}
			c.ended(t, d, lost, func() {
				w.inThePast(t, how.At, &d)
				c.next()
			})
		})
}

// send sends a one-shot to a gateway, or to two, which do not know of each other. If one says
// that it has committed, then it has; and if the one is not sure that it has not, nobody is.
func (c *client) send(n *node, t *txnRecord, how txn.How, then func(d txn.Done, lost bool)) {
	w := c.w
	to := func(n *node, then func(d txn.Done, lost bool)) {
		ops := cloneOps(t.calls[0].ops)
		w.callWith(n, t.calls[0].ops, func(now int64, tok txn.Token) {
			n.machine(t.ref.TxnID).Execute(now, tok, t.ref.TxnID, ops, c.deadline(n), c.how(n, how))
		}, then)
	}
	if t.readOnly || !w.chance(w.opt.Mix.Twice) {
		to(n, then)
		return
	}
	var first *txn.Done
	var firstLost bool
	both := func(d txn.Done, lost bool) {
		if first == nil {
			first, firstLost = &d, lost
			return
		}
		w.trace("client %d: %s twice: committed=%v lost=%v %v, and committed=%v lost=%v %v", c.n, name(t.ref), first.Committed, firstLost, first.Failure, d.Committed, lost, d.Failure)
		if first.Committed && !(d.Committed && first.ResultsLost) || !d.Committed && (firstLost || uncertain(first.Failure)) {
			d, lost = *first, firstLost
		}
		then(d, lost)
	}
	to(n, both)
	w.after(w.about(w.opt.Jitter/4), func() { to(c.anyNode(), both) })
}

// account is that of the user who the client is.
func (c *client) account() kv.Account {
	if c.w.opt.Users == 0 {
		return 0
	}
	return kv.Account(1 + c.n%c.w.opt.Users)
}

// again sends a one-shot once more that has committed, or may have, and goes on when it is
// answered. What the answer says does not matter: the first call may still be under way.
func (c *client) again(t *txnRecord, then func()) {
	w := c.w
	w.after(w.about(10*time.Millisecond), func() {
		n := c.anyNode()
		w.trace("client %d: %s again at %v", c.n, name(t.ref), n.id)
		w.callWith(n, t.calls[0].ops, func(now int64, tok txn.Token) {
			n.machine(t.ref.TxnID).Execute(now, tok, t.ref.TxnID, cloneOps(t.calls[0].ops), c.deadline(n), c.how(n, txn.How{}))
		}, func(d txn.Done, lost bool) {
			w.trace("client %d: %s again: committed=%v lost=%v %v", c.n, name(t.ref), d.Committed, lost, d.Failure)
			then()
		})
	})
}

// ended notes what a client was told at the end of a commit, and finds out
// what it was not told; then goes on.
func (c *client) ended(t *txnRecord, d txn.Done, lost bool, then func()) {
	w := c.w
	t.end = w.now
	w.countReader(t, d)
	if t.reader && !lost && d.Failure == nil {
		w.readOnFull(t)
	}
	w.trace("client %d: %s ended: committed=%v lost=%v %v", c.n, name(t.ref), d.Committed, lost, d.Failure)
	if f := d.Failure; f != nil && kv.Kind(f.Kind) == kv.KindCorrupt && f.Text != errUnreadable.Text {
		w.fail("%s found a log damaged that is not: %s", name(t.ref), f.Text)
	}
	w.checkAge(t, d.Failure)
	switch {
	case lost, uncertain(d.Failure):
		t.outcome, t.end = unknown, math.MaxInt64
		w.sum.Unknown++
		if t.kind == scan || t.readOnly || w.chance(w.opt.Mix.Shrug) {
			then()
			return
		}
		c.enquire(t.ref.TxnID, 0, func(known bool, results []msg.Result, yes bool) {
			c.found(t, known, results, yes)
			then()
		})
	case d.Failure != nil:
		t.outcome, t.failure = failed, d.Failure
		w.sum.Aborted++
		if t.kind == oneShot && !t.readOnly {
			c.w.log.toldOf(t.ref.TxnID).aborted = true
		}
		then()
	default:
		t.outcome = committed
		if !t.readOnly {
			w.log.toldOf(t.ref.TxnID).committed = true
		}
		then()
	}
}

// countReader counts a read-only transaction and its aborted attempts.
func (w *world) countReader(t *txnRecord, d txn.Done) {
	if !t.reader {
		return
	}
	w.sum.Readers++
	w.sum.ReaderAborts += max(len(d.Aborts), int(d.Attempts)-1)
	if d.Failure != nil && kv.Kind(d.Failure.Kind) == kv.KindAborted {
		w.sum.ReaderAborts++
	}
}

// uncertain reports whether a failure leaves the outcome open.
func uncertain(f *msg.Failure) bool {
	return f != nil && (kv.Kind(f.Kind) == kv.KindOutcomeUnknown || kv.Kind(f.Kind) == kv.KindTooOld)
}

// found takes the answer of an enquiry about a transaction of its own.
func (c *client) found(t *txnRecord, known bool, results []msg.Result, yes bool) {
	if !known {
		return
	}
	t.outcome, t.end = failed, c.w.now
	if !yes {
		return
	}
	t.outcome = committed
	if t.kind == oneShot && len(results) > 0 {
		t.calls[0].results, t.calls[0].raw = results, true
	}
}

// enquire asks for the outcome of an id until it is told; at times through
// two gateways at once.
func (c *client) enquire(id kv.TxnID, tries int, then func(known bool, results []msg.Result, yes bool)) {
	w, n := c.w, c.anyNode()
	w.sum.Enquiries++
	if tries == 0 && w.rng.IntN(3) == 0 {
		w.busy++
		c.enquire(id, 1, func(bool, []msg.Result, bool) { w.busy-- })
	}
	deadline := func() int64 { return n.local(w.now) + int64(time.Second) }
	w.call(n, func(now int64, tok txn.Token) { n.machine(id).Outcome(now, tok, id, c.account(), deadline()) }, func(d txn.Done, lost bool) {
		w.trace("enquiry about t%d: committed=%v lost=%v %v", id.Rand, d.Committed, lost, d.Failure)
		switch {
		case !lost && d.Failure == nil:
			toldOf := w.log.toldOf(id)
			toldOf.committed = toldOf.committed || d.Committed
			toldOf.aborted = toldOf.aborted || !d.Committed
			results := d.Results
			if d.ResultsLost {
				results = nil
			}
			then(true, results, d.Committed)
		case !lost && kv.Kind(d.Failure.Kind) == kv.KindTooOld:
			then(false, nil, false)
		case tries > 1000:
			w.fail("the outcome of t%d could not be found out: %v", id.Rand, d.Failure)
		default:
			w.after(20*time.Millisecond, func() { c.enquire(id, tries+1, then) })
		}
	})
}
