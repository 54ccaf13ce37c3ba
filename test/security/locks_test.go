package security

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/users"
)

var errEnough = errors.New("enough")

// holds opens an update that does something, and keeps it open until it is told to end it.
func holds(t *testing.T, db *client.DB, do func(ctx context.Context, tx *client.Tx) error) (end func() error) {
	t.Helper()
	held, let, ended := make(chan error, 1), make(chan bool), make(chan error, 1)
	go func() {
		ended <- db.With(client.NoRetry()).Update(soon(t), func(ctx context.Context, tx *client.Tx) error {
			held <- do(ctx, tx)
			<-let
			return errEnough
		})
	}()
	require.NoError(t, <-held)
	return func() error {
		close(let)
		return <-ended
	}
}

// TestAUserWhoMayOnlyReadHoldsNobodyUp: whatever it reads in a transaction of which it does not say that it
// only reads, it is validated, and takes no lock.
func TestAUserWhoMayOnlyReadHoldsNobodyUp(t *testing.T) {
	c := start(t, 2, nil)
	root := c.as(0, users.Root)
	c.made("alice", admin.Rights{Grants: append(reads("x/"), writes("alice/")...)})
	alice := c.as(1, "alice")
	put := func(key string) time.Duration {
		begin := time.Now()
		require.NoError(t, root.Put(soon(t), key, b("v")))
		return time.Since(begin)
	}
	put("x/a")
	set := client.NewSet("x/set", client.String)
	require.NoError(t, set.Add(soon(t), root, "m"))
	for name, do := range map[string]func(ctx context.Context, tx *client.Tx) error{
		"a key":     func(ctx context.Context, tx *client.Tx) error { _, _, err := tx.Get(ctx, "x/a"); return err },
		"an absent": func(ctx context.Context, tx *client.Tx) error { _, _, err := tx.Get(ctx, "x/new"); return err },
		"a range": func(ctx context.Context, tx *client.Tx) error {
			return tx.Execute(ctx, client.ScanOp(client.Prefix("x/"), 100))
		},
		"a condition": func(ctx context.Context, tx *client.Tx) error {
			return tx.Execute(ctx, client.RequireOp("x/a", client.IfExists()))
		},
		"a question": func(ctx context.Context, tx *client.Tx) error { _, err := set.Len(ctx, tx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			end := holds(t, alice, do)
			require.Less(t, put("x/a")+put("x/new"), 900*time.Millisecond)
			require.NoError(t, root.Execute(soon(t), set.AddOp(name), client.DeleteOp("x/new")))
			_ = end()
		})
	}
	t.Run("what has changed is noticed", func(t *testing.T) {
		runs := 0
		err := alice.Update(soon(t), func(ctx context.Context, tx *client.Tx) error {
			runs++
			scan := client.ScanOp(client.Prefix("x/"), 100)
			if err := tx.Execute(ctx, scan, set.LenOp()); err != nil {
				return err
			}
			if runs == 1 {
				put("x/b")
			}
			require.Len(t, scan.Value().Entries, 1+runs)
			return tx.Put(ctx, "alice/n", b("v"))
		})
		require.NoError(t, err)
		require.Equal(t, 2, runs)
	})
}

// TestALockThatOthersWaitForEndsWithIdleness: a user who may write holds a key, and pings.
func TestALockThatOthersWaitForEndsWithIdleness(t *testing.T) {
	c := start(t, 1, nil)
	root := c.as(0, users.Root)
	c.made("alice", admin.Rights{Grants: writes("x/")})
	ctx, stop := context.WithCancel(soon(t))
	held, ended := make(chan bool), make(chan error, 1)
	go func() {
		ended <- c.as(0, "alice").With(client.NoRetry()).Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			for i := 0; ; i++ {
				if _, _, err := tx.GetForUpdate(ctx, "x/a"); err != nil {
					return err
				}
				if i == 0 {
					close(held)
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}()
	<-held
	begin := time.Now()
	require.NoError(t, root.Put(soon(t), "x/a", b("v")))
	require.Less(t, time.Since(begin), 5*time.Second)
	require.ErrorContains(t, <-ended, "another one waited for its lock")
	stop()
}

// TestAnAdministratorEndsATransaction, through any node, and nobody else does.
func TestAnAdministratorEndsATransaction(t *testing.T) {
	c := start(t, 2, nil)
	root := c.as(0, users.Root)
	c.made("alice", admin.Rights{Grants: writes("x/")})
	alice := c.as(1, "alice")
	ids, ended := make(chan client.TxID, 1), make(chan error, 1)
	go func() {
		ended <- alice.With(client.NoRetry()).Update(soon(t), func(ctx context.Context, tx *client.Tx) error {
			_, _, err := tx.GetForUpdate(ctx, "x/a")
			if err != nil {
				return err
			}
			ids <- tx.ID()
			for i := 0; err == nil; i++ { // never idle
				time.Sleep(20 * time.Millisecond)
				_, _, err = tx.Get(ctx, fmt.Sprint("x/", i))
			}
			return err
		})
	}()
	id, put := <-ids, make(chan error, 1)
	go func() { put <- root.Put(soon(t), "x/a", b("v")) }()
	boss := admin.New(root)
	eventually(t, func() error {
		for node := range 2 {
			a, err := boss.Activity(soon(t), admin.ActivityOptions{Node: node + 1, MaxWaits: 9})
			if err != nil {
				return err
			}
			for _, w := range a.Waits {
				if w.Conflict.Holder == id && w.HolderUser == "alice" {
					return nil
				}
			}
		}
		return errEnough
	})
	_, err := admin.New(alice).CancelTransaction(soon(t), id)
	denied(t, err, "needs the role admin")
	r, err := boss.CancelTransaction(soon(t), id)
	require.NoError(t, err)
	require.Equal(t, []int{2}, r.Nodes)
	require.NoError(t, <-put)
	require.ErrorContains(t, <-ended, "an administrator ended")
	r, err = boss.CancelTransaction(soon(t), id)
	require.NoError(t, err)
	require.Empty(t, r.Nodes)
}
