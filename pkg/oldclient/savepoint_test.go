package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

func TestAReturnToASavepointForgetsWritesAndFailures(t *testing.T) {
	db, s := openStore(t)
	ctx := within(t, 10*time.Second)
	_, err := db.Execute(ctx, client.Put(b("taken"), b("v")))
	require.NoError(t, err)
	err = db.Update(ctx, func(tx *client.Tx) error {
		require.NoError(t, tx.Put(b("a"), b("1")))
		require.NoError(t, tx.Savepoint("s"))
		require.NoError(t, tx.Put(b("a"), b("2"))) // still here, and never sent
		require.NoError(t, tx.RollbackTo("s"))
		v, err := tx.Get(b("a"))
		require.NoError(t, err)
		require.Equal(t, "1", string(v.Value))

		require.NoError(t, tx.PutIfAbsent(b("taken"), b("w"))) // kept back until the next question
		_, err = tx.Get(b("a"))
		require.Equal(t, kv.KindConditionFailed, kv.KindOf(err))
		_, err = tx.Get(b("a"))
		require.Equal(t, kv.KindConditionFailed, kv.KindOf(err), "nothing is done before it is taken back")
		require.NoError(t, tx.RollbackTo("s"))
		require.NoError(t, tx.Add(b("n"), 4))
		require.NoError(t, tx.Release("s"))
		require.Equal(t, kv.KindInvalid, kv.KindOf(tx.RollbackTo("s")))
		return nil
	})
	require.Equal(t, kv.KindInvalid, kv.KindOf(err), "the last failure was not taken back")
	require.Eventually(t, func() bool { return s.Open() == 0 }, 10*time.Second, time.Millisecond, "its stream was broken, so that the server gives it up")
	require.Zero(t, counter(t, db, "n"))
}

func TestNestedPartsFailOnTheirOwn(t *testing.T) {
	db, s := openStore(t)
	ctx := within(t, 10*time.Second)
	mine := errors.New("not this one")
	_, err := db.Execute(ctx, client.Put(b("taken"), b("v")))
	require.NoError(t, err)
	require.NoError(t, db.Update(ctx, func(tx *client.Tx) error {
		require.NoError(t, tx.Nested(func() error { return tx.Add(b("n"), 1) }))
		require.ErrorIs(t, tx.Nested(func() error {
			require.NoError(t, tx.Add(b("n"), 10))
			return tx.Nested(func() error {
				require.NoError(t, tx.Add(b("n"), 100))
				return mine
			})
		}), mine)
		err := tx.Nested(func() error {
			require.NoError(t, tx.Add(b("n"), 1000))
			_, err := tx.Do(client.PutIfAbsent(b("taken"), b("w")))
			return err
		})
		require.Equal(t, kv.KindConditionFailed, kv.KindOf(err))
		return tx.Add(b("n"), 2)
	}))
	require.EqualValues(t, 3, counter(t, db, "n"))
	require.Zero(t, s.Open())
}
