package client

import (
	"context"
	"errors"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Update runs fn as a transaction, which commits if fn returns nil. If fn
// returns an error the transaction is rolled back and Update returns that very
// error; if fn panics it is rolled back and the panic goes on.
//
// fn may be run several times: what it does besides using tx must bear that.
// All runs have the age of the first, so that they win against younger
// transactions in the end. When a method of tx has returned an error the
// transaction is over, and fn had best return.
//
// The values that fn sees may be provisional: they are certain when Update
// returns, be it nil or fn's own error. If an error of fn's comes from values
// that turn out not to hold, fn is run again.
func (db *DB) Update(ctx context.Context, fn func(tx *Tx) error) error {
	return db.interact(ctx, false, nil, func(t *interaction) error { return fn(&Tx{ReadTx{t}}) })
}

// View runs fn as a transaction that only reads. All that fn sees is as it was
// at one moment. What Update says about errors, panics and repeated runs holds
// here as well.
func (db *DB) View(ctx context.Context, fn func(ro *ReadTx) error) error {
	return db.interact(ctx, true, nil, func(t *interaction) error { return fn(&ReadTx{t}) })
}

// verdict is how one run ended.
type verdict struct {
	// err is what the caller is told, unless there is another run.
	err error
	// fault is why there may be another run; nil when err is final.
	fault *Error
	// closed: the id has been closed by an enquiry, one run of it may have committed,
	// or the node has refused its time; another run needs another id.
	closed bool
}

// interact runs fn until there is a verdict to return. The id stays the same
// over the runs while that is allowed, with the attempt counted up.
func (db *DB) interact(ctx context.Context, readOnly bool, h *how, fn func(*interaction) error) error {
	r := newRetrier(db, ctx)
	defer r.stop()
	id, attempt := db.newID(), uint32(1)
	var before Receipt
	for runs := 1; ; runs++ {
		v := db.runOnce(&r, kv.TxnRef{TxnID: id, Attempt: attempt}, readOnly, h, before, fn)
		if v.fault != nil {
			v.fault.Attempts, v.fault.ID = runs, id
			v.fault.Receipt.after(before)
			before = v.fault.Receipt
		}
		if v.fault == nil || h != nil && h.once || !r.again(v.fault) {
			return v.err
		}
		attempt++
		if v.closed || db.now()-id.Time > int64(kv.MaxTxnAge)/2 {
			id, attempt = db.newID(), 1
		}
	}
}

// runOnce runs fn in one attempt, and commits or rolls back.
func (db *DB) runOnce(r *retrier, ref kv.TxnRef, readOnly bool, h *how, before Receipt, fn func(*interaction) error) verdict {
	s, failed := r.use()
	if failed != nil {
		return verdict{err: failed}
	}
	defer s.unuse()
	t := &interaction{r: r, session: s, ref: ref, readOnly: readOnly, how: h, before: before}
	defer t.leave()
	own := fn(t)
	t.over = true
	switch {
	case t.failed != nil:
		return t.afterFailure(own)
	case own != nil:
		return t.afterRollback(own)
	}
	return t.afterCommit(db)
}

// afterFailure is for a transaction that failed while fn ran. A failure that has
// ended it is told by the server when it is certain; before one that a return to a
// savepoint would have taken back comes what a rollback says. If others ended it, an
// error of fn's own may come from what was not so.
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
		return verdict{err: own}
	}
	if !errors.Is(own, t.failed) {
		t.failed.because(own)
		own = t.failed
	}
	return verdict{err: own, fault: t.failed, closed: t.failed.serverTime != 0}
}

// afterRollback is for an fn that wants no commit. The server says whether
// what fn read was so; if it was not, neither is fn's error.
func (t *interaction) afterRollback(own error) verdict {
	if err := t.rollback(); err != nil {
		err.because(own)
		return verdict{err: err, fault: err}
	}
	return verdict{err: own}
}

// afterCommit commits, and if it is not known whether that has happened, finds
// out. An operation that went along with the commit may have failed in a way that a
// return to a savepoint would have taken back: that is a failure like any other.
func (t *interaction) afterCommit(db *DB) verdict {
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
		// It cannot have changed anything; but the run may have ended well.
		err = err.ofReads()
		return verdict{err: err, fault: err, closed: true}
	}
	out, err := db.resolve(t.r, t.ref.TxnID, err.Text)
	if err == nil {
		t.report(out)
		return verdict{}
	}
	return verdict{err: err, fault: err, closed: true}
}
