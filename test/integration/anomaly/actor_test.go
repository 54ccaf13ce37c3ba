package anomaly

import (
	"context"
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
)

// actor is an interactive transaction that a test moves step by step. It is not retried: a step or the
// commit may fail with KindAborted.
type actor struct {
	s     *scene
	steps chan step
	// stepped receives the error of each step.
	stepped chan error
	// done receives the result of Update or View.
	done chan error
	// failed is the first error of a step.
	failed error
}

// transaction is a *client.Tx, or the *client.View of a read-only actor.
type transaction interface {
	client.Reader
	ID() client.TxID
}

// step is one step of an actor.
type step func(context.Context, transaction) error

// Steps return these errors to end the transaction.
var (
	errCommit   = errors.New("commit")
	errRollback = errors.New("rollback")
)

// update begins an update at a node.
func (s *scene) update(node int) *actor { return s.startActor(node, false) }

// view begins a read-only transaction at a node.
func (s *scene) view(node int) *actor { return s.startActor(node, true) }

func (s *scene) startActor(node int, readOnly bool) *actor {
	a := &actor{s: s, steps: make(chan step), stepped: make(chan error, 1), done: make(chan error, 1)}
	began := make(chan struct{})
	run := func(ctx context.Context, tx transaction) error {
		s.Logf("transaction %v begins at node %d", tx.ID(), node%len(s.noRetry)+1)
		close(began)
		for step := range a.steps {
			err := step(ctx, tx)
			if errors.Is(err, errCommit) {
				return nil
			}
			if errors.Is(err, errRollback) {
				return err
			}
			a.stepped <- err
		}
		return errRollback // the test has ended
	}
	db := s.noRetry[node%len(s.noRetry)]
	go func() {
		if readOnly {
			a.done <- db.View(s.ctx, func(ctx context.Context, v *client.View) error { return run(ctx, v) })
			return
		}
		a.done <- db.Update(s.ctx, func(ctx context.Context, tx *client.Tx) error { return run(ctx, tx) })
	}()
	select {
	case <-began:
	case err := <-a.done:
		require.FailNow(s.T, "the transaction does not begin", "%v", err)
	}
	s.Cleanup(func() { close(a.steps) })
	return a
}

// start starts a step; wait returns its error.
func (a *actor) start(s step) { a.steps <- s }

func (a *actor) wait() error {
	a.s.Helper()
	select {
	case err := <-a.stepped:
		if a.failed == nil {
			a.failed = err
		}
		if err != nil {
			require.True(a.s.T, isAborted(err), "%v", err)
		}
		return err
	case <-a.s.ctx.Done():
		require.FailNow(a.s.T, "the step does not end")
		return nil
	}
}

// get reads a key. It returns -1 if the transaction has aborted.
func (a *actor) get(key string) int {
	a.s.Helper()
	n := -1
	a.start(func(ctx context.Context, tx transaction) error {
		v, _, err := tx.Get(ctx, key)
		n = number(v)
		return err
	})
	if a.wait() != nil {
		return -1
	}
	return n
}

// lock reads a key and acquires its write lock.
func (a *actor) lock(key string) {
	a.s.Helper()
	a.start(func(ctx context.Context, tx transaction) error {
		_, _, err := tx.(*client.Tx).GetForUpdate(ctx, key)
		return err
	})
	_ = a.wait() // checked at the commit
}

// put writes a key. The write is buffered until the commit.
func (a *actor) put(key string, n int) {
	a.s.Helper()
	a.start(func(ctx context.Context, tx transaction) error { return tx.(*client.Tx).Put(ctx, key, value(n)) })
	_ = a.wait()
}

// count returns the number of keys in the scene's range, -1 if the transaction has aborted.
func (a *actor) count() int {
	a.s.Helper()
	n := 0
	a.start(func(ctx context.Context, tx transaction) error {
		for _, err := range tx.Scan(ctx, a.s.keyRange()) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if a.wait() != nil {
		return -1
	}
	return n
}

// requestCommit starts the commit, or the rollback if a step has failed. awaitEnd returns the result.
func (a *actor) requestCommit() {
	a.steps <- func(context.Context, transaction) error {
		if a.failed != nil {
			return errRollback
		}
		return errCommit
	}
}

// awaitEnd waits for the end and reports whether the transaction has committed. No error but an abort is
// allowed.
func (a *actor) awaitEnd() bool {
	a.s.Helper()
	select {
	case err := <-a.done:
		if err != nil && err != errRollback {
			require.True(a.s.T, isAborted(err), "%v", err)
			a.s.Logf("aborted: %v", err)
		}
		return err == nil
	case <-a.s.ctx.Done():
		require.FailNow(a.s.T, "the transaction does not end")
		return false
	}
}

// startGetAndCommit starts a read followed by the commit. The value is valid after awaitEnd has returned
// true.
func (a *actor) startGetAndCommit(key string) *int {
	n := new(int)
	a.start(func(ctx context.Context, tx transaction) error {
		v, _, err := tx.Get(ctx, key)
		*n = number(v)
		if err != nil {
			return errRollback
		}
		return errCommit
	})
	return n
}

// commit commits and reports whether that succeeded.
func (a *actor) commit() bool {
	a.s.Helper()
	a.requestCommit()
	return a.awaitEnd()
}

// rollback rolls the transaction back.
func (a *actor) rollback() {
	a.s.Helper()
	a.steps <- func(context.Context, transaction) error { return errRollback }
	a.awaitEnd()
}

// executeAsync runs a one-shot transaction that may block. The channel receives its error.
func (s *scene) executeAsync(node int, ops ...client.Op) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.db(node).Execute(s.ctx, ops...) }()
	return done
}
