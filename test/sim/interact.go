package sim

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// interaction is one attempt of an interactive transaction.
type interaction struct {
	c        *client
	n        *node
	t        *txnRecord
	left     int // number of calls before the end
	readOnly bool
	// mayNotWrite: the client lacks the right to write, and the transaction is not declared read-only.
	mayNotWrite bool
	how         txn.TxnOptions
	// savepoints holds, for each savepoint, the number of calls before it.
	savepoints []int
}

// machine returns the machine that runs the transaction.
func (x *interaction) machine() *txn.Gateway { return x.n.Machine(x.t.ref.TxnID) }

// interact runs an interactive transaction.
func (c *client) interact(readOnly bool) { c.interactAs(readOnly, txn.TxnOptions{}) }

func (c *client) interactAs(readOnly bool, how txn.TxnOptions) {
	n := c.anyNode()
	ref := kv.TxnRef{TxnID: c.newID(n), Attempt: 1}
	if c.w.abandonedOldest.IsZero() && c.w.Chance(c.w.opt.Mix.AbandonOldest) {
		ref.Time += int64(time.Hour)
		c.w.abandonedOldest = ref.TxnID
	}
	c.attempt(n, ref, readOnly, how)
}

// attempt begins an attempt. The client's next transaction follows its end.
func (c *client) attempt(n *node, ref kv.TxnRef, readOnly bool, how txn.TxnOptions) {
	w := c.w
	if !n.GatewayUp {
		w.After(time.Millisecond, c.next)
		return
	}
	how = c.arrival(n, how)
	x := &interaction{c: c, n: n, t: c.begin(interactive, ref), left: w.Rng.IntN(4), readOnly: readOnly, how: how}
	if c.onlyReads {
		x.left = 2
	}
	x.mayNotWrite = !readOnly && w.Chance(w.opt.Unlocked)
	x.t.readOnly, x.t.reader = readOnly, readOnly
	w.Trace("client %d: %s begins at %v", c.n, name(ref), n.ID)
	f := n.Machine(ref.TxnID).Begin(n.Local(), ref, readOnly, how)
	n.Flush()
	if f != nil {
		x.t.outcome, x.t.failure = failed, f
		x.retry(f)
		return
	}
	w.After(x.c.thinkTime(), x.step)
}

// step makes the next call, or ends the attempt.
func (x *interaction) step() {
	w := x.c.w
	isOldest := x.t.ref.TxnID == w.abandonedOldest && x.t.ref.Attempt == 1 && x.left <= 0
	if isOldest || w.Chance(w.opt.Mix.Vanish) {
		w.Trace("client %d abandons %s", x.c.n, name(x.t.ref))
		x.abandon()
		return
	}
	if x.left <= 0 {
		x.finish()
		return
	}
	x.left--
	if w.Rng.IntN(5) == 0 {
		x.useSavepoint()
		return
	}
	call := &callRecord{ops: x.impliedOps()}
	if call.ops == nil {
		call.ops = x.c.someOps(1+w.Rng.IntN(2), x.readOnly || x.mayNotWrite, false)
	}
	w.Trace("client %d: %s does %s", x.c.n, name(x.t.ref), describe(call.ops))
	ops := cloneOps(call.ops)
	x.markUnlocked(ops)
	w.call(x.n, func(now int64, tok txn.CallHandle) { x.machine().Do(now, tok, x.t.ref, ops, 0) },
		func(d txn.Done, lost bool) {
			w.Trace("client %d: %s did: %v closed=%v lost=%v", x.c.n, name(x.t.ref), d.Failure, d.Closed, lost)
			switch {
			case lost:
				x.abandon()
			case d.Closed:
				x.t.outcome, x.t.failure, x.t.rolledBack, x.t.closedBy = failed, d.Failure, true, call.ops
				w.sum.Aborted++
				w.countReader(x.t, d)
				if isConclusive(d.Failure) {
					call.failure = d.Failure
					x.t.calls = append(x.t.calls, call)
					x.requireInstant()
				}
				x.retry(d.Failure)
			default:
				call.results, call.failure = slices.Clone(d.Results), d.Failure
				x.t.calls = append(x.t.calls, call)
				x.c.remember(call)
				if d.Failure != nil && w.Chance(w.opt.Mix.UseImplied) {
					x.rollback(true)
					return
				}
				w.After(x.c.thinkTime(), x.step)
			}
		})
}

