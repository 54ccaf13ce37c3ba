package security

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/users"
)

var errEnough = errors.New("enough")

// holds opens an update that does something, and keeps it open until it is told to end it.
func holds(t *testing.T, db *client.DB, do func(tx *client.Tx) error) (end func() error) {
	t.Helper()
	held, let, ended := make(chan error, 1), make(chan bool), make(chan error, 1)
	go func() {
		ended <- db.With(client.Once()).Update(soon(t), func(tx *client.Tx) error {
			held <- do(tx)
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
	c.made("alice", pb.Rights{Grants: append(reads("x/"), writes("alice/")...)})
	alice := c.as(1, "alice")
	put := func(key string) time.Duration {
		begin := time.Now()
		_, err := root.Execute(soon(t), client.Put([]byte(key), []byte("v")))
		require.NoError(t, err)
		return time.Since(begin)
	}
	put("x/a")
	_, err := root.Execute(soon(t), client.Call([]byte("x/set"), "set", "add", "m"))
	require.NoError(t, err)
	for name, do := range map[string]func(tx *client.Tx) error{
		"a key":     func(tx *client.Tx) error { _, err := tx.Get([]byte("x/a")); return err },
		"an absent": func(tx *client.Tx) error { _, err := tx.Get([]byte("x/new")); return err },
		"a range": func(tx *client.Tx) error {
			_, err := tx.Do(client.ScanRange([]byte("x/"), []byte("x0"), 100))
			return err
		},
		"a condition": func(tx *client.Tx) error { _, err := tx.Do(client.RequireExists([]byte("x/a"))); return err },
		"a question":  func(tx *client.Tx) error { _, err := tx.Do(client.Call([]byte("x/set"), "set", "len")); return err },
	} {
		t.Run(name, func(t *testing.T) {
			end := holds(t, alice, do)
			require.Less(t, put("x/a")+put("x/new"), 900*time.Millisecond)
			_, err := root.Execute(soon(t), client.Call([]byte("x/set"), "set", "add", name), client.Delete([]byte("x/new")))
			require.NoError(t, err)
			_ = end()
		})
	}
	t.Run("what has changed is noticed", func(t *testing.T) {
		runs := 0
		err := alice.Update(soon(t), func(tx *client.Tx) error {
			runs++
			rs, err := tx.Do(client.ScanRange([]byte("x/"), []byte("x0"), 100), client.Call([]byte("x/set"), "set", "len"))
			if err != nil {
				return err
			}
			if runs == 1 {
				put("x/b")
			}
			require.Len(t, rs[0].Pairs, 1+runs)
			return tx.Put([]byte("alice/n"), []byte("v"))
		})
		require.NoError(t, err)
		require.Equal(t, 2, runs)
	})
}

// TestALockThatOthersWaitForEndsWithIdleness: a user who may write holds a key, and pings.
func TestALockThatOthersWaitForEndsWithIdleness(t *testing.T) {
	c := start(t, 1, nil)
	root := c.as(0, users.Root)
	c.made("alice", pb.Rights{Grants: writes("x/")})
	ctx, stop := context.WithCancel(soon(t))
	held, ended := make(chan bool), make(chan error, 1)
	go func() {
		ended <- c.as(0, "alice").With(client.Once()).Update(ctx, func(tx *client.Tx) error {
			for i := 0; ; i++ {
				_, err := tx.GetForUpdate([]byte("x/a"))
				if err != nil {
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
	_, err := root.Execute(soon(t), client.Put([]byte("x/a"), []byte("v")))
	require.NoError(t, err)
	require.Less(t, time.Since(begin), 5*time.Second)
	require.ErrorContains(t, <-ended, "another one waited for its lock")
	stop()
}

// TestAnAdministratorEndsATransaction, through any node, and nobody else does.
func TestAnAdministratorEndsATransaction(t *testing.T) {
	c := start(t, 2, nil)
	root := c.as(0, users.Root)
	c.made("alice", pb.Rights{Grants: writes("x/")})
	alice := c.as(1, "alice")
	ids, ended := make(chan kv.TxnID, 1), make(chan error, 1)
	go func() {
		ended <- alice.With(client.Once()).Update(soon(t), func(tx *client.Tx) error {
			_, err := tx.GetForUpdate([]byte("x/a"))
			if err != nil {
				return err
			}
			ids <- tx.ID()
			for i := 0; err == nil; i++ { // never idle
				time.Sleep(20 * time.Millisecond)
				_, err = tx.Get(fmt.Appendf(nil, "x/%d", i))
			}
			return err
		})
	}()
	id, put := <-ids, make(chan error, 1)
	go func() {
		_, err := root.Execute(soon(t), client.Put([]byte("x/a"), []byte("v")))
		put <- err
	}()
	eventually(t, func() error {
		for node := range uint32(2) {
			a, err := root.Activity(soon(t), &pb.ActivityRequest{NodeId: node + 1, MaxWaits: 9})
			if err != nil {
				return err
			}
			for _, w := range a.Waits {
				if w.Wait.Holder == id && w.HolderUser == "alice" {
					return nil
				}
			}
		}
		return errEnough
	})
	_, err := alice.CancelTransaction(soon(t), id)
	denied(t, err, "needs the role admin")
	r, err := root.CancelTransaction(soon(t), id)
	require.NoError(t, err)
	require.Equal(t, []uint32{2}, r.NodeIds)
	require.NoError(t, <-put)
	require.ErrorContains(t, <-ended, "an administrator ended")
	r, err = root.CancelTransaction(soon(t), id)
	require.NoError(t, err)
	require.Empty(t, r.NodeIds)
}
