package sim

import (
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/world"
)

// client runs transactions, one after another.
type client struct {
	w    *sim
	n    int
	left int
	// versions and values are the last ones that it has seen, by key, for conditions.
	versions   map[string]kv.Version
	values     map[string][]byte
	valueCount int // number of values it has made
	// onlyReads: it runs only read-only transactions: views, or one-shots if oneShots is set.
	onlyReads, oneShots bool
}

// maxViews bounds the number of transactions of a client with onlyReads.
const maxViews = 60

// openCall is a call to a gateway without a response yet.
type openCall struct {
	n    *node
	then func(d txn.Done, lost bool)
	done bool
	// ops are the operations of a one-shot.
	ops []msg.Op
}

// finish delivers the response of a call. A second response is a violation.
func (c *openCall) finish(d txn.Done, lost bool) {
	if c.done {
		c.n.w.Fail("a call returned twice: %+v", d)
		return
	}
	c.done = true
	c.then(d, lost)
}

func (w *sim) startClients() {
	for i := range w.opt.Clients {
		c := &client{w: w, n: i, left: w.opt.Txns, versions: map[string]kv.Version{}, values: map[string][]byte{}}
		w.unfinished++
		w.After(w.UpTo(10*time.Millisecond), c.next)
	}
}

// startViews starts the clients that only read. The run does not wait for their end.
func (w *sim) startViews() {
	for i := range w.opt.Views + w.opt.OneShotViews {
		c := &client{w: w, n: w.opt.Clients + i, left: maxViews, versions: map[string]kv.Version{},
			values: map[string][]byte{}, onlyReads: true, oneShots: i >= w.opt.Views}
		w.After(w.UpTo(max(w.opt.ViewFor, time.Millisecond)), c.next)
	}
}

// nextView runs the next transaction of a client that only reads.
func (c *client) nextView() {
	w := c.w
	switch {
	case w.Calm || c.left == 0:
	case !slices.ContainsFunc(w.nodes, func(n *node) bool { return n.GatewayUp }):
		w.After(5*time.Millisecond, c.next)
	case c.oneShots:
		c.left--
		w.After(w.UpTo(time.Millisecond), func() { c.oneShot(true) })
	default:
		c.left--
		c.interact(true)
	}
}

// thinkTime returns the pause between two calls. A view has about three pauses.
func (c *client) thinkTime() time.Duration {
	if c.onlyReads {
		return c.w.UpTo(2 * c.w.opt.ViewFor / 3)
	}
	return c.w.About(c.w.opt.Mix.Think)
}

// call calls a node's gateway. If the node is down, the call is lost.
func (w *sim) call(n *node, f func(now int64, tok txn.CallHandle), then func(d txn.Done, lost bool)) {
	w.callWith(n, nil, f, then)
}

// callWith is call for a one-shot with these operations.
func (w *sim) callWith(n *node, ops []msg.Op, f func(now int64, tok txn.CallHandle),
	then func(d txn.Done, lost bool)) {
	oc := &openCall{n: n, then: then, ops: ops}
	if !n.GatewayUp {
		w.After(time.Millisecond, func() { oc.finish(txn.Done{}, true) })
		return
	}
	n.calls = append(n.calls, oc)
	w.After(w.opt.Bound, func() {
		if !oc.done {
			w.Fail("a call to %v did not return within %v", n.ID, w.opt.Bound)
		}
	})
	n.WhenAwake(func() {
		if !oc.done { // the gateway has not crashed in the meantime
			f(n.Local(), oc)
			n.FlushSoon()
		}
	})
}

// anyNode returns a random node; one whose gateway is down only with low probability.
func (c *client) anyNode() *node {
	n := c.w.nodes[c.w.Rng.IntN(len(c.w.nodes))]
	for tries := 0; !n.GatewayUp && tries < 3; tries++ {
		n = c.w.nodes[c.w.Rng.IntN(len(c.w.nodes))]
	}
	return n
}