// markUnlocked marks reads of keys that the client may not write: all of them with mayNotWrite, otherwise some of the
// gets and scans, even of keys that the transaction writes.
func (x *interaction) markUnlocked(ops []msg.Op) {
	for i := range ops {
		op := &ops[i]
		if !op.Writes() && !op.ForUpdate && (x.mayNotWrite || !op.IsCall() && x.c.w.Chance(x.c.w.opt.Unlocked)) {
			op.Unlocked = true
		}
	}
}

// useSavepoint sets a savepoint or rolls back to one. A savepoint is named by its number. Reads since then are still
// checked, unless they returned the transaction's own writes.
func (x *interaction) useSavepoint() {
	w, n := x.c.w, len(x.savepoints)
	to := w.Rng.IntN(n + 1)
	do := (*txn.Gateway).RollbackTo
	if to == n {
		do = (*txn.Gateway).Savepoint
	}
	w.Trace("client %d: %s goes to savepoint %d of %d", x.c.n, name(x.t.ref), to, n)
	w.call(x.n, func(now int64, tok txn.CallHandle) { do(x.machine(), now, tok, x.t.ref, strconv.Itoa(to)) },
		func(d txn.Done, lost bool) {
			switch {
			case lost:
				x.abandon()
				return
			case d.Closed:
				x.t.outcome, x.t.failure = failed, d.Failure
				w.sum.Aborted++
				w.countReader(x.t, d)
				x.retry(d.Failure)
				return
			case d.Failure != nil:
				w.Fail("%s: savepoint %d of %d: %s", name(x.t.ref), to, n, d.Failure.Text)
				return
			case to == n:
				x.savepoints = append(x.savepoints, len(x.t.calls))
			default:
				x.t.removeCalls(x.savepoints[to])
				x.savepoints = x.savepoints[:to+1]
				w.sum.Undone++
			}
			w.After(x.c.thinkTime(), x.step)
		})
}

// abandon ends an attempt without a request to commit. With probability Mix.AbandonAttempt the client begins the next
// attempt at another gateway, which does not know whether this one has ended.
func (x *interaction) abandon() {
	w := x.c.w
	x.t.outcome, x.t.end = failed, w.Now()
	// The client has not requested a commit. Its gateway may still have had a failure validated, which is decided like a
	// commit without writes.
	x.t.rolledBack = true
	if !w.Chance(w.opt.Mix.AbandonAttempt) {
		x.c.next()
		return
	}
	ref := x.t.ref
	ref.Attempt++
	w.After(time.Millisecond, func() { x.c.attempt(x.c.otherNode(x.n), ref, x.readOnly, x.how) })
}

// otherNode returns a random node other than this one, if there are several.
func (c *client) otherNode(not *node) *node {
	n := c.anyNode()
	for n == not && len(c.w.nodes) > 1 {
		n = c.anyNode()
	}
	return n
}

// finish commits, in most cases, or rolls back.
func (x *interaction) finish() {
	w := x.c.w
	if w.Rng.IntN(8) == 0 {
		x.rollback(w.Rng.IntN(2) == 0)
		return
	}
	x.t.readOnly = !x.t.writes()
	w.Trace("client %d: %s commits", x.c.n, name(x.t.ref))
	w.call(x.n, func(now int64, tok txn.CallHandle) { x.machine().Commit(now, tok, x.t.ref, x.c.deadline(x.n)) },
		func(d txn.Done, lost bool) {
			x.c.onEnd(x.t, d, lost, func() {
				if x.t.outcome == failed && isConclusive(d.Failure) {
					x.t.commitFailure = d.Failure
					x.requireInstant()
				}
				if x.t.outcome == failed && d.Failure != nil && !uncertain(d.Failure) {
					x.retry(d.Failure)
					return
				}
				x.t.observed = x.t.readOnly && x.t.outcome == committed
				w.placeAtSnapshot(x.t, x.how.At, &d)
				x.c.next()
			})
		})
}

func (x *interaction) rollback(validate bool) {
	w := x.c.w
	x.t.rolledBack = true
	w.Trace("client %d: %s rolls back, validate=%v", x.c.n, name(x.t.ref), validate)
	checked := validate && !w.opt.Mutants.Has(mutant.FailuresUnvalidated)
	w.call(x.n, func(now int64, tok txn.CallHandle) { x.machine().Rollback(now, tok, x.t.ref, checked) },
		func(d txn.Done, lost bool) {
			x.t.outcome = failed
			if !lost && d.Failure == nil && validate {
				x.t.observed, x.t.end = x.how.At.IsZero(), w.Now()
			}
			x.c.next()
		})
}

