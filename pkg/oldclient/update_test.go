package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/server"
)

func TestUpdateReadsDecidesAndWrites(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	err := db.Update(ctx, func(tx *client.Tx) error {
		v, err := tx.Get(b("a"))
		if err != nil || v.Found {
			return fmt.Errorf("a: %v, %w", v, err)
		}
		key := b("a")
		if err := errors.Join(tx.Put(key, b("1")), tx.PutIfAbsent(b("b"), b("2")), tx.Add(b("n"), 3)); err != nil {
			return err
		}
		key[0] = 'z' // the transaction has its own copy
		v, err = tx.GetForUpdate(b("a"))
		if err != nil || string(v.Value) != "1" {
			return fmt.Errorf("own write: %v, %w", v, err)
		}
		if err := errors.Join(tx.CompareAndSet(b("b"), b("2"), b("3")), tx.CompareVersionAndSet(b("a"), v.Version, b("4")),
			tx.Require(client.RequireExists(b("n")))); err != nil {
			return err
		}
		if n, err := tx.AddGet(b("n"), 4); err != nil || n != 7 {
			return fmt.Errorf("sum: %d, %w", n, err)
		}
		if n, err := tx.DeleteRange(b("b"), b("c")); err != nil || n != 1 {
			return fmt.Errorf("removed: %d, %w", n, err)
		}
		return tx.Delete(b("nothing"))
	})
	require.NoError(t, err)
	require.NoError(t, db.View(ctx, func(ro *client.ReadTx) error {
		rs, err := ro.Do(client.Get(b("a")), client.Get(b("b")), client.Get(b("n")))
		require.NoError(t, err)
		require.Equal(t, "4", string(rs[0].Value))
		require.False(t, rs[1].Found)
		require.Equal(t, int64(7), rs[2].Number)
		return nil
	}))
}

func TestAnErrorOfTheFunctionRollsBackAndComesBackAsItIs(t *testing.T) {
	db, s := openStore(t)
	ctx := within(t, 10*time.Second)
	mine := errors.New("not enough money")
	err := db.Update(ctx, func(tx *client.Tx) error {
		_, err := tx.AddGet(b("n"), 3)
		require.NoError(t, err)
		return mine
	})
	require.True(t, err == mine)
	require.Zero(t, s.Open())
	require.Zero(t, counter(t, db, "n"))
}

func TestAPanicRollsBackAndGoesOn(t *testing.T) {
	db, s := openStore(t)
	ctx := within(t, 10*time.Second)
	require.PanicsWithValue(t, "oh", func() {
		_ = db.Update(ctx, func(tx *client.Tx) error {
			_, err := tx.AddGet(b("n"), 3)
			require.NoError(t, err)
			panic("oh")
		})
	})
	require.Zero(t, counter(t, db, "n")) // waits for the store, which the transaction had
	require.Eventually(t, func() bool { return s.Open() == 0 }, 10*time.Second, time.Millisecond)
}

func TestAnAbortedFunctionRunsAgainUnderTheSameID(t *testing.T) {
	f := newFaulty()
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	ctx := within(t, 10*time.Second)
	var seen []gateway.TxOptions
	f.onBegin(func(o gateway.TxOptions) error {
		seen = append(seen, o)
		if len(seen) < 3 {
			return kv.Errorf(kv.KindAborted, "wounded")
		}
		return nil
	})
	runs, attempts := 0, []int(nil)
	require.NoError(t, db.Update(ctx, func(tx *client.Tx) error {
		runs++
		attempts = append(attempts, tx.Attempt())
		if _, err := tx.AddGet(b("n"), 1); err != nil {
			return fmt.Errorf("wrapped by the function: %w", err)
		}
		return nil
	}))
	require.Equal(t, 3, runs)
	require.Equal(t, []int{1, 2, 3}, attempts)
	require.Len(t, seen, 3)
	require.Equal(t, seen[0].ID, seen[2].ID)
	require.Equal(t, uint32(3), seen[2].Attempt)
	require.Equal(t, int64(1), counter(t, db, "n"))
}

func TestWithoutRetriesTheFunctionRunsOnce(t *testing.T) {
	f := newFaulty()
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr}, client.WithRetries(false))
	f.onBegin(func(gateway.TxOptions) error { return kv.Errorf(kv.KindAborted, "wounded") })
	runs := 0
	err := db.Update(within(t, 10*time.Second), func(tx *client.Tx) error {
		runs++
		_, _ = tx.Get(b("k")) // the failure shows even if the function ignores it
		return nil
	})
	requireKind(t, kv.KindAborted, err)
	require.Equal(t, 1, runs)
}

func TestWhatRunsOnceIsNotRunAgainAndSaysWhy(t *testing.T) {
	f := newFaulty()
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	f.onCommit(func(tx server.Tx) gateway.Response {
		tx.Rollback()
		return gateway.Response{ID: tx.ID(), Attempts: 1, Err: kv.Errorf(kv.KindAborted, "refused by the test")}
	})
	runs := 0
	err := db.With(client.Once()).Update(within(t, 10*time.Second), func(tx *client.Tx) error {
		runs++
		return tx.Put(b("k"), b("v"))
	})
	requireKind(t, kv.KindAborted, err)
	require.Contains(t, err.Error(), "refused by the test")
	require.Equal(t, 1, runs)
}

func TestAConditionInAnUpdateIsToldWithoutAnotherRun(t *testing.T) {
	f := newFaulty()
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	ctx := within(t, 10*time.Second)
	_, err := db.Execute(ctx, client.Put(b("k"), b("v")))
	require.NoError(t, err)
	runs := 0
	err = db.Update(ctx, func(tx *client.Tx) error {
		runs++
		return tx.PutIfAbsent(b("k"), b("w"))
	})
	requireKind(t, kv.KindConditionFailed, err)
	require.Equal(t, 1, runs)
	require.Zero(t, f.Open())
}

