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
	"github.com/linchpindb/linchpin/test/integration/proc"
)

var errEnd = errors.New("enough")

// TestReadOnlyUserBlocksNoWriter: the reads of a user without write permission in an update take no locks.
// They are validated instead.
func TestReadOnlyUserBlocksNoWriter(t *testing.T) {
	c := start(t, 2, nil)
	root := c.openAs(0, users.Root)
	c.createUser("alice", admin.Rights{Grants: append(reads("x/"), writes("alice/")...)})
	alice := c.openAs(1, "alice")
	put := func(key string) time.Duration {
		begin := time.Now()
		require.NoError(t, root.Put(proc.Context(t), key, b("v")))
		return time.Since(begin)
	}
	put("x/a")
	set := client.NewSet("x/set", client.String)
	require.NoError(t, set.Add(proc.Context(t), root, "m"))
	for name, do := range map[string]func(ctx context.Context, tx *client.Tx) error{
		"a key":     func(ctx context.Context, tx *client.Tx) error { _, _, err := tx.Get(ctx, "x/a"); return err },
		"an absent": func(ctx context.Context, tx *client.Tx) error { _, _, err := tx.Get(ctx, "x/new"); return err },
		"a range": func(ctx context.Context, tx *client.Tx) error {
			return tx.Execute(ctx, client.ScanOp(client.Prefix("x/"), 100))
		},
		"a condition": func(ctx context.Context, tx *client.Tx) error {
			return tx.Execute(ctx, client.RequireOp("x/a", client.IfExists()))
		},
		"a query": func(ctx context.Context, tx *client.Tx) error { _, err := set.Len(ctx, tx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			_, end := proc.Hold(t, alice.With(client.NoRetry()), do)
			require.Less(t, put("x/a")+put("x/new"), 900*time.Millisecond)
			require.NoError(t, root.Execute(proc.Context(t), set.AddOp(name), client.DeleteOp("x/new")))
			_ = end()
		})
	}
	t.Run("changes are detected", func(t *testing.T) {
		runs := 0
		err := alice.Update(proc.Context(t), func(ctx context.Context, tx *client.Tx) error {
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

// TestIdleHolderLosesContendedLock: an open transaction keeps a contended lock by repeating the same
// request. That is not activity, so it is aborted and the waiter acquires the lock.
func TestIdleHolderLosesContendedLock(t *testing.T) {
	c := start(t, 1, nil)
	root := c.openAs(0, users.Root)
	c.createUser("alice", admin.Rights{Grants: writes("x/")})
	ctx, stop := context.WithCancel(proc.Context(t))
	held, ended := make(chan bool), make(chan error, 1)
	go func() {
		ended <- c.openAs(0, "alice").With(client.NoRetry()).Update(ctx, func(ctx context.Context, tx *client.Tx) error {
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
	require.NoError(t, root.Put(proc.Context(t), "x/a", b("v")))
	require.Less(t, time.Since(begin), 5*time.Second)
	require.ErrorContains(t, <-ended, "another one waited for its lock")
	stop()
}

// TestOnlyAdministratorsCancelTransactions: an administrator can cancel a transaction through any node.
func TestOnlyAdministratorsCancelTransactions(t *testing.T) {
	c := start(t, 2, nil)
	root := c.openAs(0, users.Root)
	c.createUser("alice", admin.Rights{Grants: writes("x/")})
	alice := c.openAs(1, "alice")
	ids, ended := make(chan client.TxID, 1), make(chan error, 1)
	go func() {
		ended <- alice.With(client.NoRetry()).Update(proc.Context(t), func(ctx context.Context, tx *client.Tx) error {
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
	go func() { put <- root.Put(proc.Context(t), "x/a", b("v")) }()
	adminClient := admin.New(root)
	retryUntilOK(t, func() error {
		for node := range 2 {
			a, err := adminClient.Activity(proc.Context(t), admin.ActivityOptions{Node: node + 1, MaxWaits: 9})
			if err != nil {
				return err
			}
			for _, w := range a.Waits {
				if w.Conflict.Holder == id && w.HolderUser == "alice" {
					return nil
				}
			}
		}
		return errEnd
	})
	_, err := admin.New(alice).CancelTransaction(proc.Context(t), id)
	requireDenied(t, err, "needs the role admin")
	r, err := adminClient.CancelTransaction(proc.Context(t), id)
	require.NoError(t, err)
	require.Equal(t, []int{2}, r.Nodes)
	require.NoError(t, <-put)
	require.ErrorContains(t, <-ended, "an administrator ended")
	r, err = adminClient.CancelTransaction(proc.Context(t), id)
	require.NoError(t, err)
	require.Empty(t, r.Nodes)
}
