package shell

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/cli/txnlang"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// transaction is an open transaction. Two goroutines use it: the shell's, and its own.
type transaction struct {
	readOnly bool
	cancel   context.CancelFunc
	steps    chan step
	// ended has the error of the transaction, once; outcome is then that of the commit.
	ended   chan error
	outcome client.Outcome
	// marked: there is a savepoint, so that an error need not roll the transaction back. failed: there was
	// an error, and only a return to a savepoint undoes it.
	marked, failed bool
}

// step is the work of a line. A step without act commits.
type step struct {
	act    func(on) ([]client.Result, error)
	answer chan answer
}

// on is a transaction of the client: a *client.Tx, or a read-only one.
type on interface {
	Do(...client.Op) ([]client.Result, error)
	Savepoint(name string) error
	RollbackTo(name string) error
	Release(name string) error
}

// reads is a read-only transaction. It has nothing to undo.
type reads struct{ *client.ReadTx }

func (reads) Savepoint(string) error  { return errReads }
func (reads) RollbackTo(string) error { return errReads }
func (reads) Release(string) error    { return errReads }

var errReads = &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "a read-only transaction has no savepoints", Hint: "it has no writes to undo"}

type answer struct {
	results []client.Result
	err     error
}

// errRolledBack ends a transaction that does not commit.
var errRolledBack = &kv.Error{Kind: kv.KindCancelled, Op: -1, Text: "the transaction was interrupted"}

// begin opens a transaction. Nothing is sent before the first operation.
func begin(ctx context.Context, db *client.DB, readOnly bool) *transaction {
	ctx, cancel := context.WithCancel(ctx)
	t := &transaction{readOnly: readOnly, cancel: cancel, steps: make(chan step), ended: make(chan error, 1)}
	go func() {
		h := db.With(client.Into(&t.outcome), client.Once())
		var err error
		if readOnly {
			err = h.View(ctx, func(ro *client.ReadTx) error { return t.follow(ctx, reads{ro}) })
		} else {
			err = h.Update(ctx, func(tx *client.Tx) error { return t.follow(ctx, tx) })
		}
		t.ended <- err
	}()
	return t
}

// follow runs the steps of the lines until the transaction ends.
func (t *transaction) follow(ctx context.Context, tx on) error {
	for {
		var s step
		select {
		case s = <-t.steps:
		case <-ctx.Done():
			return errRolledBack
		}
		if s.act == nil {
			return nil
		}
		results, err := s.act(tx)
		s.answer <- answer{results, err}
	}
}

// do runs operations.
func (t *transaction) do(ctx context.Context, statements []txnlang.Statement) ([]client.Result, error) {
	ops := make([]client.Op, len(statements))
	for i := range statements {
		ops[i] = statements[i].Op
	}
	return t.step(ctx, func(tx on) ([]client.Result, error) { return tx.Do(ops...) })
}

// mark sets a savepoint, returns to one, or removes one.
func (t *transaction) mark(ctx context.Context, what func(tx on) error) error {
	_, err := t.step(ctx, func(tx on) ([]client.Result, error) { return nil, what(tx) })
	return err
}

// step runs act in the transaction. If that fails without a savepoint to return to, or ctx ends, the
// transaction ends.
func (t *transaction) step(ctx context.Context, act func(on) ([]client.Result, error)) ([]client.Result, error) {
	s := step{act, make(chan answer, 1)}
	stop := context.AfterFunc(ctx, t.cancel)
	defer stop()
	select {
	case t.steps <- s:
	case err := <-t.ended:
		t.ended <- err // for commit, and rollback
		t.failed, t.marked = true, false
		return nil, err
	}
	a := <-s.answer
	t.failed = a.err != nil
	if a.err != nil && (!t.marked || ctx.Err() != nil || !canBeUndone(a.err)) {
		t.rollback()
		t.marked = false
	}
	return a.results, a.err
}

// canBeUndone reports whether an error concerns the request, so that a return to a savepoint undoes it.
func canBeUndone(err error) bool {
	switch kv.KindOf(err) {
	case kv.KindConditionFailed, kv.KindWrongType, kv.KindOutOfRange, kv.KindNotFound, kv.KindInvalid:
		return true
	}
	return false
}

// over reports whether an error has ended the transaction.
func (t *transaction) over() bool { return t.failed && !t.marked }

// commit commits the transaction.
func (t *transaction) commit(ctx context.Context) error {
	stop := context.AfterFunc(ctx, t.cancel)
	defer stop()
	defer t.cancel()
	select {
	case t.steps <- step{}:
		return <-t.ended
	case err := <-t.ended:
		return err
	}
}

// rollback ends the transaction, and returns when it has ended.
func (t *transaction) rollback() {
	t.cancel()
	<-t.ended
}
