package proc

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/test/integration/proxy"
)

// Options describe a cluster of processes.
type Options struct {
	// Nodes is the number of nodes. The default is 3.
	Nodes int
	// Shards is the number of ordinary shards. The default is 5: with three nodes, the hot shard then shares
	// its node with another shard.
	Shards int
	// Replicas is the number of replicas of each shard. The default is that of the program.
	Replicas int
	// Proxied puts a proxy.Proxy in front of every node. Peers and clients use the address of the proxy.
	Proxied bool
	// Hosts are the IP addresses of the nodes, all of this machine. The default is 127.0.0.1.
	Hosts []string
	// Args are arguments of every node.
	Args []string
}

// Cluster is a cluster of processes.
type Cluster struct {
	nodes   []*Node
	proxies []*proxy.Proxy
	shards  int
}

// NewCluster prepares a cluster without starting it.
func NewCluster(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.Nodes == 0 {
		o.Nodes = 3
	}
	if o.Shards == 0 {
		o.Shards = 5
	}
	c := &Cluster{shards: o.Shards + 1}
	dir := t.TempDir()
	var listen, join []string
	for i := range o.Nodes {
		addr := FreeAddr(t)
		if o.Hosts != nil {
			_, port, _ := strings.Cut(addr, ":")
			addr = o.Hosts[i] + ":" + port
		}
		listen = append(listen, addr)
		if o.Proxied {
			p, err := proxy.Start(addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			c.proxies = append(c.proxies, p)
			addr = p.Addr()
		}
		join = append(join, addr)
	}
	for i := range o.Nodes {
		http := FreeAddr(t)
		args := append([]string{"--listen", listen[i], "--http", http, "--advertise", join[i], "--join",
			strings.Join(join, ","),
			"--shards", fmt.Sprint(o.Shards), "--cache-mb", "16"}, o.Args...)
		if o.Replicas != 0 {
			args = append(args, "--replicas", fmt.Sprint(o.Replicas))
		}
		n := NewNode(t, fmt.Sprintf("node[%d]", i), filepath.Join(dir, fmt.Sprintf("store%d", i)), args...)
		n.Listen, n.HTTP, n.Addr = listen[i], http, join[i]
		c.nodes = append(c.nodes, n)
	}
	return c
}

// StartCluster starts a cluster and returns when its members are connected.
func StartCluster(t testing.TB, o Options) *Cluster {
	t.Helper()
	c := NewCluster(t, o)
	c.Start(t)
	return c
}

// Start launches the nodes that are not running, and returns when all members are connected.
func (c *Cluster) Start(t testing.TB) {
	t.Helper()
	var launched []*Node
	for _, n := range c.nodes {
		if !n.Running() {
			n.Launch(t)
			launched = append(launched, n)
		}
	}
	for _, n := range launched {
		n.AwaitServing(t)
	}
	c.WaitConnected(t)
}

// Nodes returns the nodes, running or not.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Node returns the node at a position, from 0. The position is not the node id: ids follow the order of the
// addresses.
func (c *Cluster) Node(i int) *Node { return c.nodes[i] }

// Proxy returns the proxy in front of the node at a position.
func (c *Cluster) Proxy(i int) *proxy.Proxy { return c.proxies[i] }

// Shards returns the number of shards, including the hot shard.
func (c *Cluster) Shards() int { return c.shards }

// Addrs returns the addresses that clients and peers use.
func (c *Cluster) Addrs() []string {
	out := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		out[i] = n.Addr
	}
	return out
}

// Open opens a client of all nodes, which prefers the first one. The client is closed with the test.
func (c *Cluster) Open(t testing.TB, opts ...client.Option) *client.DB {
	t.Helper()
	return Open(t, c.Addrs(), opts...)
}

// Open opens a client of some addresses. The client is closed with the test.
func Open(t testing.TB, addrs []string, opts ...client.Option) *client.DB {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitTimeout)
	defer cancel()
	db, err := client.Open(ctx, addrs, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// WaitConnected waits until every running node reports all running nodes as up, no other node as up, and
// none of them as draining.
func (c *Cluster) WaitConnected(t testing.TB) {
	t.Helper()
	up := map[string]bool{}
	for _, n := range c.nodes {
		up[n.Addr] = n.Running()
	}
	for _, n := range c.nodes {
		if n.Running() {
			WaitStatus(t, n, func(s *admin.Status) bool {
				for _, m := range s.Members {
					if m.Up != up[m.Address] || m.Up && m.Draining {
						return false
					}
				}
				return len(s.Members) == len(c.nodes)
			})
		}
	}
}

// WaitStatus waits until the status of a node satisfies a condition.
func WaitStatus(t testing.TB, n *Node, want func(*admin.Status) bool) {
	t.Helper()
	// The node's own address: a proxy may be cut.
	db := admin.New(Open(t, []string{n.Listen}))
	var last admin.Status
	Until(t, fmt.Sprintf("the status of %s satisfies the condition", n.name), func(ctx context.Context) bool {
		s, err := db.Status(ctx)
		last = s
		return err == nil && want(&s)
	}, func() string { return fmt.Sprintf("%+v", last) })
}

// Until polls a condition every 10 ms until it holds, for at most WaitTimeout.
func Until(t testing.TB, what string, holds func(context.Context) bool, explain func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitTimeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("timed out after %v waiting until %s: %s", WaitTimeout, what, explain())
		}
	}
}
