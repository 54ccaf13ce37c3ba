package client_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/server"
)

// hold has the node respond to what is sent only when the test releases it. sent gets an element
// when something has arrived, and has been executed.
func (f *faulty) hold(t *testing.T) (sent <-chan struct{}, release func()) {
	arrived, free := make(chan struct{}, 100), make(chan struct{})
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		go f.Store.Submit(req, func(r gateway.Response) {
			arrived <- struct{}{}
			<-free
			done(r)
		})
	})
	f.onCommit(func(tx server.Tx) gateway.Response {
		r := tx.Commit(context.Background())
		arrived <- struct{}{}
		<-free
		return r
	})
	release = sync.OnceFunc(func() { close(free) })
	t.Cleanup(release)
	return arrived, release
}

// withGrace are the transactions, with a CommitGrace.
func withGrace(d time.Duration, run func(t *testing.T, name string, writes bool,
	call func(context.Context, *client.DB) error), t *testing.T) {
	grace := client.CommitGrace(d)
	for name, c := range map[string]struct {
		writes bool
		call   func(context.Context, *client.DB) error
	}{
		"one-shot": {true, func(ctx context.Context, db *client.DB) error {
			err := db.With(grace).Execute(ctx, add("n", 1))
			return err
		}},
		"one-shot read": {false, func(ctx context.Context, db *client.DB) error {
			err := db.With(grace).Execute(ctx, client.EntryOp("n"))
			return err
		}},
		"read of a snapshot": {false, func(ctx context.Context, db *client.DB) error {
			return db.With(grace).AtSnapshot("s").Execute(ctx, client.EntryOp("n"))
		}},
		"Update": {true, func(ctx context.Context, db *client.DB) error {
			return db.With(grace).Update(ctx, func(ctx context.Context,
				tx *client.Tx) error {
				return client.NewCounter("n").Add(ctx, tx, 1)
			})
		}},
		"Update that reads first": {true, func(ctx context.Context, db *client.DB) error {
			return db.With(grace).Update(ctx, func(ctx context.Context, tx *client.Tx) error {
				_, err := client.NewCounter("n").AddGet(ctx, tx, 1)
				return err
			})
		}},
		"Update that only reads": {false, func(ctx context.Context, db *client.DB) error {
			return db.With(grace).Update(ctx, func(ctx context.Context, tx *client.Tx) error {
				_, _, err := tx.Entry(ctx, "n")
				return err
			})
		}},
		"View": {false, func(ctx context.Context, db *client.DB) error {
			return db.With(grace).View(ctx, func(ctx context.Context, ro *client.View) error {
				_, _, err := ro.Entry(ctx, "n")
				return err
			})
		}},
	} {
		t.Run(name, func(t *testing.T) { run(t, name, c.writes, c.call) })
	}
}

// snapshotted keeps a snapshot that the calls can read.
func snapshotted(t *testing.T, addr string) *client.DB {
	db := open(t, []string{addr})
	_, err := db.CreateSnapshot(within(t, 10*time.Second), "s")
	require.NoError(t, err)
	return db
}

// TestWithoutAResponseOnlyWritesAreUnknown, and that only after CommitGrace.
func TestWithoutAResponseOnlyWritesAreUnknown(t *testing.T) {
	const grace = 100 * time.Millisecond
	withGrace(grace, func(t *testing.T, _ string, writes bool, call func(context.Context, *client.DB) error) {
		eachEnding(t, func(t *testing.T, e *ending, f *faulty, addr string) {
			other := snapshotted(t, addr)
			db := open(t, []string{addr})
			sent, release := f.hold(t)
			ctx, end := e.begin(t, db)
			ended := make(chan error, 1)
			go func() { ended <- call(ctx, db) }()
			<-sent
			begin := time.Now()
			if deadline, has := ctx.Deadline(); has {
				begin = deadline
			}
			end()
			err := <-ended
			require.GreaterOrEqual(t, time.Since(begin), grace)
			if !writes {
				e.holds(t, err)
				return
			}
			unknown := e.caught(t, client.KindOutcomeUnknown, err)
			release()
			outcome, err := other.Outcome(within(t, 10*time.Second), unknown.TxID)
			require.NoError(t, err)
			require.Equal(t, client.Committed, outcome)
		})
	}, t)
}