// retry begins the next attempt, at the same age, if the failure allows a retry.
func (x *interaction) retry(f *msg.Failure) {
	c := x.c
	if x.t.end == math.MaxInt64 {
		x.t.end = c.w.Now()
	}
	if kv.Kind(f.Kind) != kv.KindAborted || f.Reason == msg.ReasonFenced || x.t.ref.Attempt > 8 {
		c.next()
		return
	}
	n := x.n
	if c.w.Rng.IntN(4) == 0 {
		n = c.anyNode()
	}
	ref := x.t.ref
	ref.Attempt++
	c.w.After(c.w.About(2*time.Millisecond), func() { c.attempt(n, ref, x.readOnly, x.how) })
}

// scanAs opens a scan and reads it page by page.
func (c *client) scanAs(how txn.TxnOptions) {
	w, n := c.w, c.anyNode()
	t := c.begin(scan, kv.TxnRef{TxnID: c.newID(n)})
	t.readOnly, t.reader = true, true
	op := msg.Op{Kind: msg.OpScan, Limit: kv.MaxScanLimit}
	op.Key, op.End = c.someRange()
	call := &callRecord{ops: []msg.Op{op}, results: []msg.Result{{Resume: op.Key}}}
	t.calls = []*callRecord{call}
	w.Trace("client %d: %s scans %v at %v", c.n, name(t.ref), op.Span(), n.ID)
	w.call(n, func(now int64, tok txn.CallHandle) {
		n.Machine(t.ref.TxnID).Scan(now, tok, t.ref.TxnID, op.Span(), backwards(t), c.deadline(n), how)
	},
		func(d txn.Done, lost bool) {
			if lost || d.Failure != nil {
				c.onEnd(t, d, lost, c.next)
				return
			}
			t.end = w.Now() // the snapshot is fixed now
			w.placeAtSnapshot(t, how.At, &d)
			c.page(t, n, d.Txn)
		})
}

// backwards reports whether a scan begins with the last key, as half of them do.
func backwards(t *txnRecord) bool { return t.ref.Rand%2 == 0 }

// seenBackwards records a page of a scan that began with the last key. The range that has been read grows downwards.
func seenBackwards(call *callRecord, page []msg.Pair) {
	if len(page) == 0 {
		return
	}
	op, res := &call.ops[0], &call.results[0]
	op.Key, res.Resume = page[len(page)-1].Key, nil
	page = slices.Clone(page)
	slices.Reverse(page)
	res.Pairs = append(page, res.Pairs...)
}

// page reads the next page of a scan.
func (c *client) page(t *txnRecord, n *node, ref kv.TxnRef) {
	w := c.w
	res := &t.calls[0].results[0]
	if w.Chance(w.opt.Mix.Vanish) || w.Rng.IntN(10) == 0 {
		w.Trace("client %d closes %s", c.n, name(ref))
		if w.Rng.IntN(2) == 0 && n.GatewayUp {
			n.Machine(ref.TxnID).Close(n.Local(), ref)
			n.Flush()
		}
		t.outcome, t.observed = failed, true
		c.next()
		return
	}
	w.After(w.About(w.opt.Mix.Think), func() {
		w.call(n, func(now int64, tok txn.CallHandle) { n.Machine(ref.TxnID).Next(now, tok, ref, 1+w.Rng.IntN(3)) },
			func(d txn.Done, lost bool) {
				w.Trace("client %d: %s read %d pairs, more=%v lost=%v %v", c.n, name(ref), len(d.Pairs), d.More, lost, d.Failure)
				if lost || d.Failure != nil {
					t.outcome, t.failure, t.observed = failed, d.Failure, true
					c.next()
					return
				}
				if backwards(t) {
					seenBackwards(t.calls[0], d.Pairs)
				} else {
					res.Pairs = append(res.Pairs, d.Pairs...)
				}
				if !d.More {
					res.Resume = nil
					t.outcome, t.observed = committed, true
					c.next()
					return
				}
				if k := len(res.Pairs); k > 0 && !backwards(t) {
					res.Resume = kv.Next(res.Pairs[k-1].Key)
				}
				c.page(t, n, ref)
			})
	})
}
