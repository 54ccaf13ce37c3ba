package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
)

func TestAReturnToASavepointForgetsWritesAndFailures(t *testing.T) {
	db, s := openStore(t)
	ctx := within(t, 10*time.Second)
	err := db.Execute(ctx, client.PutOp("taken", b("v")))
	require.NoError(t, err)
	err = db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		require.NoError(t, tx.Put(ctx, "a", b("1")))
		require.NoError(t, tx.Savepoint(ctx, "s"))
		require.NoError(t, tx.Put(ctx, "a", b("2"))) // still here, and never sent
		require.NoError(t, tx.RollbackTo(ctx, "s"))
		v, _, err := tx.Get(ctx, "a")
		require.NoError(t, err)
		require.Equal(t, "1", string(v))

		require.NoError(t, tx.Put(ctx, "taken", b("w"), client.IfAbsent())) // kept back until the next question
		_, _, err = tx.Get(ctx, "a")
		require.Equal(t, client.KindConditionFailed, client.KindOf(err))
		_, _, err = tx.Get(ctx, "a")
		require.Equal(t, client.KindConditionFailed, client.KindOf(err), "nothing is done before it is taken back")
		require.NoError(t, tx.RollbackTo(ctx, "s"))
		require.NoError(t, client.NewCounter("n").Add(ctx, tx, 4))
		require.NoError(t, tx.Release(ctx, "s"))
		require.Equal(t, client.KindInvalid, client.KindOf(tx.RollbackTo(ctx, "s")))
		return nil
	})
	require.Equal(t, client.KindInvalid, client.KindOf(err), "the last failure was not taken back")
	require.Eventually(t, func() bool { return s.Open() == 0 }, 10*time.Second, time.Millisecond,
		"its stream was broken, so that the server gives it up")
	require.Zero(t, counter(t, db, "n"))
}

func TestNestedPartsFailOnTheirOwn(t *testing.T) {
	db, s := openStore(t)
	ctx := within(t, 10*time.Second)
	mine := errors.New("not this one")
	err := db.Execute(ctx, client.PutOp("taken", b("v")))
	require.NoError(t, err)
	require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		require.NoError(t, tx.Nested(ctx, func(ctx context.Context) error { return client.NewCounter("n").Add(ctx, tx, 1) }))
		require.ErrorIs(t, tx.Nested(ctx, func(ctx context.Context) error {
			require.NoError(t, client.NewCounter("n").Add(ctx, tx, 10))
			return tx.Nested(ctx, func(ctx context.Context) error {
				require.NoError(t, client.NewCounter("n").Add(ctx, tx, 100))
				return mine
			})
		}), mine)
		err := tx.Nested(ctx, func(ctx context.Context) error {
			require.NoError(t, client.NewCounter("n").Add(ctx, tx, 1000))
			return tx.Execute(ctx, client.PutOp("taken", b("w"), client.IfAbsent()))
		})
		require.Equal(t, client.KindConditionFailed, client.KindOf(err))
		return client.NewCounter("n").Add(ctx, tx, 2)
	}))
	require.EqualValues(t, 3, counter(t, db, "n"))
	require.Zero(t, s.Open())
}
