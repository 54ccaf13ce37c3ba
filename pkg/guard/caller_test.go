package guard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/users"
)

// callerOf makes a caller by token in a table that has it.
func callerOf(t testing.TB, now func() time.Time, ttl time.Duration, grants ...users.Grant) (*Caller, *Directory) {
	t.Helper()
	text := users.TokenText([users.SecretBytes]byte{1})
	hash, _ := users.HashToken(text)
	d := NewDirectory(DirectoryOptions{Store: &shelf{}, Every: -1, Now: now})
	t.Cleanup(d.Close)
	u := (&users.User{Name: "alice"}).Granted(grants...).WithToken(users.Token{Hash: hash[:],
		Expires: now().Add(ttl).UnixNano()}, 0, now())
	require.NoError(t, d.Change(t.Context(), with(u)))
	return &Caller{gate: &Gate{opt: Options{Directory: d, Now: now}}, hash: hash}, d
}

var put = []msg.Op{{Kind: msg.OpPut, Key: []byte("orders/1")}}

// TestCallersAreWhoTheyAreNow: with every question.
func TestCallersAreWhoTheyAreNow(t *testing.T) {
	at := time.Unix(1000, 0)
	c, d := callerOf(t, func() time.Time { return at }, time.Minute, users.Grant{Prefix: []byte("orders/"), Write: true})
	require.Nil(t, c.Check(put))
	began, err := c.User()
	require.Nil(t, err)
	require.Nil(t, c.Unchanged(began))
	require.NoError(t, d.Change(t.Context(), with(&users.User{Name: "bob"})))
	require.Nil(t, c.Unchanged(began), "others do not matter")
	require.NoError(t, d.Change(t.Context(), func(table *users.Table) (*users.Table, error) {
		u, err := table.User("alice").Revoked(users.Grant{Prefix: []byte("orders/"), Write: true})
		require.NoError(t, err)
		return table.With(u)
	}))
	require.Equal(t, kv.KindPermissionDenied, c.Check(put).Kind)
	require.Equal(t, kv.KindAborted, c.Unchanged(began).Kind)
	require.Nil(t, c.CheckScan(kv.Range([]byte("orders/"), []byte("orders0"))))
	require.False(t, c.Sees())
	at = at.Add(29 * time.Second)
	require.Nil(t, c.CheckScan(kv.Range([]byte("orders/"), []byte("orders0"))))
	at = at.Add(2 * time.Second)
	require.Equal(t, kv.KindUnavailable, c.Check(put).Kind, "what is known is too old")
	_, lerr := d.load(t.Context())
	require.NoError(t, lerr)
	require.Equal(t, kv.KindPermissionDenied, c.Check(put).Kind)
	at = at.Add(29 * time.Second)
	require.Equal(t, kv.KindUnauthenticated, c.Check(put).Kind, "the token has expired")

	root := &Caller{gate: c.gate, name: users.Root, until: at.Add(time.Minute)}
	require.Nil(t, root.Check(put))
	at = at.Add(time.Minute)
	require.Equal(t, kv.KindUnauthenticated, root.Check(put).Kind, "the certificate has expired")
	require.Nil(t, (*Caller)(nil).Check(put), "without TLS nobody is asked")
	require.True(t, (*Caller)(nil).Sees())
	require.Equal(t, uint64(2), c.gate.counted[denied].Load())
}
