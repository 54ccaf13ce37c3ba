package shell

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/cli/txnlang"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// transaction is one that is open. It is used by one goroutine, and its own.
type transaction struct {
	readOnly bool
	cancel   context.CancelFunc
	steps    chan step
	// ended has how it ended, once; outcome is then that of the commit.
	ended   chan error
	outcome client.Outcome
	// marked: there is a savepoint, so that an error need not be the end. failed:
	// there was one, and only a return to a savepoint takes it back.
	marked, failed bool
}

// step is what a line wants done. One without act commits.
type step struct {
	act    func(on) ([]client.Result, error)
	answer chan answer
}

// on is what a transaction can be told: a *client.Tx, or one that only reads.
type on interface {
	Do(...client.Op) ([]client.Result, error)
	Savepoint(name string) error
	RollbackTo(name string) error
	Release(name string) error
}

// reads is a transaction that only reads. It has nothing to take back.
type reads struct{ *client.ReadTx }

func (reads) Savepoint(string) error  { return errReads }
func (reads) RollbackTo(string) error { return errReads }
func (reads) Release(string) error    { return errReads }

var errReads = &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "a read-only transaction has no savepoints", Hint: "it writes nothing that could be taken back"}

type answer struct {
	results []client.Result
	err     error
}

// errRolledBack ends a transaction that is not to be committed.
var errRolledBack = &kv.Error{Kind: kv.KindCancelled, Op: -1, Text: "the transaction was interrupted"}

// begin opens a transaction. Nothing is sent before the first operation is.
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

// follow does what the lines say, until the transaction ends.
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
	return t.tell(ctx, func(tx on) ([]client.Result, error) { return tx.Do(ops...) })
}

// mark sets a savepoint, returns to one, or forgets one.
func (t *transaction) mark(ctx context.Context, what func(tx on) error) error {
	_, err := t.tell(ctx, func(tx on) ([]client.Result, error) { return nil, what(tx) })
	return err
}

// tell has something done. If that fails, and there is no savepoint to return to, the
// transaction has ended; so it has when ctx ends.
func (t *transaction) tell(ctx context.Context, act func(on) ([]client.Result, error)) ([]client.Result, error) {
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
	if a.err != nil && (!t.marked || ctx.Err() != nil || !canBeTakenBack(a.err)) {
		t.rollback()
		t.marked = false
	}
	return a.results, a.err
}

// canBeTakenBack reports whether an error is the request's, so that a return to a
// savepoint undoes it.
func canBeTakenBack(err error) bool {
	switch kv.KindOf(err) {
	case kv.KindConditionFailed, kv.KindWrongType, kv.KindOutOfRange, kv.KindNotFound, kv.KindInvalid:
		return true
	}
	return false
}

// over reports whether an error was the end.
func (t *transaction) over() bool { return t.failed && !t.marked }

// commit ends it, and tells whether it is committed.
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

// rollback gives it up, and returns when it has ended.
func (t *transaction) rollback() {
	t.cancel()
	<-t.ended
}
