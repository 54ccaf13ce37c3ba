package client_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/server"
)

// ending is a way in which a call ends before its transaction does.
type ending struct {
	name string
	kind client.Kind
	// is the error that errors.Is finds beside the kind.
	is error
	// begin gives the context of the call, and what ends it.
	begin func(t *testing.T, db *client.DB) (ctx context.Context, end func())
}

var errUserLeft = errors.New("the user left")

var endings = []ending{
	{"cancelled", client.KindCancelled, context.Canceled, func(t *testing.T, _ *client.DB) (context.Context, func()) {
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		return ctx, cancel
	}},
	{"cancelled with a cause", client.KindCancelled, errUserLeft, func(*testing.T, *client.DB) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(context.Background())
		return ctx, func() { cancel(errUserLeft) }
	}},
	{"deadline", client.KindDeadlineExceeded, context.DeadlineExceeded, func(t *testing.T, _ *client.DB) (context.Context,
		func()) {
		ctx := within(t, 200*time.Millisecond)
		return ctx, func() { <-ctx.Done() }
	}},
	{"closed", client.KindClosed, client.ErrClosed, func(t *testing.T, db *client.DB) (context.Context, func()) {
		return context.Background(), func() { require.NoError(t, db.Close()) }
	}},
}

// holds that err is the ending's, and that nothing else is said of the outcome.
func (e *ending) holds(t *testing.T, err error) *client.Error {
	t.Helper()
	require.ErrorIs(t, err, e.is)
	return requireKind(t, e.kind, err)
}

// caught holds that the ending is the cause of an error of another kind.
func (e *ending) caught(t *testing.T, kind client.Kind, err error) *client.Error {
	t.Helper()
	require.ErrorIs(t, err, e.is)
	return requireKind(t, kind, err)
}

// eachEnding runs a test with each, in front of a store of its own.
func eachEnding(t *testing.T, run func(t *testing.T, e *ending, f *faulty, addr string)) {
	for i := range endings {
		t.Run(endings[i].name, func(t *testing.T) {
			f := newFaulty()
			run(t, &endings[i], f, startNode(t, f, "", server.Options{}).addr)
		})
	}
}

// call is one of the client's calls, as part of a table.
type call struct {
	name   string
	writes bool
	run    func(ctx context.Context, db *client.DB) error
}

// transactions are the calls that are transactions.
var transactions = []call{
	{"one-shot", true, func(ctx context.Context, db *client.DB) error {
		err := db.Execute(ctx, add("n", 1))
		return err
	}},
	{"one-shot read", false, func(ctx context.Context, db *client.DB) error {
		err := db.Execute(ctx, client.EntryOp("n"))
		return err
	}},
	{"read of a snapshot", false, func(ctx context.Context, db *client.DB) error {
		return db.AtSnapshot("s").Execute(ctx, client.NewCounter("n").GetOp())
	}},
	{"Update", true, func(ctx context.Context, db *client.DB) error {
		return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			return client.NewCounter("n").Add(ctx, tx,
				1)
		})
	}},
	{"Update that reads first", true, func(ctx context.Context, db *client.DB) error {
		return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			_, _, err := tx.Get(ctx, "k")
			if err != nil {
				return err
			}
			return client.NewCounter("n").Add(ctx, tx, 1)
		})
	}},
	{"Update that only reads", false, func(ctx context.Context, db *client.DB) error {
		return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			_, _, err := tx.Get(ctx, "k")
			return err
		})
	}},
	{"View", false, func(ctx context.Context, db *client.DB) error {
		return db.View(ctx, func(ctx context.Context, ro *client.View) error {
			_, _, err := ro.Get(ctx, "k")
			return err
		})
	}},
}

