package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGenerateAndCompare(t *testing.T) {
	t.Chdir("../..")
	protos, err := find("pkg")
	require.NoError(t, err)
	require.Contains(t, protos, "pkg/rpc/peerpb/peer.proto")

	out, err := generate("pkg/rpc/peerpb/peer.proto")
	require.NoError(t, err)
	require.Contains(t, out["pkg/rpc/peerpb/peer.pb.go"], "type Batch struct")
	require.Contains(t, out["pkg/rpc/peerpb/peer_grpc.pb.go"], "type PeerClient interface")
	out, err = generate("pkg/msg/msg.proto")
	require.NoError(t, err)
	require.Len(t, out, 1, "without a service there are no stubs")

	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll(filepath.Join("pkg", "msg"), 0o755))
	require.Error(t, compare(out), "the file is missing")
	require.NoError(t, writeOut(out))
	require.NoError(t, compare(out))
	require.NoError(t, os.WriteFile("pkg/msg/msg.pb.go", []byte("package msg\n"), 0o644))
	require.ErrorContains(t, compare(out), "pkg/msg/msg.pb.go is stale")
}
