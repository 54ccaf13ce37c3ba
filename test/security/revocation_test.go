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
)

// promised is within what time a revocation is in force everywhere, with room for
// machines that are busy.
const promised = 5 * time.Second

// TestRevocationReachesOpenStreams of all nodes, whatever the user is in the middle
// of, within the time that is promised.
func TestRevocationReachesOpenStreams(t *testing.T) {
	c := start(t, 2, nil)
	root := c.as(0, users.Root)
	boss := admin.New(root)
	token := c.made("alice", admin.Rights{Grants: writes("orders/")})
	for node := range 2 {
		alice := c.bearing(node, token)
		const key = "orders/1"
		require.NoError(t, alice.Put(soon(t), key, b("x")))
		held, revoked, ended := make(chan client.TxID, 1), make(chan struct{}), make(chan error, 1)
		attempts := 0
		go func() {
			ended <- alice.Update(soon(t), func(ctx context.Context, tx *client.Tx) error {
				attempts++
				if err := tx.Execute(ctx, client.PutOp("orders/open", b("x"))); err != nil {
					return err
				}
				return stays(ctx, tx, held, revoked)
			})
		}()
		begun(t, held, ended)
		_, err := boss.RevokeUser(soon(t), "alice", admin.Rights{Grants: writes("orders/")})
		require.NoError(t, err)
		since := time.Now()
		eventually(t, func() error {
			err := alice.Put(soon(t), key, b("y"))
			if kv.KindOf(err) == kv.KindPermissionDenied {
				return nil
			}
			return kv.Errorf(kv.KindInternal, "it goes on to write: %v", err)
		})
		require.Less(t, time.Since(since), promised)
		close(revoked)
		denied(t, <-ended, `may not write the key`) // of the attempt after the one that was refused to commit
		require.Equal(t, 2, attempts)
		_, found, err := root.Get(soon(t), "orders/open")
		require.NoError(t, err)
		require.False(t, found, "what was open was not committed")
		_, _, err = alice.Get(soon(t), key)
		require.NoError(t, err, "to read is still allowed")
		_, err = boss.GrantUser(soon(t), "alice", admin.Rights{Grants: writes("orders/")})
		require.NoError(t, err)
		eventually(t, func() error { return alice.Put(soon(t), key, b("z")) })
	}
}

// TestScansEndWhenTheyAreForbidden between two pages.
func TestScansEndWhenTheyAreForbidden(t *testing.T) {
	c := start(t, 1, nil)
	root := c.as(0, users.Root)
	large := make([]byte, 512<<10)
	const keys = 200 // far more than all buffers on the way have room for
	for i := range keys {
		require.NoError(t, root.Put(soon(t), string([]byte{'k', byte(i)}), large))
	}
	alice := c.bearing(0, c.made("alice", admin.Rights{Grants: reads("k")}))
	n, last := 0, error(nil)
	for _, err := range alice.Scan(soon(t), client.Prefix("k"), client.PageSize(1)) {
		if err != nil {
			last = err
			break
		}
		n++
		if n == 1 {
			_, err := admin.New(root).DropUser(soon(t), "alice")
			require.NoError(t, err)
		}
	}
	require.Equal(t, kv.KindUnauthenticated, kv.KindOf(last), "%v", last)
	require.Less(t, n, keys)
}

// TestTokensAreRotated: the old one ends, at once or later, on open streams as well.
func TestTokensAreRotated(t *testing.T) {
	c := start(t, 1, nil)
	root := c.admin(0, users.Root)
	first := c.made("alice", admin.Rights{Grants: writes("")})
	old := c.bearing(0, first)
	_, second, err := root.RotateToken(soon(t), "alice", admin.TokenOptions{KeepOld: time.Hour})
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	for _, db := range []*client.DB{old, c.bearing(0, first), c.bearing(0, second)} {
		require.NoError(t, db.Put(soon(t), "k", nil))
	}
	_, third, err := root.RotateToken(soon(t), "alice", admin.TokenOptions{})
	require.NoError(t, err)
	err = old.Put(soon(t), "k", nil)
	require.Equal(t, kv.KindUnauthenticated, kv.KindOf(err), "%v", err)
	for token, ok := range map[string]bool{first: false, second: false, third: true} {
		db, err := client.Open(soon(t), []string{c.nodes[0].Addr()}, client.WithTLSFunc(c.config("")), withToken(token))
		require.Equal(t, ok, err == nil, "%v", err)
		if err == nil {
			require.NoError(t, db.Close())
		} else {
			require.Equal(t, kv.KindUnauthenticated, kv.KindOf(err), "%v", err)
		}
	}
	_, fourth, err := root.RotateToken(soon(t), "alice", admin.TokenOptions{TTL: time.Second})
	require.NoError(t, err)
	short := c.bearing(0, fourth)
	eventually(t, func() error { // it ends by itself
		_, _, err := short.Get(soon(t), "k")
		if kv.KindOf(err) == kv.KindUnauthenticated {
			return nil
		}
		return kv.Errorf(kv.KindInternal, "still %v", err)
	})
}

// TestUsersAreManaged by who may, and by nobody else.
func TestUsersAreManaged(t *testing.T) {
	c := start(t, 1, nil)
	root := c.admin(0, users.Root)
	boss := admin.New(c.bearing(0, c.made("boss", admin.Rights{Admin: true})))
	_, _, err := boss.CreateUser(soon(t), "alice", admin.Rights{}, admin.TokenOptions{None: true})
	require.NoError(t, err)
	_, _, err = boss.CreateUser(soon(t), "alice", admin.Rights{}, admin.TokenOptions{})
	require.Equal(t, kv.KindConditionFailed, kv.KindOf(err), "%v", err)
	for _, name := range []string{"root", "node", "a b"} {
		_, _, err = boss.CreateUser(soon(t), name, admin.Rights{}, admin.TokenOptions{})
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
	}
	for _, call := range []func() error{
		func() error { _, err := boss.GrantUser(soon(t), "eve", admin.Rights{Admin: true}); return err },
		func() error { _, err := boss.RevokeUser(soon(t), "eve", admin.Rights{Admin: true}); return err },
		func() error { _, err := boss.DropUser(soon(t), "eve"); return err },
		func() error { _, _, err := boss.RotateToken(soon(t), "eve", admin.TokenOptions{}); return err },
	} {
		require.Equal(t, kv.KindNotFound, kv.KindOf(call()))
	}
	_, err = root.RevokeUser(soon(t), "boss", admin.Rights{Admin: true})
	require.NoError(t, err)
	_, err = boss.DropUser(soon(t), "alice")
	denied(t, err, "needs the role admin")
	_, _, err = boss.CreateUser(soon(t), "x", admin.Rights{}, admin.TokenOptions{TTL: math.MaxInt64})
	denied(t, err, "needs the role admin")
	all, err := root.Users(soon(t))
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []string{"alice", "boss"}, []string{all[0].Name, all[1].Name})
	require.Empty(t, all[0].Tokens)
	require.Len(t, all[1].Tokens, 1)
}
