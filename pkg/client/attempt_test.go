package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/server"
)

// TestACallOnTheDBInATransactionIsInvalid: with the context of the attempt, or one made of it, whatever
// the call and the handle. Another client's calls are not concerned.
func TestACallOnTheDBInATransactionIsInvalid(t *testing.T) {
	f := newFaulty()
	addr := startNode(t, f, "", server.Options{}).addr
	db, other := open(t, []string{addr}), open(t, []string{startNode(t, newFaulty(), "", server.Options{}).addr})
	all := map[string]func(ctx context.Context) error{
		"Get":            func(ctx context.Context) error { _, _, err := db.Get(ctx, "k"); return err },
		"Entry":          func(ctx context.Context) error { _, _, err := db.Entry(ctx, "k"); return err },
		"Put":            func(ctx context.Context) error { return db.Put(ctx, "k", nil) },
		"Delete":         func(ctx context.Context) error { return db.Delete(ctx, "k") },
		"DeleteRange":    func(ctx context.Context) error { _, err := db.DeleteRange(ctx, client.Prefix("k")); return err },
		"Expire":         func(ctx context.Context) error { return db.Expire(ctx, "k", time.Hour) },
		"Persist":        func(ctx context.Context) error { return db.Persist(ctx, "k") },
		"Execute":        func(ctx context.Context) error { return db.Execute(ctx, client.GetOp("k")) },
		"data type":      func(ctx context.Context) error { return client.NewCounter("n").Add(ctx, db, 1) },
		"handle":         func(ctx context.Context) error { return db.With(client.NoRetry()).Put(ctx, "k", nil) },
		"Outcome":        func(ctx context.Context) error { _, err := db.Outcome(ctx, anID()); return err },
		"CreateSnapshot": func(ctx context.Context) error { _, err := db.CreateSnapshot(ctx, "s"); return err },
		"Snapshots":      func(ctx context.Context) error { _, err := db.Snapshots(ctx); return err },
		"DropSnapshot":   func(ctx context.Context) error { return db.DropSnapshot(ctx, "s") },
		"Scan": func(ctx context.Context) (failed error) {
			for _, err := range db.Scan(ctx, client.Range{}) {
				failed = errors.Join(failed, err)
			}
			return failed
		},
		"Update": func(ctx context.Context) error {
			return db.Update(ctx, func(context.Context, *client.Tx) error { return nil })
		},
		"View": func(ctx context.Context) error {
			return db.View(ctx, func(context.Context, *client.View) error { return nil })
		},
	}
	in := func(ctx context.Context) {
		type key struct{}
		derived, cancel := context.WithTimeout(context.WithValue(ctx, key{}, 1), time.Hour)
		defer cancel()
		for name, call := range all {
			for _, ctx := range []context.Context{ctx, derived} {
				e := requireKind(t, client.KindInvalid, call(ctx))
				require.Contains(t, e.Message, "outside", name)
			}
		}
		require.NoError(t, other.Put(ctx, "k", nil))
	}
	ctx := within(t, 20*time.Second)
	require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		in(ctx)
		return tx.Put(ctx, "k", b("v"))
	}))
	require.NoError(t, db.View(ctx, func(ctx context.Context, v *client.View) error {
		in(ctx)
		_, _, err := v.Get(ctx, "k")
		return err
	}))
	require.Equal(t, "v", value(t, db, "k"))
}

// TestASnapshotCanBeReadInATransaction: it takes no lock, and cannot wait for one.
func TestASnapshotCanBeReadInATransaction(t *testing.T) {
	db, _ := openStore(t)
	put(t, db, "k", "old")
	s, err := db.CreateSnapshot(t.Context(), "s")
	require.NoError(t, err)
	_ = s
	require.NoError(t, db.Update(within(t, 10*time.Second), func(ctx context.Context, tx *client.Tx) error {
		// The store of the test serializes all transactions, so nothing of tx may be sent before.
		v, _, err := s.Get(ctx, "k")
		require.NoError(t, err)
		return tx.Put(ctx, "k", append(v, "er"...))
	}))
	require.Equal(t, "older", value(t, db, "k"))
}

