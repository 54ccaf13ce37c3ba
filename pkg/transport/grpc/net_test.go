package grpc_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	gogrpc "google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
	"github.com/linchpindb/linchpin/pkg/transport"
	"github.com/linchpindb/linchpin/pkg/transport/grpc"
	suite "github.com/linchpindb/linchpin/pkg/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const cluster = "c0ffee"

// testNet gives each node a port that it keeps across restarts.
type testNet struct {
	opts  grpc.Options
	addrs map[kv.NodeID]string
	mu    sync.Mutex
	// held are the listeners of nodes that are not running.
	held map[kv.NodeID]net.Listener
}

func newNet(t testing.TB, o grpc.Options) *testNet {
	o.PingEvery, o.UpWindow = suite.UpWindow/6, suite.UpWindow
	o.RetryMin, o.RetryMax = 5*time.Millisecond, 50*time.Millisecond
	n := &testNet{opts: o, addrs: map[kv.NodeID]string{}, held: map[kv.NodeID]net.Listener{}}
	for id := kv.NodeID(1); id <= 3; id++ {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		n.held[id], n.addrs[id] = l, l.Addr().String()
	}
	t.Cleanup(func() {
		for _, l := range n.held {
			l.Close()
		}
	})
	return n
}

// node is a transport with its server.
type node struct {
	*grpc.Transport
	server *gogrpc.Server
	served chan struct{}
}

func (n *node) Close() error {
	err := n.Transport.Close()
	n.server.Stop()
	<-n.served
	return err
}

// listen listens on the port of a node, which may take a moment after a restart.
func (n *testNet) listen(t testing.TB, id kv.NodeID) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.held[id]; l != nil {
		delete(n.held, id)
		return l
	}
	var l net.Listener
	require.Eventually(t, func() (ok bool) {
		var err error
		l, err = net.Listen("tcp", n.addrs[id])
		return err == nil
	}, 10*time.Second, time.Millisecond)
	return l
}

func noMeet(context.Context, *peerpb.MeetRequest) (*peerpb.MeetResponse, error) {
	return &peerpb.MeetResponse{Refusal: "no membership"}, nil
}

// serve starts a node that has not met its cluster.
func (n *testNet) serve(t testing.TB, id kv.NodeID, h transport.Handler) *node {
	return n.serveReplicas(t, id, h, nil)
}

func (n *testNet) serveReplicas(t testing.TB, id kv.NodeID, h transport.Handler, r transport.ReplicaHandler) *node {
	o := n.opts
	o.Handler, o.Meet, o.Replicas = h, noMeet, r
	tr, err := grpc.New(o)
	require.NoError(t, err)
	s := gogrpc.NewServer(gogrpc.MaxRecvMsgSize(grpc.MaxBatchMessage), codec.ServerOption())
	tr.Register(s)
	l := n.listen(t, id)
	nd := &node{Transport: tr, server: s, served: make(chan struct{})}
	go func() {
		defer close(nd.served)
		s.Serve(l)
	}()
	return nd
}

// Start implements suite.Net.
func (n *testNet) Start(t testing.TB, id kv.NodeID, h transport.Handler) transport.Transport {
	return n.StartReplicas(t, id, h, nil)
}

// StartReplicas implements suite.ReplicaNet.
func (n *testNet) StartReplicas(t testing.TB, id kv.NodeID, h transport.Handler,
	r transport.ReplicaHandler) suite.ReplicaNode {
	nd := n.serveReplicas(t, id, h, r)
	require.NoError(t, nd.Transport.Start(grpc.Identity{Cluster: cluster, Node: id}, n.addrs))
	return nd
}

func TestContract(t *testing.T) {
	for name, o := range map[string]grpc.Options{
		"plain":   {},
		"delayed": {Delay: 500 * time.Microsecond},
	} {
		t.Run(name, func(t *testing.T) {
			suite.Run(t, func(t testing.TB) suite.Net { return newNet(t, o) })
			suite.RunReplicas(t, func(t testing.TB) suite.ReplicaNet { return newNet(t, o) })
		})
	}
}

func BenchmarkTransport(b *testing.B) {
	suite.Benchmark(b, func(t testing.TB) suite.ReplicaNet { return newNet(t, grpc.Options{}) })
}
