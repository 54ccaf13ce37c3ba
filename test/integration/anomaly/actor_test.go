package anomaly

import (
	"context"
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
)

// actor is an interactive transaction that a test moves step by step. Its age
// is that of its beginning. It is not tried again: a step may fail with
// KindAborted, and so may the commit.
type actor struct {
	s     *scene
	steps chan step
	// stepped has each step's error.
	stepped chan error
	// ended has what Update or View returned.
	ended chan error
	// failed is the first error of a step.
	failed error
}

// transaction is a *client.Tx, or a *client.View of an actor that only reads.
type transaction interface {
	client.Reader
	ID() client.TxID
}

// step is what an actor does next.
type step func(context.Context, transaction) error

// The ends that a test asks for.
var (
	errCommit   = errors.New("commit")
	errRollback = errors.New("the test rolls back")
)

// update begins a transaction at a node.
func (s *scene) update(node int) *actor { return s.act(node, false) }

// view begins a transaction that only reads.
func (s *scene) view(node int) *actor { return s.act(node, true) }

func (s *scene) act(node int, readOnly bool) *actor {
	a := &actor{s: s, steps: make(chan step), stepped: make(chan error, 1), ended: make(chan error, 1)}
	began := make(chan struct{})
	run := func(ctx context.Context, tx transaction) error {
		s.Logf("transaction %v begins at node %d", tx.ID(), node%len(s.once)+1)
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
		return errRollback // the test is over
	}
	db := s.once[node%len(s.once)]
	go func() {
		if readOnly {
			a.ended <- db.View(s.ctx, func(ctx context.Context, v *client.View) error { return run(ctx, v) })
			return
		}
		a.ended <- db.Update(s.ctx, func(ctx context.Context, tx *client.Tx) error { return run(ctx, tx) })
	}()
	select {
	case <-began:
	case err := <-a.ended:
		require.FailNow(s.T, "a transaction does not begin", "%v", err)
	}
	s.Cleanup(func() { close(a.steps) })
	return a
}

// begin sends step off; wait returns its error.
func (a *actor) begin(s step) { a.steps <- s }

func (a *actor) wait() error {
	a.s.Helper()
	select {
	case err := <-a.stepped:
		if a.failed == nil {
			a.failed = err
		}
		if err != nil {
			require.True(a.s.T, aborted(err), "%v", err)
		}
		return err
	case <-a.s.ctx.Done():
		require.FailNow(a.s.T, "a step does not end")
		return nil
	}
}

// get reads a key; -1 if the transaction has been aborted.
func (a *actor) get(key string) int {
	a.s.Helper()
	n := -1
	a.begin(func(ctx context.Context, tx transaction) error {
		v, _, err := tx.Get(ctx, key)
		n = number(v)
		return err
	})
	if a.wait() != nil {
		return -1
	}
	return n
}

// lock reads a key and takes the lock for writing it.
func (a *actor) lock(key string) {
	a.s.Helper()
	a.begin(func(ctx context.Context, tx transaction) error {
		_, _, err := tx.(*client.Tx).GetForUpdate(ctx, key)
		return err
	})
	_ = a.wait() // the commit will tell
}

// put writes a key, which is only noted until the commit.
func (a *actor) put(key string, n int) {
	a.s.Helper()
	a.begin(func(ctx context.Context, tx transaction) error { return tx.(*client.Tx).Put(ctx, key, value(n)) })
	_ = a.wait()
}

// count scans the scene's range.
func (a *actor) count() int {
	a.s.Helper()
	n := 0
	a.begin(func(ctx context.Context, tx transaction) error {
		for _, err := range tx.Scan(ctx, a.s.keys()) {
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

// finish has the transaction commit; committed says whether it did.
func (a *actor) finish() {
	a.steps <- func(context.Context, transaction) error {
		if a.failed != nil {
			return errRollback
		}
		return errCommit
	}
}

// committed waits for the end. Nothing but an abort may have prevented it.
func (a *actor) committed() bool {
	a.s.Helper()
	select {
	case err := <-a.ended:
		if err != nil && err != errRollback {
			require.True(a.s.T, aborted(err), "%v", err)
			a.s.Logf("aborted: %v", err)
		}
		return err == nil
	case <-a.s.ctx.Done():
		require.FailNow(a.s.T, "a transaction does not end")
		return false
	}
}

// getAndCommit sends off a read and the commit behind it. The value is there
// when committed has returned true.
func (a *actor) getAndCommit(key string) *int {
	n := new(int)
	a.begin(func(ctx context.Context, tx transaction) error {
		v, _, err := tx.Get(ctx, key)
		*n = number(v)
		if err != nil {
			return errRollback
		}
		return errCommit
	})
	return n
}

// commit is finish and committed.
func (a *actor) commit() bool {
	a.s.Helper()
	a.finish()
	return a.committed()
}

// rollback gives the transaction up.
func (a *actor) rollback() {
	a.s.Helper()
	a.steps <- func(context.Context, transaction) error { return errRollback }
	a.committed()
}

// async runs a one-shot transaction that may have to wait for others; the
// channel has its error.
func (s *scene) async(node int, ops ...client.Op) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.db(node).Execute(s.ctx, ops...) }()
	return done
}
