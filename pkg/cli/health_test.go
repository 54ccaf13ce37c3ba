package cli_test

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/server"
)

// nobody is an address at which nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, lis.Close())
	return lis.Addr().String()
}

func TestHealth(t *testing.T) {
	n := start(t)
	require.Equal(t, "node n1 serves\n", n.run(t, "health").ok(t))
	run(t, "", "health", "--addr", nobody(t)).fails(t, 4, "no node can be reached")
	run(t, "", "health", "--wait", "-1s").fails(t, 2, "--wait is -1s, want 0 or more")
}

// TestHealthWaits: until the node serves and all members are up.
func TestHealthWaits(t *testing.T) {
	n := start(t)
	asked := atomic.Int32{}
	n.status = func() server.Status {
		st := n.Store.Status()
		up := asked.Add(1)
		st.Ready = up > 2
		st.Members = []server.Member{{Node: 1, Address: "127.0.0.1:1", Self: true}, {Node: 2, Address: "127.0.0.1:2", Up: up > 4}}
		return st
	}
	require.Equal(t, "node n1 serves\n", n.run(t, "health", "--wait", "30s").ok(t))
	require.Greater(t, asked.Load(), int32(4), "not before the second member is up")

	n.status = func() server.Status {
		st := n.Store.Status()
		st.Members = []server.Member{{Node: 2, Address: "127.0.0.1:2"}}
		return st
	}
	n.run(t, "health").ok(t)
	n.run(t, "health", "--wait", "1ms").fails(t, 4, "node n2 at 127.0.0.1:2 is not up")
	run(t, "", "health", "--addr", nobody(t), "--wait", "1ms").fails(t, 4, "no node can be reached")
}
