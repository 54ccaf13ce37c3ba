package shell

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/cli/txnlang"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// transaction is an open transaction. Two goroutines use it: the shell's, and its own.
type transaction struct {
	readOnly bool
	cancel   context.CancelFunc
	steps    chan step
	// ended has the error of the transaction, once; report is then complete.
	ended  chan error
	report client.Report
	// marked: there is a savepoint, so that an error need not roll the transaction back. failed: there was
	// an error, and only a return to a savepoint undoes it.
	marked, failed bool
}

// action is the work of a line in the transaction.
type action func(ctx context.Context, tx on) ([]pb.Result, error)

// step is the work of a line. A step without act commits.
type step struct {
	act    action
	answer chan answer
}

// on is a transaction of the client: a *client.Tx, or a read-only one.
type on interface {
	client.Reader
	Savepoint(ctx context.Context, name string) error
	RollbackTo(ctx context.Context, name string) error
	Release(ctx context.Context, name string) error
}

// reads is a read-only transaction. It has nothing to undo.
type reads struct{ *client.View }

func (reads) Savepoint(context.Context, string) error  { return errReads }
func (reads) RollbackTo(context.Context, string) error { return errReads }
func (reads) Release(context.Context, string) error    { return errReads }

var errReads = &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "a read-only transaction has no savepoints",
	Hint: "it has no writes to undo"}

type answer struct {
	results []pb.Result
	err     error
}

// errRolledBack ends a transaction that does not commit.
var errRolledBack = &kv.Error{Kind: kv.KindCancelled, Op: -1, Text: "the transaction was interrupted"}

// begin opens a transaction. Nothing is sent before the first operation.
func begin(ctx context.Context, db *client.DB, readOnly bool) *transaction {
	ctx, cancel := context.WithCancel(ctx)
	t := &transaction{readOnly: readOnly, cancel: cancel, steps: make(chan step), ended: make(chan error, 1)}
	go func() {
		db := db.With(client.ReportTo(&t.report), client.NoRetry())
		interrupted := ctx.Done()
		var err error
		if readOnly {
			err = db.View(ctx, func(ctx context.Context, v *client.View) error {
				return t.follow(ctx, interrupted, reads{v})
			})
		} else {
			err = db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
				return t.follow(ctx, interrupted, tx)
			})
		}
		t.ended <- err
	}()
	return t
}

// follow runs the steps of the lines, with the context of the attempt, until the transaction ends.
func (t *transaction) follow(ctx context.Context, interrupted <-chan struct{}, tx on) error {
	for {
		var s step
		select {
		case s = <-t.steps:
		case <-interrupted:
			return errRolledBack
		}
		if s.act == nil {
			return nil
		}
		results, err := s.act(ctx, tx)
		s.answer <- answer{results, err}
	}
}

// do runs operations.
func (t *transaction) do(ctx context.Context, statements []txnlang.Statement) ([]pb.Result, error) {
	ops := make([]client.Op, len(statements))
	for i := range statements {
		ops[i] = statements[i].Op
	}
	return t.step(ctx, func(ctx context.Context, tx on) ([]pb.Result, error) { return cli.Results(ctx, tx, ops) })
}

// mark sets a savepoint, returns to one, or removes one.
func (t *transaction) mark(ctx context.Context, what func(ctx context.Context, tx on) error) error {
	_, err := t.step(ctx, func(ctx context.Context, tx on) ([]pb.Result, error) { return nil, what(ctx, tx) })
	return err
}

// step runs act in the transaction. If that fails without a savepoint to return to, or ctx ends, the
// transaction ends.
func (t *transaction) step(ctx context.Context, act action) ([]pb.Result, error) {
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
