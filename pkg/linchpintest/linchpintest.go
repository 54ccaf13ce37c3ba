// Package linchpintest runs linchpin inside of a Go test: the real server, on the loopback, with its
// data in a temporary directory.
//
//	func TestBuy(t *testing.T) {
//		db := linchpintest.Start(t)
//		require.ErrorIs(t, Buy(t.Context(), db, "ann"), client.ErrNotFound) // there is no such sale
//	}
//
// [Start] is a cluster of one node. [StartCluster] has several, and injects faults: it stops nodes,
// advances their clocks, aborts transactions and loses responses. A program that passes with them
// handles what happens in production.
package linchpintest

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/server"
)

// Start runs a cluster of one node until the test ends, and returns a client of it.
func Start(t testing.TB) *client.DB {
	t.Helper()
	return StartCluster(t, 1).DB()
}

// Cluster is a cluster in the test's process. Its methods may be called while transactions run, by one
// goroutine at a time.
type Cluster struct {
	t       testing.TB
	cluster *embed.Cluster
	db      *client.DB
	// advanced is by how much the clocks are ahead.
	advanced atomic.Int64
	faults   faults
}

// StartCluster runs a cluster of n nodes, without fsync, until the test ends. It fails the test if it
// cannot.
func StartCluster(t testing.TB, n int) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	c.faults.wires = make(map[kv.NodeID]*wires)
	for i := range n {
		c.faults.wires[kv.NodeID(i+1)] = new(wires)
	}
	var err error
	c.cluster, err = embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), Nodes: n, NoSync: true, Listen: true,
		Clock:    func(kv.NodeID) clock.Clock { return shifted{by: &c.advanced} },
		Edge:     func(id kv.NodeID, b server.Backend) server.Backend { return edge{b, &c.faults, id} },
		Listener: func(id kv.NodeID, l net.Listener) net.Listener { return listener{l, c.faults.wires[id]} },
	})
	if err != nil {
		t.Fatalf("linchpintest: the cluster does not start: %v", err)
	}
	t.Cleanup(c.stop)
	c.db, err = client.Open(context.Background(), c.Addrs())
	if err != nil {
		t.Fatalf("linchpintest: the client does not connect: %v", err)
	}
	return c
}

// stopTimeout bounds how long the cluster waits for transactions in flight when the test ends.
const stopTimeout = 10 * time.Second

func (c *Cluster) stop() {
	if c.db != nil {
		_ = c.db.Close() // never fails
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := c.cluster.Stop(ctx); err != nil {
		c.t.Errorf("linchpintest: the cluster does not stop: %v", err)
	}
}

// Addrs returns the addresses of all nodes, for [client.Open]. They stay the same.
func (c *Cluster) Addrs() []string { return c.cluster.Addrs() }

// DB returns a client of the cluster that has the addresses of all nodes. It is closed when the test
// ends.
func (c *Cluster) DB() *client.DB { return c.db }

// StopNode stops a node, 1 to n, as if its process were killed: connections break, transactions in
// flight fail, and the keys on its shards are unavailable until [Cluster.StartNode]. What was
// acknowledged is kept.
func (c *Cluster) StopNode(node int) {
	c.t.Helper()
	c.control("stop", node, c.cluster.StopNode)
}

// StartNode starts a node that was stopped, and returns when it serves.
func (c *Cluster) StartNode(node int) {
	c.t.Helper()
	c.control("start", node, c.cluster.StartNode)
}

func (c *Cluster) control(verb string, node int, do func(kv.NodeID) error) {
	c.t.Helper()
	var err error
	if node < 1 || node > len(c.Addrs()) {
		err = fmt.Errorf("there are the nodes 1 to %d", len(c.Addrs()))
	} else {
		err = do(kv.NodeID(node))
	}
	if err != nil {
		c.t.Fatalf("linchpintest: node %d does not %s: %v", node, verb, err)
	}
}

// Advance advances the clocks of all nodes by d: keys and snapshots expire, and transactions in flight
// may exceed their deadlines. Expired keys are deleted soon after it has returned, not before.
func (c *Cluster) Advance(d time.Duration) {
	if d > 0 {
		c.advanced.Add(int64(d))
	}
}

// AbortNext has the nodes abort the next n transactions that would commit, as if each had lost against
// another one. Clients retry them, and run the functions of an Update again.
func (c *Cluster) AbortNext(n int) { c.faults.aborts.Store(int64(n)) }

// LoseAnswers loses the responses to the next n transactions that have written and committed: the
// connection breaks before the response is sent. Clients connect again and query the outcome.
func (c *Cluster) LoseAnswers(n int) { c.faults.losses.Store(int64(n)) }

// shifted is the machine's clock, ahead by what a cluster was advanced.
type shifted struct {
	clock.Real
	by *atomic.Int64
}

func (s shifted) Now() int64 { return s.Real.Now() + s.by.Load() }

func (s shifted) Wall() int64 { return s.Real.Wall() + s.by.Load() }
