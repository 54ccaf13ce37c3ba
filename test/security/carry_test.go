package security

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/users"
)

// TestUsersAreCarriedToAnotherCluster: there their tokens are good, and for the same.
func TestUsersAreCarriedToAnotherCluster(t *testing.T) {
	from, to := start(t, 1, nil), start(t, 1, nil)
	token := from.made("alice", admin.Rights{Grants: writes("orders/")})
	table, err := from.admin(0, users.Root).ExportUsers(soon(t))
	require.NoError(t, err)
	require.NotContains(t, string(table), token)
	root := to.admin(0, users.Root)
	for range 2 {
		all, err := root.ImportUsers(soon(t), table, false)
		require.NoError(t, err)
		require.Len(t, all, 1)
	}
	alice := to.bearing(0, token)
	require.NoError(t, alice.Put(soon(t), "orders/1", nil))
	denied(t, alice.Put(soon(t), "catalog/1", nil), "may not write")
	_, err = admin.New(alice).ExportUsers(soon(t))
	denied(t, err, "needs the role admin")
	_, err = admin.New(alice).ImportUsers(soon(t), table, true)
	require.Equal(t, kv.KindPermissionDenied, kv.KindOf(err))
}
