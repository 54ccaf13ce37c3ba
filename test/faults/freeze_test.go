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

// freezeDuration is longer than a lease, and than the detection of a silent node.
const freezeDuration = kv.DefaultLease + kv.DefaultLease/2

// readerSlack is the time after a freeze during which readers may fail because of it.
const readerSlack = 2 * time.Second

// TestFrozenNodeReadsNothingStale: each node is stopped with SIGSTOP for longer than a lease under load,
// and resumed. The leases of its readers expire, so updates that wait for them continue. When the node
// resumes, its readers know that their leases have expired and read nothing stale, which the check of the
// history verifies. Readers fail only during a freeze and until other nodes have reconnected.
func TestFrozenNodeReadsNothingStale(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	hot := []string{}
	for _, k := range torture.HotKeys() {
		hot = append(hot, "--hot-key", k)
	}
	c := proc.StartCluster(t, proc.Options{Args: hot})
	run := torture.Start(t, c.Addrs(),
		torture.Options{Seed: seed, Clients: 6, Readers: 6, Timeout: 4 * time.Second, Slack: readerSlack})
	c.AwaitMetric(t, "linchpin_shard_readers", 1)
	for i, n := range c.Nodes() {
		run.Await(t, 50)
		end := run.Fault(fmt.Sprintf("node %d is frozen", i))
		if err := n.Freeze(); err != nil {
			t.Fatal(err)
		}
		// The time is what is tested: no event marks the expiry of the leases.
		time.Sleep(freezeDuration)
		if err := n.Thaw(); err != nil {
			t.Fatal(err)
		}
		c.WaitConnected(t)
		end()
		for begin := time.Now(); time.Since(begin) < readerSlack+time.Second; {
			run.AwaitUpdates(t, 1) // some readers are unaffected by any fault
		}
	}
	run.Await(t, 100)
	run.Finish(t)
	c.RequireQuiescent(t, kv.DefaultLease+proc.WaitTimeout/2)
}