// newID makes an id from a node's time of day.
func (c *client) newID(n *node) kv.TxnID {
	c.w.sum.Txns++
	t := n.clk.Wall()
	if c.w.Rng.IntN(10) == 0 {
		t -= t % 1_000_000 // several ids with equal times
	}
	if c.n < c.w.opt.Behind {
		t -= int64(idsBehind)
	}
	return kv.TxnID{Time: t, Rand: uint64(c.w.sum.Txns)}
}

// arrival completes how with the client's account and the arrival time at a node's gateway.
func (c *client) arrival(n *node, how txn.TxnOptions) txn.TxnOptions {
	how.User, how.Arrived = c.account(), n.clk.OrderAt(n.Local())
	return how
}

// deadline returns the deadline of a call, by the node's clock.
func (c *client) deadline(n *node) int64 {
	d := int64(math.MaxInt64 / 2)
	if c.w.Chance(c.w.opt.Mix.ShortDeadline) {
		d = n.Local() + int64(time.Millisecond) + int64(c.w.UpTo(40*time.Millisecond))
	}
	return d
}

// next begins the client's next transaction, or ends the client.
func (c *client) next() {
	w := c.w
	if c.onlyReads {
		c.nextView()
		return
	}
	if c.left == 0 {
		w.unfinished--
		return
	}
	if !slices.ContainsFunc(w.nodes, func(n *node) bool { return n.GatewayUp }) {
		w.After(5*time.Millisecond, c.next) // no gateway is up
		return
	}
	c.left--
	w.After(w.About(w.opt.Mix.Think), func() {
		m := &w.opt.Mix
		at := w.Rng.IntN(m.OneShot + m.OneShotRead + m.Interactive + m.InteractiveRead + m.Scan + m.Snapshot)
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
			c.scanAs(txn.TxnOptions{})
		default:
			c.snapshotCall()
		}
	})
}

// begin adds the record of a transaction.
func (c *client) begin(k kind, ref kv.TxnRef) *txnRecord {
	t := &txnRecord{ref: ref, kind: k, client: c.n, start: c.w.Now(), end: math.MaxInt64}
	c.w.log.add(t)
	c.maybeQueryOutcome(ref.TxnID)
	return t
}

// maybeQueryOutcome queries the outcome of an id at random, although its client knows it. The query may fence the id.
func (c *client) maybeQueryOutcome(id kv.TxnID) {
	w := c.w
	if !w.Chance(w.opt.Mix.Query) {
		return
	}
	w.unfinished++
	pause := 5 * time.Millisecond
	if w.opt.Jumps > 0 { // by then outcomes may be forgotten, or the clock may be off
		pause += min(5*w.opt.retention(), 5*time.Second)
	}
	w.After(w.About(pause), func() {
		c.queryOutcome(id, 0, func(bool, []msg.Result, bool) { w.unfinished-- })
	})
}

// oneShot runs a one-shot transaction.
func (c *client) oneShot(readOnly bool) { c.oneShotAs(readOnly, txn.TxnOptions{}) }

