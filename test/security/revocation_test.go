package security

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/users"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// revocationBound is the time within which a revocation is effective on all nodes, including slack for busy
// machines.
const revocationBound = 5 * time.Second

// TestRevocationReachesOpenStreams of all nodes within the bound, also in the middle of a transaction.
func TestRevocationReachesOpenStreams(t *testing.T) {
	c := start(t, 2, nil)
	root := c.openAs(0, users.Root)
	adminClient := admin.New(root)
	token := c.createUser("alice", admin.Rights{Grants: writes("orders/")})
	for node := range 2 {
		alice := c.openWithToken(node, token)
		const key = "orders/1"
		require.NoError(t, alice.Put(proc.Context(t), key, b("x")))
		attempts := 0
		_, commit := proc.Hold(t, alice, func(ctx context.Context, tx *client.Tx) error {
			attempts++
			return tx.Execute(ctx, client.PutOp("orders/open", b("x")))
		})
		_, err := adminClient.RevokeUser(proc.Context(t), "alice", admin.Rights{Grants: writes("orders/")})
		require.NoError(t, err)
		since := time.Now()
		retryUntilOK(t, func() error {
			err := alice.Put(proc.Context(t), key, b("y"))
			if kv.KindOf(err) == kv.KindPermissionDenied {
				return nil
			}
			return kv.Errorf(kv.KindInternal, "the write is still allowed: %v", err)
		})
		require.Less(t, time.Since(since), revocationBound)
		requireDenied(t, commit(), `may not write the key`) // of the attempt after the one whose commit was denied
		require.Equal(t, 2, attempts)
		_, found, err := root.Get(proc.Context(t), "orders/open")
		require.NoError(t, err)
		require.False(t, found, "the open transaction was not committed")
		_, _, err = alice.Get(proc.Context(t), key)
		require.NoError(t, err, "reads are still allowed")
		_, err = adminClient.GrantUser(proc.Context(t), "alice", admin.Rights{Grants: writes("orders/")})
		require.NoError(t, err)
		retryUntilOK(t, func() error { return alice.Put(proc.Context(t), key, b("z")) })
	}
}

// TestRevocationEndsScans between two pages.
func TestRevocationEndsScans(t *testing.T) {
	c := start(t, 1, nil)
	root := c.openAs(0, users.Root)
	large := make([]byte, 512<<10)
	const keys = 200 // far more than all buffers
	for i := range keys {
		require.NoError(t, root.Put(proc.Context(t), string([]byte{'k', byte(i)}), large))
	}
	alice := c.openWithToken(0, c.createUser("alice", admin.Rights{Grants: reads("k")}))
	n, last := 0, error(nil)
	for _, err := range alice.Scan(proc.Context(t), client.Prefix("k"), client.PageSize(1)) {
		if err != nil {
			last = err
			break
		}
		n++
		if n == 1 {
			_, err := admin.New(root).DropUser(proc.Context(t), "alice")
			require.NoError(t, err)
		}
	}
	require.Equal(t, kv.KindUnauthenticated, kv.KindOf(last), "%v", last)
	require.Less(t, n, keys)
}

// TestRotatedTokensExpire: after a rotation the old token becomes invalid at once or later, also on open
// streams.
func TestRotatedTokensExpire(t *testing.T) {
	c := start(t, 1, nil)
	root := c.admin(0, users.Root)
	first := c.createUser("alice", admin.Rights{Grants: writes("")})
	old := c.openWithToken(0, first)
	_, second, err := root.RotateToken(proc.Context(t), "alice", admin.TokenOptions{KeepOld: time.Hour})
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	for _, db := range []*client.DB{old, c.openWithToken(0, first), c.openWithToken(0, second)} {
		require.NoError(t, db.Put(proc.Context(t), "k", nil))
	}
	_, third, err := root.RotateToken(proc.Context(t), "alice", admin.TokenOptions{})
	require.NoError(t, err)
	err = old.Put(proc.Context(t), "k", nil)
	require.Equal(t, kv.KindUnauthenticated, kv.KindOf(err), "%v", err)
	for token, ok := range map[string]bool{first: false, second: false, third: true} {
		db, err := client.Open(proc.Context(t), []string{c.nodes[0].Addr()}, client.WithTLSFunc(c.config("")),
			withToken(token))
		require.Equal(t, ok, err == nil, "%v", err)
		if err == nil {
			require.NoError(t, db.Close())
		} else {
			require.Equal(t, kv.KindUnauthenticated, kv.KindOf(err), "%v", err)
		}
	}
	_, fourth, err := root.RotateToken(proc.Context(t), "alice", admin.TokenOptions{TTL: time.Second})
	require.NoError(t, err)
	short := c.openWithToken(0, fourth)
	retryUntilOK(t, func() error { // it expires
		_, _, err := short.Get(proc.Context(t), "k")
		if kv.KindOf(err) == kv.KindUnauthenticated {
			return nil
		}
		return kv.Errorf(kv.KindInternal, "still %v", err)
	})
}

// TestUserManagementNeedsAdmin: administrators manage users, and other users cannot.
func TestUserManagementNeedsAdmin(t *testing.T) {
	c := start(t, 1, nil)
	root := c.admin(0, users.Root)
	adminClient := admin.New(c.openWithToken(0, c.createUser("boss", admin.Rights{Admin: true})))
	_, _, err := adminClient.CreateUser(proc.Context(t), "alice", admin.Rights{}, admin.TokenOptions{None: true})
	require.NoError(t, err)
	_, _, err = adminClient.CreateUser(proc.Context(t), "alice", admin.Rights{}, admin.TokenOptions{})
	require.Equal(t, kv.KindConditionFailed, kv.KindOf(err), "%v", err)
	for _, name := range []string{"root", "node", "a b"} {
		_, _, err = adminClient.CreateUser(proc.Context(t), name, admin.Rights{}, admin.TokenOptions{})
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
	}
	for _, call := range []func() error{
		func() error {
			_, err := adminClient.GrantUser(proc.Context(t), "eve", admin.Rights{Admin: true})
			return err
		},
		func() error {
			_, err := adminClient.RevokeUser(proc.Context(t), "eve", admin.Rights{Admin: true})
			return err
		},
		func() error { _, err := adminClient.DropUser(proc.Context(t), "eve"); return err },
		func() error {
			_, _, err := adminClient.RotateToken(proc.Context(t), "eve", admin.TokenOptions{})
			return err
		},
	} {
		require.Equal(t, kv.KindNotFound, kv.KindOf(call()))
	}
	_, err = root.RevokeUser(proc.Context(t), "boss", admin.Rights{Admin: true})
	require.NoError(t, err)
	_, err = adminClient.DropUser(proc.Context(t), "alice")
	requireDenied(t, err, "needs the role admin")
	_, _, err = adminClient.CreateUser(proc.Context(t), "x", admin.Rights{}, admin.TokenOptions{TTL: math.MaxInt64})
	requireDenied(t, err, "needs the role admin")
	all, err := root.Users(proc.Context(t))
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []string{"alice", "boss"}, []string{all[0].Name, all[1].Name})
	require.Empty(t, all[0].Tokens)
	require.Len(t, all[1].Tokens, 1)
}
