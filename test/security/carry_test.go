package security

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/users"
)

// TestUsersAreCarriedToAnotherCluster: there their tokens are good, and for the same.
func TestUsersAreCarriedToAnotherCluster(t *testing.T) {
	from, to := start(t, 1, nil), start(t, 1, nil)
	token := from.made("alice", pb.Rights{Grants: writes("orders/")})
	table, err := from.as(0, users.Root).ExportUsers(soon(t))
	require.NoError(t, err)
	require.NotContains(t, string(table), token)
	root := to.as(0, users.Root)
	for range 2 {
		all, err := root.ImportUsers(soon(t), table, false)
		require.NoError(t, err)
		require.Len(t, all, 1)
	}
	alice := to.bearing(0, token)
	_, err = alice.Execute(soon(t), client.Put(b("orders/1"), nil))
	require.NoError(t, err)
	_, err = alice.Execute(soon(t), client.Put(b("catalog/1"), nil))
	denied(t, err, "may not write")
	_, err = alice.ExportUsers(soon(t))
	denied(t, err, "needs the role admin")
	_, err = alice.ImportUsers(soon(t), table, true)
	require.Equal(t, kv.KindPermissionDenied, kv.KindOf(err))
}