// otherCalls are reads that are no transactions, and calls about snapshots.
var otherCalls = []call{
	{"scan", false, func(ctx context.Context, db *client.DB) error {
		for _, err := range db.Scan(ctx, client.Range{}) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	{"scan of a snapshot", false, func(ctx context.Context, db *client.DB) error {
		for _, err := range db.AtSnapshot("s").Scan(ctx, client.Range{}) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	{"CreateSnapshot", false, func(ctx context.Context, db *client.DB) error {
		_, err := db.CreateSnapshot(ctx, "new")
		return err
	}},
	{"Snapshots", false, func(ctx context.Context, db *client.DB) error {
		_, err := db.Snapshots(ctx)
		return err
	}},
	{"DropSnapshot", false, func(ctx context.Context, db *client.DB) error {
		return db.DropSnapshot(ctx, "s")
	}},
	{"Outcome", false, func(ctx context.Context, db *client.DB) error {
		_, err := db.Outcome(ctx, anID())
		return err
	}},
}

func TestNothingIsSentAfterTheEndOfTheContext(t *testing.T) {
	eachEnding(t, func(t *testing.T, e *ending, f *faulty, addr string) {
		db := open(t, []string{addr})
		ctx, end := e.begin(t, db)
		end()
		f.onSubmit(func(gateway.Request, func(gateway.Response)) { t.Error("a request was sent") })
		for _, c := range slices.Concat(transactions, otherCalls) {
			e.holds(t, c.run(ctx, db))
		}
		require.Zero(t, f.began.Load())
	})
}

func TestARequestThatWaitsToBeSentEndsWithItsContext(t *testing.T) {
	eachEnding(t, func(t *testing.T, e *ending, f *faulty, addr string) {
		db := open(t, []string{addr}, client.WithMaxInFlight(1))
		arrived := make(chan struct{})
		f.onSubmit(func(gateway.Request, func(gateway.Response)) { close(arrived) })
		first, leave := context.WithCancel(context.Background())
		var all sync.WaitGroup
		all.Go(func() { _ = transactions[0].run(first, db) })
		<-arrived
		ctx, end := e.begin(t, db)
		all.Go(func() { e.holds(t, transactions[0].run(ctx, db)) })
		end()
		leave()
		all.Wait()
	})
}

// TestAnUpdateThatIsNotSentIsNotApplied: the context ends in a step, in the function and after it.
func TestAnUpdateThatIsNotSentIsNotApplied(t *testing.T) {
	own := errors.New("sold out")
	for name, fn := range map[string]func(step func() error, end func()) error{
		"in fn, then a step":         func(step func() error, end func()) error { end(); return step() },
		"after fn":                   func(_ func() error, end func()) error { end(); return nil },
		"the step's error is lost":   func(step func() error, end func()) error { end(); _ = step(); return nil },
		"an error of fn's own":       func(_ func() error, end func()) error { end(); return own },
		"fn's own, after the step's": func(step func() error, end func()) error { end(); _ = step(); return own },
	} {
		t.Run(name, func(t *testing.T) {
			eachEnding(t, func(t *testing.T, e *ending, f *faulty, addr string) {
				db := open(t, []string{addr})
				f.onCommit(func(tx server.Tx) gateway.Response {
					t.Error("a commit was sent")
					return tx.Commit(context.Background())
				})
				ctx, end := e.begin(t, db)
				err := db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
					_, err := client.NewCounter("n").AddGet(ctx, tx, 1)
					require.NoError(t, err)
					return fn(func() error { return e.eachStep(ctx, t, tx) }, end)
				})
				e.holds(t, err)
				requireUnconfirmed(t, err, own, strings.Contains(name, "own"))
				released(t, f)
				require.Zero(t, counter(t, open(t, []string{addr}), "n"))
			})
		})
	}
}

// eachStep holds that each kind of step fails with the ending.
func (e *ending) eachStep(ctx context.Context, t *testing.T, tx *client.Tx) error {
	err := tx.Put(ctx, "k", b("w"))
	e.holds(t, err)
	_, _, read := tx.Get(ctx, "k")
	e.holds(t, read)
	e.holds(t, tx.Savepoint(ctx, "s"))
	e.holds(t, tx.RollbackTo(ctx, "s"))
	return err
}

// released holds that the node has ended the transaction, with its locks.
func released(t *testing.T, f *faulty) {
	t.Helper()
	require.Eventually(t, func() bool { return f.Open() == 0 && f.Waiting() == 0 }, 12*time.Second, time.Millisecond)
}

func TestAStepThatWaitsEndsWithItsContext(t *testing.T) {
	for _, c := range transactions {
		if strings.HasPrefix(c.name, "one-shot") || strings.HasPrefix(c.name, "read") || c.name == "Update" {
			continue // has no step before the commit
		}
		t.Run(c.name, func(t *testing.T) {
			eachEnding(t, func(t *testing.T, e *ending, f *faulty, addr string) {
				db, other := open(t, []string{addr}), open(t, []string{addr})
				require.NoError(t, other.Update(within(t, 10*time.Second), func(ctx context.Context, tx *client.Tx) error {
					_, _, err := tx.Get(ctx, "k") // takes the lock of the store
					require.NoError(t, err)
					ctx, end := e.begin(t, db)
					ended := make(chan error, 1)
					go func() { ended <- c.run(ctx, db) }()
					if e.kind != client.KindDeadlineExceeded {
						require.Eventually(t, func() bool { return f.Waiting() == 1 }, 10*time.Second, time.Millisecond)
					}
					end()
					e.holds(t, <-ended)
					return nil
				}))
				released(t, f)
			})
		})
	}
}

func TestFnsOwnErrorIsReturnedIfNothingWasRead(t *testing.T) {
	eachEnding(t, func(t *testing.T, e *ending, _ *faulty, addr string) {
		db := open(t, []string{addr})
		own := errors.New("no")
		ctx, end := e.begin(t, db)
		err := db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			require.NoError(t, tx.Put(ctx, "k", b("v")))
			end()
			return own
		})
		require.True(t, err == own, "%v", err)
	})
}

