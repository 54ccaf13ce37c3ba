package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/server"
)

func TestUpdateReadsDecidesAndWrites(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 10*time.Second)
	err := db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		v, ok, err := tx.Get(ctx, "a")
		if err != nil || ok {
			return fmt.Errorf("a: %v, %w", v, err)
		}
		value := b("1")
		if err := errors.Join(tx.Put(ctx, "a", value), tx.Put(ctx, "b", b("2"), client.IfAbsent()),
			client.NewCounter("n").Add(ctx, tx, 3)); err != nil {
			return err
		}
		value[0] = 'z' // the transaction has its own copy
		v, _, err = tx.GetForUpdate(ctx, "a")
		if err != nil || string(v) != "1" {
			return fmt.Errorf("own write: %v, %w", v, err)
		}
		e, ok, err := tx.Entry(ctx, "a")
		require.NoError(t, err)
		require.True(t, ok)
		if err := errors.Join(tx.Put(ctx, "b", b("3"), client.IfValue(b("2"))),
			tx.Put(ctx, "a", b("4"), client.IfVersion(e.Version)),
			tx.Require(ctx, "n", client.IfExists())); err != nil {
			return err
		}
		if n, err := client.NewCounter("n").AddGet(ctx, tx, 4); err != nil || n != 7 {
			return fmt.Errorf("sum: %d, %w", n, err)
		}
		if n, err := tx.DeleteRange(ctx, client.Range{Start: "b", End: "c"}); err != nil || n != 1 {
			return fmt.Errorf("removed: %d, %w", n, err)
		}
		return tx.Delete(ctx, "nothing")
	})
	require.NoError(t, err)
	require.NoError(t, db.View(ctx, func(ctx context.Context, ro *client.View) error {
		first, second, n := client.GetOp("a"), client.GetOp("b"), client.NewCounter("n").GetOp()
		require.NoError(t, ro.Execute(ctx, first, second, n))
		require.Equal(t, "4", string(first.Value()))
		require.False(t, second.Found())
		require.Equal(t, int64(7), n.Value())
		return nil
	}))
}

func TestAnErrorOfTheFunctionRollsBackAndComesBackAsItIs(t *testing.T) {
	db, s := openStore(t)
	ctx := within(t, 10*time.Second)
	mine := errors.New("not enough money")
	err := db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		_, err := client.NewCounter("n").AddGet(ctx, tx, 3)
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
		_ = db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			_, err := client.NewCounter("n").AddGet(ctx, tx, 3)
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
	require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		runs++
		attempts = append(attempts, tx.Attempt())
		if _, err := client.NewCounter("n").AddGet(ctx, tx, 1); err != nil {
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
	db := hasty(open(t, []string{startNode(t, f, "", server.Options{}).addr}))
	f.onBegin(func(gateway.TxOptions) error { return kv.Errorf(kv.KindAborted, "wounded") })
	runs := 0
	err := db.Update(within(t, 10*time.Second), func(ctx context.Context, tx *client.Tx) error {
		runs++
		_, _, _ = tx.Get(ctx, "k") // the failure shows even if the function ignores it
		return nil
	})
	requireKind(t, client.KindAborted, err)
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
	err := db.With(client.NoRetry()).Update(within(t, 10*time.Second), func(ctx context.Context, tx *client.Tx) error {
		runs++
		return tx.Put(ctx, "k", b("v"))
	})
	requireKind(t, client.KindAborted, err)
	require.Contains(t, err.Error(), "refused by the test")
	require.Equal(t, 1, runs)
}

func TestFailedConditionOfUpdateIsNotRetried(t *testing.T) {
	f := newFaulty()
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	ctx := within(t, 10*time.Second)
	err := db.Execute(ctx, client.PutOp("k", b("v")))
	require.NoError(t, err)
	runs := 0
	err = db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		runs++
		return tx.Put(ctx, "k", b("w"), client.IfAbsent())
	})
	requireKind(t, client.KindConditionFailed, err)
	require.Equal(t, 1, runs)
	require.Zero(t, f.Open())
}

func TestAnUpdateWithoutOperationsSendsNothing(t *testing.T) {
	f := newFaulty()
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	ctx := within(t, 10*time.Second)
	require.NoError(t, db.Update(ctx, func(context.Context, *client.Tx) error { return nil }))
	mine := errors.New("mine")
	require.ErrorIs(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		return errors.Join(tx.Put(ctx, "k",
			nil), mine)
	}), mine)
	require.Zero(t, f.began.Load())
}

func TestATransactionIsOverAfterItsFunction(t *testing.T) {
	db, _ := openStore(t)
	var kept *client.Tx
	require.NoError(t, db.Update(within(t, 10*time.Second),
		func(ctx context.Context, tx *client.Tx) error { kept = tx; return tx.Put(ctx, "k", nil) }))
	requireKind(t, client.KindInvalid, kept.Put(t.Context(), "k", nil))
	_, _, err := kept.Get(t.Context(), "k")
	requireKind(t, client.KindInvalid, err)
}

func TestManyBlindWritesGoInSeveralSteps(t *testing.T) {
	db, _ := openStore(t)
	ctx := within(t, 20*time.Second)
	require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		for i := range 2500 {
			if err := tx.Put(ctx, fmt.Sprintf("k%05d", i), b("v")); err != nil {
				return err
			}
		}
		n := 0
		for p, err := range tx.Scan(ctx, client.Range{Start: "k", End: "l"}) {
			if err != nil {
				return err
			}
			require.Equal(t, fmt.Sprintf("k%05d", n), p.Key)
			n++
		}
		require.Equal(t, 2500, n)
		return nil
	}))
	n := 0
	for p, err := range db.Scan(ctx, client.Prefix("k")) {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("k%05d", n), p.Key)
		n++
	}
	require.Equal(t, 2500, n)
}
