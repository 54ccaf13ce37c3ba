package faults

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/sandbox"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// startWithNetwork starts a cluster whose nodes have their own addresses and users.
func startWithNetwork(t *testing.T) (*sandbox.Network, *proc.Cluster) {
	t.Helper()
	net := sandbox.NewNetwork(t, 3)
	c := proc.NewCluster(t, proc.Options{Hosts: net.Hosts()})
	net.AssignUsers(t, c)
	c.Start(t)
	return net, c
}

// TestOneWayLinksLoseNothing: the packets from one node to another are lost, but not the reverse direction;
// then two such directions; and then links flap, each direction independently. All results of concurrent
// updates are strictly serializable, and everything works after the links are healed.
func TestOneWayLinksLoseNothing(t *testing.T) {
	net, c := startWithNetwork(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 7))
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: seed, Timeout: time.Second})
	run.Await(t, 50)
	phase := func(what string, begin time.Time) { t.Logf("%s: %v", what, time.Since(begin).Round(time.Millisecond)) }
	for _, lost := range [][][2]int{{{0, 1}}, {{1, 2}, {2, 0}}} {
		begin := time.Now()
		for _, pair := range lost {
			net.Drop(t, pair[0], pair[1])
		}
		run.AwaitFailures(t, 3)
		run.Await(t, 5) // transactions that do not need the link continue
		phase("one direction lost", begin)
		begin = time.Now()
		net.Heal(t)
		c.WaitConnected(t)
		phase("until all were connected", begin)
	}
	begin := time.Now()
	for range 12 {
		from := r.IntN(3)
		to := (from + 1 + r.IntN(2)) % 3
		net.Set(t, from, to, r.IntN(3) > 0)
		run.Await(t, r.IntN(3))
	}
	phase("links flapped", begin)
	begin = time.Now()
	net.Heal(t)
	c.WaitConnected(t)
	phase("until all were connected", begin)
	run.Await(t, 100)
	run.Finish(t)
}
