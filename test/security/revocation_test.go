package security

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
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
	token := c.made("alice", pb.Rights{Grants: writes("orders/")})
	for node := range 2 {
		alice := c.bearing(node, token)
		key := b("orders/1")
		_, err := alice.Execute(soon(t), client.Put(key, b("x")))
		require.NoError(t, err)
		held, revoked, ended := make(chan kv.TxnID, 1), make(chan struct{}), make(chan error, 1)
		attempts := 0
		go func() {
			ended <- alice.Update(soon(t), func(tx *client.Tx) error {
				attempts++
				if _, err := tx.Do(client.Put(b("orders/open"), b("x"))); err != nil {
					return err
				}
				return stays(soon(t), tx, held, revoked)
			})
		}()
		begun(t, held, ended)
		_, err = root.RevokeUser(soon(t), "alice", pb.Rights{Grants: writes("orders/")})
		require.NoError(t, err)
		since := time.Now()
		eventually(t, func() error {
			_, err := alice.Execute(soon(t), client.Put(key, b("y")))
			if kv.KindOf(err) == kv.KindPermissionDenied {
				return nil
			}
			return kv.Errorf(kv.KindInternal, "it goes on to write: %v", err)
		})
		require.Less(t, time.Since(since), promised)
		close(revoked)
		denied(t, <-ended, `may not write the key`) // of the attempt after the one that was refused to commit
		require.Equal(t, 2, attempts)
		out, err := root.Execute(soon(t), client.Get(b("orders/open")))
		require.NoError(t, err)
		require.False(t, out.Results[0].Found, "what was open was not committed")
		_, err = alice.Execute(soon(t), client.Get(key))
		require.NoError(t, err, "to read is still allowed")
		_, err = root.GrantUser(soon(t), "alice", pb.Rights{Grants: writes("orders/")})
		require.NoError(t, err)
		eventually(t, func() error {
			_, err := alice.Execute(soon(t), client.Put(key, b("z")))
			return err
		})
	}
}

// TestScansEndWhenTheyAreForbidden between two pages.
func TestScansEndWhenTheyAreForbidden(t *testing.T) {
	c := start(t, 1, nil)
	root := c.as(0, users.Root)
	large := make([]byte, 512<<10)
	const keys = 200 // far more than all buffers on the way have room for
	for i := range keys {
		_, err := root.Execute(soon(t), client.Put([]byte{'k', byte(i)}, large))
		require.NoError(t, err)
	}
	alice := c.bearing(0, c.made("alice", pb.Rights{Grants: reads("k")}))
	n, last := 0, error(nil)
	for _, err := range alice.Scan(soon(t), b("k"), b("l"), client.ScanOptions{PageSize: 1}) {
		if err != nil {
			last = err
			break
		}
		n++
		if n == 1 {
			_, err := root.DropUser(soon(t), "alice")
			require.NoError(t, err)
		}
	}
	require.Equal(t, kv.KindUnauthenticated, kv.KindOf(last), "%v", last)
	require.Less(t, n, keys)
}

// TestTokensAreRotated: the old one ends, at once or later, on open streams as well.
func TestTokensAreRotated(t *testing.T) {
	c := start(t, 1, nil)
	root := c.as(0, users.Root)
	first := c.made("alice", pb.Rights{Grants: writes("")})
	old := c.bearing(0, first)
	r, err := root.RotateToken(soon(t), pb.RotateTokenRequest{Name: "alice", KeepMs: 3_600_000})
	require.NoError(t, err)
	require.NotEqual(t, first, r.Token)
	for _, db := range []*client.DB{old, c.bearing(0, first), c.bearing(0, r.Token)} {
		_, err := db.Execute(soon(t), client.Put(b("k"), nil))
		require.NoError(t, err)
	}
	second, err := root.RotateToken(soon(t), pb.RotateTokenRequest{Name: "alice"})
	require.NoError(t, err)
	_, err = old.Execute(soon(t), client.Put(b("k"), nil))
	require.Equal(t, kv.KindUnauthenticated, kv.KindOf(err), "%v", err)
	for token, ok := range map[string]bool{first: false, r.Token: false, second.Token: true} {
		db, err := client.Open(soon(t), []string{c.nodes[0].Addr()}, client.WithTLS(c.config("")), client.WithToken(func() (string, error) { return token, nil }))
		require.Equal(t, ok, err == nil, "%v", err)
		if err == nil {
			require.NoError(t, db.Close())
		} else {
			require.Equal(t, kv.KindUnauthenticated, kv.KindOf(err), "%v", err)
		}
	}
	third, err := root.RotateToken(soon(t), pb.RotateTokenRequest{Name: "alice", TokenTtlMs: 1000})
	require.NoError(t, err)
	short := c.bearing(0, third.Token)
	eventually(t, func() error { // it ends by itself
		_, err := short.Execute(soon(t), client.Get(b("k")))
		if kv.KindOf(err) == kv.KindUnauthenticated {
			return nil
		}
		return kv.Errorf(kv.KindInternal, "still %v", err)
	})
}

// TestUsersAreManaged by who may, and by nobody else.
func TestUsersAreManaged(t *testing.T) {
	c := start(t, 1, nil)
	root := c.as(0, users.Root)
	boss := c.bearing(0, c.made("boss", pb.Rights{Admin: true}))
	_, err := boss.CreateUser(soon(t), pb.CreateUserRequest{Name: "alice", NoToken: true})
	require.NoError(t, err)
	_, err = boss.CreateUser(soon(t), pb.CreateUserRequest{Name: "alice"})
	require.Equal(t, kv.KindConditionFailed, kv.KindOf(err), "%v", err)
	for _, name := range []string{"root", "node", "a b"} {
		_, err = boss.CreateUser(soon(t), pb.CreateUserRequest{Name: name})
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%v", err)
	}
	for _, call := range []func() error{
		func() error { _, err := boss.GrantUser(soon(t), "eve", pb.Rights{Admin: true}); return err },
		func() error { _, err := boss.RevokeUser(soon(t), "eve", pb.Rights{Admin: true}); return err },
		func() error { _, err := boss.DropUser(soon(t), "eve"); return err },
		func() error { _, err := boss.RotateToken(soon(t), pb.RotateTokenRequest{Name: "eve"}); return err },
	} {
		require.Equal(t, kv.KindNotFound, kv.KindOf(call()))
	}
	_, err = root.RevokeUser(soon(t), "boss", pb.Rights{Admin: true})
	require.NoError(t, err)
	_, err = boss.DropUser(soon(t), "alice")
	denied(t, err, "needs the role admin")
	_, err = boss.CreateUser(soon(t), pb.CreateUserRequest{Name: "x", TokenTtlMs: 1 << 62})
	denied(t, err, "needs the role admin")
	all, err := root.Users(soon(t))
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []string{"alice", "boss"}, []string{all[0].Name, all[1].Name})
	require.Empty(t, all[0].Tokens)
	require.Len(t, all[1].Tokens, 1)
}