func (c *client) oneShotAs(readOnly bool, how txn.TxnOptions) {
	w, n := c.w, c.anyNode()
	t := c.begin(oneShot, kv.TxnRef{TxnID: c.newID(n)})
	call := &callRecord{ops: c.someOps(1+w.Rng.IntN(w.opt.Mix.MaxOps), readOnly, w.Chance(w.opt.Mix.OneShard))}
	if !readOnly && w.Chance(w.opt.Mix.UseImplied) {
		call.ops = c.writePair()
	}
	if !readOnly {
		call.ops = c.anchored(call.ops)
	}
	c.dump(call.ops)
	if w.opt.Batch > 0 && readOnly && how == (txn.TxnOptions{}) {
		if n.lastRead != nil && w.Rng.IntN(2) == 0 {
			call.ops = n.lastRead
		}
		n.lastRead = call.ops
	}
	t.calls = []*callRecord{call}
	t.readOnly = !t.writes()
	t.reader = t.readOnly
	w.Trace("client %d: %s one-shot at %v: %s", c.n, name(t.ref), n.ID, describe(call.ops))
	c.send(n, t, how,
		func(d txn.Done, lost bool) {
			if d.Committed {
				call.results, t.resLost = d.Results, d.ResultsLost
				c.remember(call)
			}
			if !t.readOnly && (lost || d.Failure == nil || uncertain(d.Failure)) && w.Chance(w.opt.Mix.Resend) {
				c.resend(t, func() { c.onEnd(t, d, lost, c.next) })
				return
			}
			c.onEnd(t, d, lost, func() {
				w.placeAtSnapshot(t, how.At, &d)
				c.next()
			})
		})
}

// send sends a one-shot to a gateway, or with probability Mix.Twice to two of them concurrently. If one response
// reports a commit, the transaction has committed. If neither does and one of them is uncertain, so is the outcome.
func (c *client) send(n *node, t *txnRecord, how txn.TxnOptions, then func(d txn.Done, lost bool)) {
	w := c.w
	to := func(n *node, then func(d txn.Done, lost bool)) {
		ops := cloneOps(t.calls[0].ops)
		w.callWith(n, t.calls[0].ops, func(now int64, tok txn.CallHandle) {
			n.Machine(t.ref.TxnID).Execute(now, tok, t.ref.TxnID, ops, c.deadline(n), c.arrival(n, how))
		}, then)
	}
	if t.readOnly || !w.Chance(w.opt.Mix.Twice) {
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
		w.Trace("client %d: %s twice: committed=%v lost=%v %v, and committed=%v lost=%v %v", c.n, name(t.ref),
			first.Committed, firstLost, first.Failure, d.Committed, lost, d.Failure)
		if first.Committed && !(d.Committed && first.ResultsLost) || !d.Committed && (firstLost || uncertain(first.Failure)) {
			d, lost = *first, firstLost
		}
		then(d, lost)
	}
	to(n, both)
	w.After(w.About(w.opt.Jitter/4), func() { to(c.anyNode(), both) })
}

// account returns the account of the client's user.
func (c *client) account() kv.Account {
	if c.w.opt.Users == 0 {
		return 0
	}
	return kv.Account(1 + c.n%c.w.opt.Users)
}

// resend sends a one-shot again that has committed, or may have, and calls then after the response. The response is not
// evaluated, since the first call may still be in flight.
func (c *client) resend(t *txnRecord, then func()) {
	w := c.w
	w.After(w.About(10*time.Millisecond), func() {
		n := c.anyNode()
		w.Trace("client %d: %s again at %v", c.n, name(t.ref), n.ID)
		w.callWith(n, t.calls[0].ops, func(now int64, tok txn.CallHandle) {
			n.Machine(t.ref.TxnID).Execute(now, tok, t.ref.TxnID, cloneOps(t.calls[0].ops), c.deadline(n),
				c.arrival(n, txn.TxnOptions{}))
		}, func(d txn.Done, lost bool) {
			w.Trace("client %d: %s again: committed=%v lost=%v %v", c.n, name(t.ref), d.Committed, lost, d.Failure)
			then()
		})
	})
}

