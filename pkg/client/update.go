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

// verdict is how one attempt ended.
type verdict struct {
	// err is what the caller is returned, unless there is another attempt.
	err error
	// fault is why there may be another attempt; nil if err is final.
	fault *Error
}

// interact runs fn until there is a verdict to return. The id stays the same over the attempts while
// that is allowed, and the attempts are counted.
func (db *DB) interact(ctx context.Context, call string, readOnly bool,
	fn func(context.Context, *interaction) error) error {
	if err := db.inAttempt(ctx); err != nil {
		return err
	}
	c := db.begin(ctx, call)
	err := db.runs(ctx, c, readOnly, fn)
	c.end(db, err)
	return err
}

func (db *DB) runs(ctx context.Context, c *course, readOnly bool, fn func(context.Context, *interaction) error) error {
	call := db.call(ctx)
	defer call.End()
	id, attempt := db.link.NewID(), uint32(1)
	var before *pb.Receipt
	for runs := 1; ; runs++ {
		t := &interaction{db: db, call: &call, ref: kv.TxnRef{TxnID: id, Attempt: attempt}, readOnly: readOnly,
			before: before, course: c}
		v := t.run(fn)
		if c != nil {
			c.report.Attempts = runs
		}
		if v.fault == nil {
			return v.err
		}
		before = after(v.fault.Receipt.wire, before)
		v.fault.Attempts, v.fault.TxID, v.fault.Receipt = runs, txID(id), receiptOf(before)
		if !v.fault.again(&call) {
			return v.err
		}
		attempt++
		if v.fault.spent() || db.link.Age(id) > kv.MaxTxnAge/2 {
			id, attempt = db.link.NewID(), 1
		}
	}
}

// run runs fn in one attempt, and commits or rolls back.
func (t *interaction) run(fn func(context.Context, *interaction) error) verdict {
	wire, failed := t.call.Begin()
	if failed != nil {
		return verdict{err: errorOf(failed)}
	}
	t.wire = wire
	defer t.wire.Close()
	ctx, cancel := context.WithCancel(t.call.Context())
	t.passed = attemptContext{ctx, t.db.link}
	t.attempt = &t.passed
	defer t.leave(cancel)
	own := fn(t.attempt, t)
	t.leave(cancel)
	switch {
	case t.failed != nil:
		return t.afterFailure(own)
	case own != nil:
		return t.afterRollback(own)
	}
	return t.afterCommit()
}

// leave ends the context of fn, which has returned or panics, and forbids steps.
func (t *interaction) leave(cancel context.CancelFunc) {
	t.over, t.step = true, t.call.Context()
	cancel()
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
		t.failed.Unconfirmed = own
		own = t.failed
	}
	return verdict{err: own, fault: t.failed}
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
		err.Unconfirmed = own
		return verdict{err: err, fault: err}
	}
	return verdict{err: own}
}

// afterCommit commits. An operation that was sent with the commit may have failed in a way that a
// rollback to a savepoint would have undone: that is a failure like any other.
func (t *interaction) afterCommit() verdict {
	err := t.commit()
	switch {
	case err == nil:
		return verdict{}
	case err.from.Undoable:
		t.fail(err)
		return t.afterFailure(nil)
	}
	return verdict{err: err, fault: err}
}
