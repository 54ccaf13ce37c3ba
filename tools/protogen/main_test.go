package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
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

// TestPublic: the public form stands for itself, keeps the comments, and is the same
// interface; one that is not is refused.
func TestPublic(t *testing.T) {
	t.Chdir("../..")
	const path = "pkg/rpc/linchpinpb/linchpin.proto"
	req, err := compile(path)
	require.NoError(t, err)
	self := req.ProtoFile[len(req.ProtoFile)-1]
	text, err := publish(path, self)
	require.NoError(t, err)
	for _, left := range []string{"gogo", "go_package", "\nimport "} {
		require.False(t, strings.Contains(text, left), left)
	}
	for _, kept := range []string{"syntax = \"proto3\";\n\npackage linchpin.v1;\n\n// KV runs transactions.",
		"  // key is the key, or the start of the range. It is empty if it is not known.\n", "repeated Op ops = 1;\n"} {
		require.True(t, strings.Contains(text, kept), kept)
	}
	self.MessageType[0].Field[0].Number = proto.Int32(99)
	_, err = publish(path, self)
	require.ErrorContains(t, err, "not the same interface")
}