func TestALostCommitIsEnquiredAbout(t *testing.T) {
	f := newFaulty()
	db, w := openWired(t, f)
	ctx := within(t, 10*time.Second)
	var once sync.Once
	f.onCommit(func(tx server.Tx) gateway.Response {
		defer once.Do(w.cut)
		return tx.Commit(ctx)
	})
	runs := 0
	require.NoError(t, db.Update(ctx, func(tx *client.Tx) error { runs++; return tx.Add(b("n"), 1) }))
	require.Equal(t, 1, runs)
	require.Equal(t, int64(1), counter(t, db, "n"))
}

func TestACommitThatNeverArrivedRunsAgainUnderANewID(t *testing.T) {
	f := newFaulty()
	db, w := openWired(t, f)
	ctx := within(t, 10*time.Second)
	n := 0
	f.onCommit(func(tx server.Tx) gateway.Response {
		n++
		if n == 1 {
			w.cut()
			tx.Rollback()
			return gateway.Response{Err: kv.Errorf(kv.KindInternal, "nobody reads this")}
		}
		return tx.Commit(ctx)
	})
	var ids []kv.TxnID
	require.NoError(t, db.Update(ctx, func(tx *client.Tx) error { ids = append(ids, tx.ID()); return tx.Add(b("n"), 1) }))
	require.Len(t, ids, 2)
	require.NotEqual(t, ids[0], ids[1])
	require.Equal(t, int64(1), counter(t, db, "n"))
}

func TestAConnectionThatBreaksMidwayRunsAgain(t *testing.T) {
	f := newFaulty()
	db, w := openWired(t, f)
	runs := 0
	require.NoError(t, db.Update(within(t, 10*time.Second), func(tx *client.Tx) error {
		if _, err := tx.AddGet(b("n"), 1); err != nil {
			return err
		}
		runs++
		if runs == 1 {
			w.cut()
		}
		_, err := tx.Get(b("k"))
		return err
	}))
	require.Equal(t, 2, runs)
	require.Equal(t, int64(1), counter(t, db, "n"))
}

func TestTheContextEndsAnUpdate(t *testing.T) {
	db, s := openStore(t)
	ctx, cancel := context.WithCancel(context.Background())
	err := db.Update(ctx, func(tx *client.Tx) error {
		if _, err := tx.AddGet(b("n"), 1); err != nil {
			return err
		}
		cancel()
		_, err := tx.Get(b("k"))
		return err
	})
	requireKind(t, kv.KindCancelled, err)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, counter(t, db, "n"))
	require.Eventually(t, func() bool { return s.Open() == 0 }, 10*time.Second, time.Millisecond)
	require.Error(t, db.Update(ctx, func(tx *client.Tx) error { return tx.Put(b("k"), nil) }))
}

func TestAnUpdateWithoutOperationsSendsNothing(t *testing.T) {
	f := newFaulty()
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	ctx := within(t, 10*time.Second)
	require.NoError(t, db.Update(ctx, func(*client.Tx) error { return nil }))
	mine := errors.New("mine")
	require.ErrorIs(t, db.Update(ctx, func(tx *client.Tx) error { return errors.Join(tx.Put(b("k"), nil), mine) }), mine)
	require.Zero(t, f.began.Load())
}

func TestATransactionIsOverAfterItsFunction(t *testing.T) {
	db, _ := openStore(t)
	var kept *client.Tx
	require.NoError(t, db.Update(within(t, 10*time.Second), func(tx *client.Tx) error { kept = tx; return tx.Put(b("k"), nil) }))
	requireKind(t, kv.KindInvalid, kept.Put(b("k"), nil))
	_, err := kept.Get(b("k"))
	requireKind(t, kv.KindInvalid, err)
}

func TestViewsRefuseWrites(t *testing.T) {
	db, _ := openStore(t)
	err := db.View(within(t, 10*time.Second), func(ro *client.ReadTx) error {
		_, err := ro.Do(client.Put(b("k"), b("v")))
		return err
	})
	requireKind(t, kv.KindInvalid, err)
}

func TestManyBlindWritesGoInSeveralSteps(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 20*time.Second)
	require.NoError(t, db.Update(ctx, func(tx *client.Tx) error {
		for i := range 2500 {
			if err := tx.Put(fmt.Appendf(nil, "k%05d", i), b("v")); err != nil {
				return err
			}
		}
		n := 0
		for p, err := range tx.Scan(b("k"), b("l")) {
			if err != nil {
				return err
			}
			require.Equal(t, fmt.Sprintf("k%05d", n), string(p.Key))
			n++
		}
		require.Equal(t, 2500, n)
		return nil
	}))
	n := 0
	for p, err := range db.Scan(ctx, b("k"), nil, client.ScanOptions{}) {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("k%05d", n), string(p.Key))
		n++
	}
	require.Equal(t, 2500, n)
}

// TestConcurrentUpdatesDoNotLoseEachOther reads and writes one register from
// many goroutines.
func TestConcurrentUpdatesDoNotLoseEachOther(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 20*time.Second)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				err := db.Update(ctx, func(tx *client.Tx) error {
					v, err := tx.GetForUpdate(b("list"))
					if err != nil {
						return err
					}
					return tx.Put(b("list"), append(v.Value, 'x'))
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	out, err := db.Execute(ctx, client.Get(b("list")))
	require.NoError(t, err)
	require.Len(t, out.Results[0].Value, 80)
}
