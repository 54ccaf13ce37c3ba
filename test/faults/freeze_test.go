package faults

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// standsStill is for how long nodes are stopped: longer than a lease, and than
// it takes others to find out.
const standsStill = kv.DefaultLease + kv.DefaultLease/2

// slack is how long after that readers may fail because of it.
const slack = 2 * time.Second

// TestNodeStandsStill: each node is stopped (SIGSTOP) for longer than a lease
// under load, and goes on where it was. The leases that its readers held lapse,
// so the updates that waited for them go on; and when it wakes up, its readers
// know that their leases are over, and nothing stale is read: the history is
// judged. Readers fail only while a node stands still, and until others have
// found it again.
func TestNodeStandsStill(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	hot := []string{}
	for _, k := range torture.HotKeys() {
		hot = append(hot, "--hot-key", k)
	}
	c := proc.StartCluster(t, proc.Options{Args: hot})
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: seed, Clients: 6, Readers: 6, Timeout: 4 * time.Second, Slack: slack})
	c.AwaitMetric(t, "linchpin_shard_readers", 1)
	for i, n := range c.Nodes() {
		run.Await(t, 50)
		over := run.Fault(fmt.Sprintf("node %d stands still", i))
		if err := n.Freeze(); err != nil {
			t.Fatal(err)
		}
		// It is about time: what is to happen is that nothing does.
		time.Sleep(standsStill)
		if err := n.Thaw(); err != nil {
			t.Fatal(err)
		}
		c.WaitConnected(t)
		over()
		for begin := time.Now(); time.Since(begin) < slack+time.Second; {
			run.AwaitUpdates(t, 1) // some readers are far from any fault
		}
	}
	run.Await(t, 100)
	run.Finish(t)
	c.RequireQuiescent(t, kv.DefaultLease+proc.WaitTimeout/2)
}