// TestAResponseIsReturnedAfterTheEndOfTheContext, if it comes within CommitGrace.
func TestAResponseIsReturnedAfterTheEndOfTheContext(t *testing.T) {
	withGrace(time.Minute, func(t *testing.T, _ string, writes bool, call func(context.Context, *client.DB) error) {
		eachEnding(t, func(t *testing.T, e *ending, f *faulty, addr string) {
			other := snapshotted(t, addr)
			db := open(t, []string{addr})
			sent, release := f.hold(t)
			ctx, end := e.begin(t, db)
			ended := make(chan error, 1)
			go func() { ended <- call(ctx, db) }()
			<-sent
			var ending sync.WaitGroup
			ending.Go(end) // Close waits for the response
			if e.kind == client.KindClosed {
				require.Eventually(t, func() bool {
					_, err := db.Snapshots(within(t, 10*time.Second))
					return client.KindOf(err) == client.KindClosed
				}, 10*time.Second, time.Millisecond)
			} else {
				ending.Wait()
			}
			release()
			require.NoError(t, <-ended)
			ending.Wait()
			if writes {
				require.Equal(t, int64(1), counter(t, other, "n"))
			}
		})
	}, t)
}

// TestAFailureIsReturnedAfterTheEndOfTheContext as well.
func TestAFailureIsReturnedAfterTheEndOfTheContext(t *testing.T) {
	eachEnding(t, func(t *testing.T, e *ending, f *faulty, addr string) {
		db := open(t, []string{addr})
		ctx, end := e.begin(t, db)
		f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
			go func() {
				if e.kind != client.KindClosed {
					end()
				}
				done(refuse(req, kv.KindConditionFailed))
			}()
		})
		err := db.With(client.CommitGrace(time.Minute)).Execute(ctx, add("n", 1))
		requireKind(t, client.KindConditionFailed, err)
	})
}

// TestTheNodeHasLessTimeThanTheCall, also if the request has waited to be sent.
func TestTheNodeHasLessTimeThanTheCall(t *testing.T) {
	f := newFaulty()
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr}, client.WithMaxInFlight(1))
	first := make(chan func(), 1)
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		first <- func() { f.Store.Submit(req, done) }
	})
	var all sync.WaitGroup
	all.Go(func() {
		err := db.Execute(within(t, 20*time.Second), add("n", 1))
		require.NoError(t, err)
	})
	respond := <-first
	ctx := within(t, 2*time.Second)
	var until atomic.Pointer[time.Time]
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		until.Store(&req.Deadline)
		f.Store.Submit(req, done)
	})
	all.Go(func() {
		err := db.Execute(ctx, add("n", 1))
		require.NoError(t, err)
	})
	time.AfterFunc(200*time.Millisecond, respond)
	all.Wait()
	deadline, _ := ctx.Deadline()
	require.True(t, until.Load().Before(deadline), "%v is not before %v", until.Load(), deadline)
	require.WithinRange(t, *until.Load(), deadline.Add(-200*time.Millisecond), deadline)
}

// TestAnInternalResponseIsResolved: the node may have committed the transaction before it failed.
func TestAnInternalResponseIsResolved(t *testing.T) {
	withGrace(time.Second, func(t *testing.T, name string, writes bool, call func(context.Context, *client.DB) error) {
		for _, applied := range []bool{true, false} {
			f := newFaulty()
			addr := startNode(t, f, "", server.Options{}).addr
			db := snapshotted(t, addr)
			n := 0
			f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
				if n++; n > 1 {
					f.Store.Submit(req, done)
					return
				}
				if applied {
					f.Store.Submit(req, func(gateway.Response) {})
				}
				done(refuse(req, kv.KindInternal))
			})
			f.onCommit(func(tx server.Tx) gateway.Response {
				if n++; n > 1 {
					return tx.Commit(context.Background())
				}
				if applied {
					tx.Commit(context.Background())
				} else {
					tx.Rollback()
				}
				return refuse(gateway.Request{ID: tx.ID()}, kv.KindInternal)
			})
			err := call(within(t, 10*time.Second), db)
			if !writes {
				requireKind(t, client.KindInternal, err)
				require.Equal(t, 1, n)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, applied, n == 1)
			f.onSubmit(f.Store.Submit)
			require.Equal(t, int64(1), counter(t, db, "n"), "%s is applied once", name)
		}
	}, t)
}

