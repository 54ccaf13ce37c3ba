package security

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/users"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestExportedUsersWorkInAnotherCluster: their tokens are valid there, with the same permissions.
func TestExportedUsersWorkInAnotherCluster(t *testing.T) {
	from, to := start(t, 1, nil), start(t, 1, nil)
	token := from.createUser("alice", admin.Rights{Grants: writes("orders/")})
	table, err := from.admin(0, users.Root).ExportUsers(proc.Context(t))
	require.NoError(t, err)
	require.NotContains(t, string(table), token)
	root := to.admin(0, users.Root)
	for range 2 {
		all, err := root.ImportUsers(proc.Context(t), table, false)
		require.NoError(t, err)
		require.Len(t, all, 1)
	}
	alice := to.openWithToken(0, token)
	require.NoError(t, alice.Put(proc.Context(t), "orders/1", nil))
	requireDenied(t, alice.Put(proc.Context(t), "catalog/1", nil), "may not write")
	_, err = admin.New(alice).ExportUsers(proc.Context(t))
	requireDenied(t, err, "needs the role admin")
	_, err = admin.New(alice).ImportUsers(proc.Context(t), table, true)
	require.Equal(t, kv.KindPermissionDenied, kv.KindOf(err))
}