// TestBetweenAttemptsTheErrorIsThatOfTheLast, with the context's error as its cause.
func TestBetweenAttemptsTheErrorIsThatOfTheLast(t *testing.T) {
	own := errors.New("it failed")
	for name, run := range map[string]func(ctx context.Context, db *client.DB, refused func()) error{
		"one-shot": func(ctx context.Context, db *client.DB, _ func()) error {
			err := db.With(client.CommitGrace(time.Minute)).Execute(ctx, add("n", 1))
			return err
		},
		"one-shot read": func(ctx context.Context, db *client.DB, _ func()) error {
			err := db.With(client.CommitGrace(time.Minute)).Execute(ctx, client.EntryOp("n"))
			return err
		},
		"Update": func(ctx context.Context, db *client.DB, refused func()) error {
			return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
				_, _, err := tx.Get(ctx, "k")
				refused()
				return err
			})
		},
		"Update with an error of its own": func(ctx context.Context, db *client.DB, refused func()) error {
			return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
				_, _, err := tx.Get(ctx, "k")
				require.Error(t, err)
				refused()
				return own
			})
		},
		"View": func(ctx context.Context, db *client.DB, refused func()) error {
			return db.View(ctx, func(ctx context.Context, ro *client.View) error {
				_, _, err := ro.Get(ctx, "k")
				refused()
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachEnding(t, func(t *testing.T, e *ending, f *faulty, addr string) {
				db := open(t, []string{addr}, client.WithBackoff(time.Hour, time.Hour))
				attempts := make(chan struct{}, 1)
				refused := func() { attempts <- struct{}{} }
				f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
					refused()
					done(refuse(req, kv.KindAborted))
				})
				f.onBegin(func(gateway.TxOptions) error { return kv.Errorf(kv.KindAborted, "refused by the test") })
				ctx, end := e.begin(t, db)
				ended := make(chan error, 1)
				go func() { ended <- run(ctx, db, refused) }()
				<-attempts
				end()
				err := e.caught(t, client.KindAborted, <-ended)
				require.Equal(t, 1, err.Attempts)
				requireUnconfirmed(t, err, own, strings.Contains(name, "own"))
			})
		})
	}
}

// requireUnconfirmed checks that fn's own error is reported if fn has returned one, and cannot be
// mistaken for the result of the transaction.
func requireUnconfirmed(t *testing.T, err, own error, returned bool) {
	t.Helper()
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.NotErrorIs(t, err, own)
	if !returned {
		require.NoError(t, e.Unconfirmed)
		return
	}
	require.ErrorIs(t, e.Unconfirmed, own)
	require.Contains(t, err.Error(), "; the function's error is not confirmed: "+own.Error())
}
