package faults

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/proxy"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// faultRun is a cluster under load of every kind.
type faultRun struct {
	*proc.Cluster
	run *torture.Run
	r   *rand.Rand
}

// readerSlack is the time after a freeze during which readers may fail because of it.
const readerSlack = 2 * time.Second

// faultTable has the faults, each with its cluster and its load. With one replica, transactions fail during a fault,
// and some tests wait for that.
var faultTable = []struct {
	name    string
	cluster proc.Options
	load    torture.Options
	// prepare, unless nil, changes the nodes before they start.
	prepare func(c *proc.Cluster)
	inject  func(t *testing.T, x *faultRun)
}{
	{name: "kill", cluster: proc.Options{Replicas: 1, Args: []string{"--commit-order", "hot-last"}},
		load: torture.Options{Timeout: time.Second}, inject: killNodes},
	{name: "kill-parallel", cluster: proc.Options{Replicas: 1, Args: []string{"--commit-order", "parallel"}},
		load: torture.Options{Timeout: time.Second}, inject: killNodes},
	{name: "cut", cluster: proc.Options{Replicas: 1, Proxied: true}, load: torture.Options{Timeout: time.Second},
		inject: cutLinks},
	{name: "freeze", inject: freezeNodes,
		load: torture.Options{Clients: 6, Readers: 6, Timeout: 4 * time.Second, Slack: readerSlack}},
	{name: "slow-fsync", cluster: proc.Options{Replicas: 1}, load: torture.Options{Timeout: 20 * time.Second},
		inject: requireSlowFsync,
		prepare: func(c *proc.Cluster) {
			c.Node(2).Args = append(c.Node(2).Args, "--delay-fsync", slowSync.String())
		}},
}

// TestFaultsLoseNothing injects each fault under load of every kind: acknowledged writes survive, no transaction is
// applied in part, no read is stale, and all results are strictly serializable. When the fault has ended, all clients
// continue, and nothing is left in flight.
func TestFaultsLoseNothing(t *testing.T) {
	t.Parallel()
	for _, f := range faultTable {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			f.load.Seed = rand.Uint64()
			t.Logf("seed %d", f.load.Seed)
			f.cluster.Args = append(torture.HotKeyArgs(), f.cluster.Args...)
			x := &faultRun{Cluster: proc.NewCluster(t, f.cluster), r: rand.New(rand.NewPCG(f.load.Seed, 1))}
			if f.prepare != nil {
				f.prepare(x.Cluster)
			}
			x.Start(t)
			x.run = torture.Start(t, x.Addrs(), f.load)
			f.inject(t, x)
			x.WaitConnected(t)
			x.run.Await(t, 100)
			x.run.Finish(t)
			x.RequireQuiescent(t, kv.DefaultLease+proc.WaitTimeout/2)
		})
	}
}

// killNodes kills nodes at arbitrary moments, one after the other and two at a time.
func killNodes(t *testing.T, x *faultRun) {
	for k := range proc.FaultCount(6) {
		x.run.Await(t, 20+x.r.IntN(200))
		first := x.Node(x.r.IntN(3))
		first.Kill()
		switch k % 4 {
		case 1: // down until some transactions have failed
			x.run.AwaitFailures(t, 5)
		case 2: // a second node is killed while the first one starts
			x.run.AwaitFailures(t, 1)
			first.Launch(t)
			x.Node(x.r.IntN(3)).Kill()
		case 3: // all nodes are killed, and again during recovery
			for range 2 {
				for _, n := range x.Nodes() {
					n.Kill()
					n.Launch(t)
				}
			}
		}
		for _, n := range x.Nodes() {
			if !n.Running() {
				n.Launch(t)
			}
			n.AwaitServing(t)
		}
	}
}

// cutLinks cuts links to nodes: connections that end, that are refused, and that carry nothing, of one node, two or
// all. The node behind a cut link receives nothing from peers and clients, but can still send to its peers.
func cutLinks(t *testing.T, x *faultRun) {
	for f := range proc.FaultCount(8) {
		x.run.Await(t, 50+x.r.IntN(100))
		links := []*proxy.Proxy{x.Proxy(x.r.IntN(3)), x.Proxy(x.r.IntN(3)), x.Proxy(x.r.IntN(3))}[:1+x.r.IntN(3)]
		for _, l := range links {
			[]func(*proxy.Proxy){(*proxy.Proxy).Break, (*proxy.Proxy).Cut, (*proxy.Proxy).Swallow}[f%3](l)
		}
		if f%3 != 0 {
			x.run.AwaitFailures(t, 4)
		}
		for _, l := range links {
			l.Heal()
		}
	}
}

// freezeNodes stops each node with SIGSTOP for longer than a lease and than the detection of a silent node, and
// resumes it. The leases of its readers expire, so updates that wait for them continue. When the node resumes, its
// readers know that their leases have expired. Readers fail only during a freeze and until other nodes have
// reconnected.
func freezeNodes(t *testing.T, x *faultRun) {
	x.AwaitMetric(t, "linchpin_shard_readers", 1)
	for i, n := range x.Nodes() {
		x.run.Await(t, 50)
		end := x.run.Fault(fmt.Sprintf("node %d is frozen", i))
		require.NoError(t, n.Freeze())
		// The time is what is tested: no event marks the expiry of the leases.
		time.Sleep(kv.DefaultLease + kv.DefaultLease/2)
		require.NoError(t, n.Thaw())
		x.WaitConnected(t)
		end()
		for begin := time.Now(); time.Since(begin) < readerSlack+time.Second; {
			x.run.AwaitUpdates(t, 1) // some readers are unaffected by any fault
		}
	}
}

// slowSync is the delay of each fsync of the slow node, about a hundred times the usual duration.
const slowSync = 150 * time.Millisecond

// requireSlowFsync requires that writes of other nodes are not delayed by the slow disk of one, and that the metrics
// of the node show the delay.
func requireSlowFsync(t *testing.T, x *faultRun) {
	at := x.KeysByNode(t, proc.Keys(20))
	db := proc.Open(t, []string{x.Node(0).Addr})
	fast := time.Hour
	for _, k := range at[0] {
		begin := time.Now()
		put(t, db, "fast", k)
		fast = min(fast, time.Since(begin))
	}
	begin := time.Now()
	put(t, db, "slow", at[2][0])
	slowWrite := time.Since(begin)
	t.Logf("a write takes %v, on the slow disk %v", fast.Round(time.Microsecond), slowWrite.Round(time.Millisecond))
	require.Less(t, fast, slowSync)
	require.GreaterOrEqual(t, slowWrite, slowSync)
	deleteKeys(t, db, append(at[0], at[2][0])...)
	x.run.Await(t, 100)
	m, err := x.Node(2).Metrics(proc.Context(t))
	require.NoError(t, err)
	require.GreaterOrEqual(t,
		m["linchpin_log_fsync_duration_seconds_sum"]/m["linchpin_log_fsync_duration_seconds_count"], slowSync.Seconds()/2)
}