// TestTheContextOfTheFunctionEndsWithTheAttempt, and has what the caller's has.
func TestTheContextOfTheFunctionEndsWithTheAttempt(t *testing.T) {
	f := newFaulty()
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	type key struct{}
	outer := context.WithValue(within(t, 10*time.Second), key{}, "of the caller")
	var contexts []context.Context
	n := 0
	f.onCommit(func(tx server.Tx) gateway.Response {
		if n++; n == 1 {
			tx.Rollback()
			return refuse(gateway.Request{ID: tx.ID()}, kv.KindAborted)
		}
		return tx.Commit(context.Background())
	})
	require.NoError(t, db.Update(outer, func(ctx context.Context, tx *client.Tx) error {
		for _, before := range contexts {
			require.ErrorIs(t, before.Err(), context.Canceled)
		}
		require.NoError(t, ctx.Err())
		require.Equal(t, "of the caller", ctx.Value(key{}))
		deadline, _ := outer.Deadline()
		own, has := ctx.Deadline()
		require.True(t, has)
		require.Equal(t, deadline, own)
		contexts = append(contexts, ctx)
		return tx.Put(ctx, "k", b("v"))
	}))
	require.Len(t, contexts, 2)
	require.ErrorIs(t, contexts[1].Err(), context.Canceled)
	require.NoError(t, outer.Err())
}

var errStep = errors.New("the step took too long")

// TestTheEndOfAStepsContextEndsTheTransaction: before the step or in it, with the step's own reason, and
// without another attempt. Nothing is applied and the locks are released.
func TestTheEndOfAStepsContextEndsTheTransaction(t *testing.T) {
	cancelled := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(errStep)
		return ctx, func() {}
	}
	short := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, 50*time.Millisecond, errStep)
	}
	for name, c := range map[string]struct {
		step func(context.Context) (context.Context, context.CancelFunc)
		kind client.Kind
		is   error
		of   bool // the step's context is made of the attempt's
	}{
		"cancelled before the step": {cancelled, client.KindCancelled, context.Canceled, true},
		"deadline in the step":      {short, client.KindDeadlineExceeded, context.DeadlineExceeded, true},
		"another context":           {short, client.KindDeadlineExceeded, context.DeadlineExceeded, false},
	} {
		for _, swallowed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				f := newFaulty()
				addr := startNode(t, f, "", server.Options{}).addr
				db, other := open(t, []string{addr}), open(t, []string{addr})
				f.onCommit(func(tx server.Tx) gateway.Response {
					t.Error("a commit was sent")
					return tx.Commit(context.Background())
				})
				runs := 0
				holding := func(run func()) { run() }
				if name != "cancelled before the step" {
					holding = func(run func()) { // the step waits for the store
						held, free := make(chan struct{}), make(chan struct{})
						done := make(chan error, 1)
						go func() {
							done <- other.View(context.Background(), func(ctx context.Context, v *client.View) error {
								_, _, err := v.Get(ctx, "k")
								close(held)
								<-free
								return errors.Join(err, errStep)
							})
						}()
						<-held
						run()
						close(free)
						require.ErrorIs(t, <-done, errStep)
					}
				}
				holding(func() {
					err := db.Update(within(t, 10*time.Second), func(ctx context.Context, tx *client.Tx) error {
						runs++
						require.NoError(t, tx.Put(ctx, "k", b("v")))
						of := ctx
						if !c.of {
							of = context.Background()
						}
						step, cancel := c.step(of)
						defer cancel()
						_, _, err := tx.Get(step, "k")
						e := requireKind(t, c.kind, err)
						require.Equal(t, client.NotApplied, e.Outcome)
						require.ErrorIs(t, err, c.is)
						_, _, again := tx.Get(ctx, "k")
						require.Equal(t, err, again, "the transaction has ended")
						require.NoError(t, ctx.Err())
						if swallowed {
							return nil
						}
						return err
					})
					requireKind(t, c.kind, err)
				})
				require.Equal(t, 1, runs)
				released(t, f)
				require.Empty(t, value(t, other, "k"))
			})
		}
	}
}

// TestAStepMayHaveLessTime: its end after the step does no harm.
func TestAStepMayHaveLessTime(t *testing.T) {
	db, _ := openStore(t)
	require.NoError(t, db.Update(within(t, 10*time.Second), func(ctx context.Context, tx *client.Tx) error {
		for range 20 {
			step, cancel := context.WithTimeout(ctx, time.Minute)
			_, err := client.NewCounter("n").AddGet(step, tx, 1)
			cancel()
			require.NoError(t, err)
		}
		return nil
	}))
	require.EqualValues(t, 20, counter(t, db, "n"))
}

func TestOpenFailsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errStep)
	_, err := client.Open(ctx, []string{deadAddr(t)})
	requireKind(t, client.KindUnavailable, err)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, errStep)
}
