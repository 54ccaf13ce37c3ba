package security

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/users"
)

// TestExportedUsersWorkInAnotherCluster: their tokens are valid there, with the same permissions.
func TestExportedUsersWorkInAnotherCluster(t *testing.T) {
	from, to := start(t, 1, nil), start(t, 1, nil)
	token := from.createUser("alice", admin.Rights{Grants: writes("orders/")})
	table, err := from.admin(0, users.Root).ExportUsers(testContext(t))
	require.NoError(t, err)
	require.NotContains(t, string(table), token)
	root := to.admin(0, users.Root)
	for range 2 {
		all, err := root.ImportUsers(testContext(t), table, false)
		require.NoError(t, err)
		require.Len(t, all, 1)
	}
	alice := to.openWithToken(0, token)
	require.NoError(t, alice.Put(testContext(t), "orders/1", nil))
	requireDenied(t, alice.Put(testContext(t), "catalog/1", nil), "may not write")
	_, err = admin.New(alice).ExportUsers(testContext(t))
	requireDenied(t, err, "needs the role admin")
	_, err = admin.New(alice).ImportUsers(testContext(t), table, true)
	require.Equal(t, kv.KindPermissionDenied, kv.KindOf(err))
}
