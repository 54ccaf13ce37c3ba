package client

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Execute runs the operations as one transaction: in order, all of them or
// none. A condition that does not hold (PutIfAbsent, Require…) is an error of
// kv.KindConditionFailed. The package comment tells what is retried, and what
// happens when an answer is lost.
func (db *DB) Execute(ctx context.Context, ops ...Op) (*Outcome, error) {
	return db.executeAs(ctx, nil, ops)
}

// executeAs runs a one-shot in a particular way; nil is the usual one.
func (db *DB) executeAs(ctx context.Context, h *how, ops []Op) (*Outcome, error) {
	if err := checkOps(ops); err != nil {
		return nil, asError(err)
	}
	r := newRetrier(db, ctx)
	defer r.stop()
	id := db.newID()
	var before Receipt
	for attempts := 0; ; {
		out, err := db.executeOnce(&r, id, ops, h)
		if err == nil {
			out.Attempts += attempts
			out.Receipt.after(before)
			return out, nil
		}
		attempts += max(err.Attempts, 1)
		err.Receipt.after(before)
		before = err.Receipt
		err.Attempts, err.ID = attempts, id
		if !r.again(err) {
			return nil, err
		}
		id = db.newID()
	}
}

// executeOnce runs one attempt to its known end: a lost answer is enquired
// about. Its errors are certain, but for those of kv.KindOutcomeUnknown.
func (db *DB) executeOnce(r *retrier, id kv.TxnID, ops []Op, h *how) (*Outcome, *Error) {
	c := newCall(id, ops, h, db.opts.traceparent(r.ctx))
	err := db.send(r, h.commitGrace(), c)
	if err != nil {
		return db.unanswered(r, id, ops, err)
	}
	answer := c.answer
	c.release()
	if answer.Error == nil {
		out := outcomeOf(&answer.Response)
		out.ID = id
		return out, nil
	}
	e := fromDetail(answer.Error)
	switch {
	case !e.uncertain():
		return nil, e
	case readOnly(ops):
		return nil, e.ofReads()
	}
	return db.resolveOps(r, id, ops, e.Text)
}

// send passes a call to the live session. If that ends before the call has
// left, the next one gets it.
func (db *DB) send(r *retrier, grace time.Duration, c *call) error {
	for {
		s, err := r.session()
		if err != nil {
			return err
		}
		err = s.run(r.ctx, grace, c)
		if err != errNotSent {
			return err
		}
	}
}

// unanswered decides what to make of a call that ended without an answer.
func (db *DB) unanswered(r *retrier, id kv.TxnID, ops []Op, err error) (*Outcome, *Error) {
	switch {
	case err == errNotListed || err == errLeftListed:
		return nil, r.over("before the request was sent")
	case err != errNoAnswer && err != errLeftSent:
		return nil, asError(err)
	case !readOnly(ops):
		return db.resolveOps(r, id, ops, err.Error())
	}
	over := r.over("before the response arrived")
	if over != nil {
		return nil, over
	}
	return nil, errorf(kv.KindUnavailable, nil, "the connection broke before the answer came")
}

// resolveOps is resolve for known operations. The store does not keep the
// limits of scans with their results.
func (db *DB) resolveOps(r *retrier, id kv.TxnID, ops []Op, why string) (*Outcome, *Error) {
	out, err := db.resolve(r, id, why)
	if err != nil {
		return nil, err
	}
	for i := range min(len(ops), len(out.Results)) {
		limit, rs := int(ops[i].op.Limit), &out.Results[i]
		if limit > 0 && len(rs.Pairs) > limit {
			rs.Resume = rs.Pairs[limit].Key
			rs.Pairs = rs.Pairs[:limit]
		}
	}
	return out, nil
}

func readOnly(ops []Op) bool {
	for i := range ops {
		if !ops[i].ReadOnly() {
			return false
		}
	}
	return true
}

// margin is the time that a server is given: a little less than there is, so
// that its answer comes in time. 0 is no deadline.
func margin(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	left := time.Until(deadline)
	return max(left-min(left/10, 50*time.Millisecond), time.Millisecond)
}
