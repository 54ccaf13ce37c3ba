package client

import (
	"context"
	"errors"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Update runs fn as a transaction that reads and writes, and commits it if fn returns nil. If fn returns
// an error, the transaction is rolled back and Update returns that error as it is; if fn panics, it
// is rolled back and the panic continues.
//
// fn may run several times: what it does besides using tx must allow that. All attempts have the age
// of the first one, so that they win against younger transactions in the end. If a method of tx
// returns an error, the transaction has ended (see [Tx.Nested] for the exception) and fn should
// return.
//
// fn must use the ctx that it is passed: it ends with the attempt. A call on a [DB] with it is an
// error of [KindInvalid], since it would run outside of the transaction and could wait for its locks.
//
// What fn reads is certain only when Update returns, nil or fn's error: if fn's error comes from a
// read that does not hold, fn runs again.
func (db *DB) Update(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	return db.interact(ctx, "Update", false, func(ctx context.Context, t *interaction) error {
		t.tx.t = t
		return fn(ctx, &t.tx)
	})
}

// View runs fn as a transaction that only reads: all that fn reads is one state of the store, that
// of one moment after the call began. What [DB.Update] says about errors, panics, attempts and ctx
// holds here as well.
func (db *DB) View(ctx context.Context, fn func(ctx context.Context, v *View) error) error {
	return db.interact(ctx, "View", true, func(ctx context.Context, t *interaction) error {
		t.view.t = t
		return fn(ctx, &t.view)
	})
}

// attemptContext is what fn is given.
type attemptContext struct {
	context.Context
	of *connector
}

// attemptKey finds the connector of the attempt that a context is part of.
type attemptKey struct{}

// Value implements context.Context.
func (c *attemptContext) Value(key any) any {
	if key == (attemptKey{}) {
		return c.of
	}
	return c.Context.Value(key)
}

// inAttempt returns an error if ctx is that of a transaction of this client: the call would run
// outside of it.
func (db *DB) inAttempt(ctx context.Context) error {
	of, _ := ctx.Value(attemptKey{}).(*connector)
	if of != db.core.conn || of == nil {
		return nil
	}
	e := errorf(KindInvalid, nil, "the call has the context of a transaction, and would run outside of it")
	e.Hint = "call the *Tx or the *View; for a call that is not to be a part of the transaction use the context that Update or View was called with"
	return e
}

// verdict is how one attempt ended.
type verdict struct {
	// err is what the caller is returned, unless there is another attempt.
	err error
	// fault is why there may be another attempt; nil if err is final.
	fault *Error
	// closed: the id has been aborted by a query, one attempt of it may have committed, or the node
	// has refused its time; another attempt needs another id.
	closed bool
}

// interact runs fn until there is a verdict to return. The id stays the same over the attempts while
// that is allowed, and the attempts are counted.
func (db *DB) interact(ctx context.Context, call string, readOnly bool, fn func(context.Context, *interaction) error) error {
	if err := db.inAttempt(ctx); err != nil {
		return err
	}
	c := db.begin(ctx, call)
	err := db.runs(ctx, c, readOnly, fn)
	c.end(db, err)
	return err
}

func (db *DB) runs(ctx context.Context, c *course, readOnly bool, fn func(context.Context, *interaction) error) error {
	r := newRetrier(ctx, db)
	defer r.stop()
	id, attempt := db.core.newID(), uint32(1)
	var before *pb.Receipt
	for runs := 1; ; runs++ {
		t := &interaction{db: db, r: &r, ref: kv.TxnRef{TxnID: id, Attempt: attempt}, readOnly: readOnly, before: before, course: c}
		v := t.run(fn)
		if c != nil {
			c.report.Attempts = runs
		}
		if v.fault != nil {
			before = after(v.fault.Receipt.wire, before)
			v.fault.Attempts, v.fault.TxID, v.fault.Receipt = runs, txID(id), receiptOf(before)
		}
		if v.fault == nil || !r.again(v.fault) {
			return v.err
		}
		attempt++
		if v.closed || db.core.now()-id.Time > int64(kv.MaxTxnAge)/2 {
			id, attempt = db.core.newID(), 1
		}
	}
}

// run runs fn in one attempt, and commits or rolls back.
func (t *interaction) run(fn func(context.Context, *interaction) error) verdict {
	s, failed := t.r.use()
	if failed != nil {
		return verdict{err: failed}
	}
	defer s.unuse()
	t.session = s
	ctx, cancel := context.WithCancel(t.r.context())
	t.passed = attemptContext{ctx, t.db.core.conn}
	t.attempt, t.end = &t.passed, cancel
	defer t.leave()
	own := fn(t.attempt, t)
	t.over, t.step = true, nil
	cancel()
	switch {
	case t.failed != nil:
		return t.afterFailure(own)
	case own != nil:
		return t.afterRollback(own)
	}
	return t.afterCommit()
}

// afterFailure is for a transaction that failed while fn ran. A failure that has ended it is reported
// by the node when it is certain; before one that a rollback to a savepoint would have undone comes
// the response to the rollback. If another transaction aborted it, an error of fn's own may come from
// reads that do not hold.
func (t *interaction) afterFailure(own error) verdict {
	if own == nil {
		own = t.failed
	}
	if t.undoable {
		v := t.afterRollback(own)
		if v.fault != nil {
			return v
		}
	}
	if !t.failed.retryable() && !t.failed.ended() {
		t.complete(t.failed)
		return verdict{err: own}
	}
	if !errors.Is(own, t.failed) {
		t.failed.because(own)
		own = t.failed
	}
	return verdict{err: own, fault: t.failed, closed: t.failed.serverTime != 0}
}

// complete adds what is known of the transaction to its final error.
func (t *interaction) complete(e *Error) {
	e.TxID, e.Attempts = txID(t.ref.TxnID), int(t.ref.Attempt)
	e.Receipt = receiptOf(after(e.Receipt.wire, t.before))
}

// afterRollback is for an fn that returns an error. The node responds whether what fn has read holds;
// if it does not, neither does fn's error.
func (t *interaction) afterRollback(own error) verdict {
	if err := t.rollback(); err != nil {
		err.because(own)
		return verdict{err: err, fault: err}
	}
	return verdict{err: own}
}

// afterCommit commits, and queries the outcome if it is not known. An operation that was sent with
// the commit may have failed in a way that a rollback to a savepoint would have undone: that is a
// failure like any other.
func (t *interaction) afterCommit() verdict {
	err := t.commit()
	switch {
	case err == nil:
		return verdict{}
	case t.undoable:
		t.failed = err
		return t.afterFailure(nil)
	case !t.uncertain:
		return verdict{err: err, fault: err, closed: err.serverTime != 0}
	case !t.wrote:
		// It cannot have changed anything; but the attempt may have ended well.
		err = err.ofReads()
		return verdict{err: err, fault: err, closed: true}
	}
	response, err := t.db.resolve(t.r, t.ref.TxnID, err.Message)
	if err == nil {
		t.report(response)
		return verdict{}
	}
	return verdict{err: err, fault: err, closed: true}
}