// onEnd records the result of a commit. If the outcome is uncertain, the client queries it, except with probability
// Mix.IgnoreLost.
func (c *client) onEnd(t *txnRecord, d txn.Done, lost bool, then func()) {
	w := c.w
	t.end = w.Now()
	w.countReader(t, d)
	if t.reader && !lost && d.Failure == nil {
		w.countReadOnFull(t)
	}
	w.Trace("client %d: %s ended: committed=%v lost=%v %v", c.n, name(t.ref), d.Committed, lost, d.Failure)
	if f := d.Failure; f != nil && kv.Kind(f.Kind) == kv.KindCorrupt &&
		(w.Replicas > 0 || f.Text != world.ErrUnreadable.Text) {
		w.Fail("%s reports a damaged log, but no log is damaged: %s", name(t.ref), f.Text)
	}
	w.checkAge(t, d.Failure)
	switch {
	case lost, uncertain(d.Failure):
		t.outcome, t.end = unknown, math.MaxInt64
		w.sum.Unknown++
		if t.kind == scan || t.readOnly || w.Chance(w.opt.Mix.IgnoreLost) {
			then()
			return
		}
		c.queryOutcome(t.ref.TxnID, 0, func(known bool, results []msg.Result, yes bool) {
			c.onOutcome(t, known, results, yes)
			then()
		})
	case d.Failure != nil:
		t.outcome, t.failure = failed, d.Failure
		w.sum.Aborted++
		if t.kind == oneShot && !t.readOnly {
			c.w.log.reportsOf(t.ref.TxnID).aborted = true
		}
		then()
	default:
		t.outcome = committed
		if !t.readOnly {
			w.log.reportsOf(t.ref.TxnID).committed = true
		}
		then()
	}
}

// countReader counts a read-only transaction and its aborted attempts.
func (w *sim) countReader(t *txnRecord, d txn.Done) {
	if !t.reader {
		return
	}
	w.sum.Readers++
	w.sum.ReaderAborts += max(len(d.AbortReasons), int(d.Attempts)-1)
	if d.Failure != nil && kv.Kind(d.Failure.Kind) == kv.KindAborted {
		w.sum.ReaderAborts++
	}
}

// uncertain reports whether a failure leaves the outcome open.
func uncertain(f *msg.Failure) bool {
	return f != nil && (kv.Kind(f.Kind) == kv.KindOutcomeUnknown || kv.Kind(f.Kind) == kv.KindTooOld)
}

// onOutcome records the response to an outcome query for a transaction of this client.
func (c *client) onOutcome(t *txnRecord, known bool, results []msg.Result, yes bool) {
	if !known {
		return
	}
	t.outcome, t.end = failed, c.w.Now()
	if !yes {
		return
	}
	t.outcome = committed
	if t.kind == oneShot && len(results) > 0 {
		t.calls[0].results, t.calls[0].raw = results, true
	}
}

// queryOutcome queries the outcome of an id until a gateway returns it. One query in three is sent to two gateways.
func (c *client) queryOutcome(id kv.TxnID, tries int, then func(known bool, results []msg.Result, yes bool)) {
	w, n := c.w, c.anyNode()
	w.sum.Queries++
	if tries == 0 && w.Rng.IntN(3) == 0 {
		w.unfinished++
		c.queryOutcome(id, 1, func(bool, []msg.Result, bool) { w.unfinished-- })
	}
	deadline := func() int64 { return n.Local() + int64(time.Second) }
	w.call(n, func(now int64, tok txn.CallHandle) { n.Machine(id).QueryOutcome(now, tok, id, c.account(), deadline()) },
		func(d txn.Done, lost bool) {
			w.Trace("outcome query for t%d: committed=%v lost=%v %v", id.Rand, d.Committed, lost, d.Failure)
			switch {
			case !lost && d.Failure == nil:
				reports := w.log.reportsOf(id)
				reports.committed = reports.committed || d.Committed
				reports.aborted = reports.aborted || !d.Committed
				results := d.Results
				if d.ResultsLost {
					results = nil
				}
				then(true, results, d.Committed)
			case !lost && kv.Kind(d.Failure.Kind) == kv.KindTooOld:
				then(false, nil, false)
			case tries > 2000: // a node is cut off for 30 s at most
				w.Fail("the outcome of t%d cannot be determined: %v", id.Rand, d.Failure)
			default:
				w.After(20*time.Millisecond, func() { c.queryOutcome(id, tries+1, then) })
			}
		})
}