// TestReadsAreNeverUnknown, whatever the node responds.
func TestReadsAreNeverUnknown(t *testing.T) {
	withGrace(time.Second, func(t *testing.T, _ string, writes bool, call func(context.Context, *client.DB) error) {
		if writes {
			return
		}
		f := newFaulty()
		db := snapshotted(t, startNode(t, f, "", server.Options{}).addr)
		n := 0
		f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
			if n++; n == 1 {
				done(refuse(req, kv.KindOutcomeUnknown))
				return
			}
			f.Store.Submit(req, done)
		})
		f.onCommit(func(tx server.Tx) gateway.Response {
			if n++; n == 1 {
				tx.Rollback()
				return refuse(gateway.Request{ID: tx.ID()}, kv.KindOutcomeUnknown)
			}
			return tx.Commit(context.Background())
		})
		require.NoError(t, call(within(t, 10*time.Second), db))
		require.Equal(t, 2, n)
		f.onSubmit(func(req gateway.Request, done func(gateway.Response)) { done(refuse(req, kv.KindOutcomeUnknown)) })
		f.onCommit(func(tx server.Tx) gateway.Response {
			tx.Rollback()
			return refuse(gateway.Request{ID: tx.ID()}, kv.KindOutcomeUnknown)
		})
		err := call(within(t, 100*time.Millisecond), db)
		require.Contains(t, []client.Kind{client.KindUnavailable, client.KindDeadlineExceeded}, client.KindOf(err), "%v", err)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}, t)
}

// TestALostConnectionBeforeTheCommitNeedsNoQuery: fn runs again under the same id.
func TestALostConnectionBeforeTheCommitNeedsNoQuery(t *testing.T) {
	f := newFaulty()
	db, w := openWired(t, f)
	runs := 0
	var ids []client.TxID
	require.NoError(t, db.Update(within(t, 10*time.Second), func(ctx context.Context, tx *client.Tx) error {
		runs++
		ids = append(ids, tx.ID())
		_, err := client.NewCounter("n").AddGet(ctx, tx, 1)
		if runs == 1 {
			require.NoError(t, err)
			w.cut()
			released(t, f) // the client may have noticed by then
		}
		return err
	}))
	require.Equal(t, int64(1), counter(t, db, "n"))
	require.Equal(t, len(ids), runs)
}

// TestACommitWhoseConnectionIsLostIsResolved at any node.
func TestACommitWhoseConnectionIsLostIsResolved(t *testing.T) {
	for _, applied := range []bool{true, false} {
		f := newFaulty()
		w := new(wires)
		a, z := startNode(t, f, "", server.Options{}), startNode(t, f, "", server.Options{})
		db := open(t, []string{a.addr, z.addr}, client.WithDialer(w.dial))
		n := 0
		f.onCommit(func(tx server.Tx) gateway.Response {
			if n++; n > 1 {
				return tx.Commit(context.Background())
			}
			r := refuse(gateway.Request{ID: tx.ID()}, kv.KindAborted)
			if applied {
				r = tx.Commit(context.Background())
			} else {
				tx.Rollback()
			}
			w.cut()
			go a.stop()
			return r
		})
		var ids []client.TxID
		require.NoError(t, db.Update(within(t, 10*time.Second), func(ctx context.Context, tx *client.Tx) error {
			ids = append(ids, tx.ID())
			return client.NewCounter("n").Add(ctx, tx, 1)
		}))
		require.Len(t, ids, map[bool]int{true: 1, false: 2}[applied])
		if !applied {
			require.NotEqual(t, ids[0], ids[1], "the outcome of the first id was queried")
		}
		require.Equal(t, int64(1), counter(t, db, "n"))
		require.Equal(t, z.addr, client.Addr(db))
	}
}

func TestCloseDoesNotWaitForFunctions(t *testing.T) {
	db, s := openStore(t)
	err := db.Update(context.Background(), func(ctx context.Context, tx *client.Tx) error {
		_, _, err := tx.Get(ctx, "k")
		require.NoError(t, err)
		require.NoError(t, db.Close())
		return nil
	})
	requireKind(t, client.KindClosed, err)
	require.Eventually(t, func() bool { return s.Open() == 0 }, 10*time.Second, time.Millisecond)
}
