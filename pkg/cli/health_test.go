package cli_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// closedPort is an address without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, lis.Close())
	return lis.Addr().String()
}

func TestHealth(t *testing.T) {
	n := start(t)
	require.Equal(t, "node n1 is serving\n", n.run(t, "health").ok(t))
	run(t, "", "health", "--addr", closedPort(t)).fails(t, 4, "no node can be reached")
	run(t, "", "health", "--wait", "-1s").fails(t, 2, "--wait is -1s, want 0 or more")
}

// TestHealthChecksAllAddresses: one node that is down is enough to fail.
func TestHealthChecksAllAddresses(t *testing.T) {
	a, z := start(t), start(t)
	require.Equal(t, "node n1 is serving\nnode n1 is serving\n", run(t, "", "health", "--addr", a.addr+","+z.addr).ok(t))
	dead := closedPort(t)
	r := run(t, "", "health", "--addr", dead+","+z.addr)
	require.Equal(t, 4, r.code)
	require.Equal(t, "node n1 is serving\n", r.out)
	require.Contains(t, r.errs, "linchpin: "+dead+": ")
	r = run(t, "", "health", "--addr", a.addr+","+dead)
	require.Equal(t, 4, r.code)
	require.Equal(t, 1, strings.Count(r.errs, "linchpin: "+dead+": "), r.errs)
}

// TestHealthWaits: until the node serves and all members are up.
func TestHealthWaits(t *testing.T) {
	n := start(t)
	asked := atomic.Int32{}
	n.status = func() *pb.StatusResponse {
		st := n.Store.Status()
		up := asked.Add(1)
		st.Ready = up > 2
		st.Members = []pb.Member{{NodeId: 1, Address: "127.0.0.1:1", Self: true},
			{NodeId: 2, Address: "127.0.0.1:2", Up: up > 4}}
		return st
	}
	require.Equal(t, "node n1 is serving\n", n.run(t, "health", "--wait", "30s").ok(t))
	require.Greater(t, asked.Load(), int32(4), "not before the second member is up")

	n.status = func() *pb.StatusResponse {
		st := n.Store.Status()
		st.Members = []pb.Member{{NodeId: 2, Address: "127.0.0.1:2"}}
		return st
	}
	n.run(t, "health").ok(t)
	n.run(t, "health", "--wait", "1ms").fails(t, 4, "node n2 at 127.0.0.1:2 is down")
	run(t, "", "health", "--addr", closedPort(t), "--wait", "1ms").fails(t, 4, "no node can be reached")
}

// TestHealthOfAFullDisk: a node that refuses writes serves, and says what it refuses; who
// needs writes asks for that.
func TestHealthOfAFullDisk(t *testing.T) {
	n := start(t)
	space := pb.DiskSpace{FreeBytes: 10 << 20, SizeBytes: 1 << 30, ReserveBytes: 256 << 20}
	n.status = func() *pb.StatusResponse {
		st := n.Store.Status()
		st.Disk = space
		return st
	}
	n.run(t, "health", "--writes").ok(t)
	require.Contains(t, n.run(t, "status").ok(t), "disk: 10.0 MiB free of 1024.0 MiB\n")
	for rejects, words := range map[pb.DiskRejects]string{
		pb.DiskRejects_DISK_REJECTS_WRITES:     "rejects writes, except deletions",
		pb.DiskRejects_DISK_REJECTS_ALL_WRITES: "rejects all writes"} {
		space.Rejects = rejects
		why := words + ": its disk has 10.0 MiB free, less than the reserve of 256.0 MiB (--disk-reserve-mb); free space " +
			"on it"
		require.Equal(t, "node n1 is serving, but "+why+"\n", n.run(t, "health").ok(t))
		n.run(t, "health", "--writes").fails(t, 4, "node n1 "+why)
		out := n.run(t, "status").ok(t)
		require.Contains(t, out, "node n1 "+why)
		require.Regexp(t, `up \(this node\), rejects (all )?writes`, out)
		got := objects(t, n.run(t, "health", "-o", "json").ok(t))[0]
		require.Contains(t, got["disk"].(map[string]any)["rejects"], "writes")
	}
}
