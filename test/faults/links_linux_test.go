package faults

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
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

// flaps is the number of changes of links, flapInterval the maximum time between them, and recoveryBound
// the bound of the time from the last change until every node is served by every other.
//
// After a link is healed, a silent connection is closed after StallAfter (5 s), closing may take as long
// again if much is to be sent, and the next attempt to connect follows after at most RetryMax (1 s),
// however many have failed. That is 11 s; the rest is for busy machines.
const (
	flaps         = 60
	flapInterval  = 100 * time.Millisecond
	recoveryBound = 30 * time.Second
)

// TestOneWayLinksLoseNothing: the packets from one node to another are lost, but not the reverse direction; then two
// such directions; and then links are lost and healed many times, each direction independently. All results of
// concurrent updates are strictly serializable. The time until all nodes are served does not grow with the number of
// changes, because the backoff is bounded and is reset by each success.
func TestOneWayLinksLoseNothing(t *testing.T) {
	net, c := startWithNetwork(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 7))
	at := c.KeysByNode(t, proc.Keys(30))
	run := torture.Start(t, c.Addrs(), torture.Options{Seed: seed, Timeout: time.Second})
	run.Await(t, 50)
	for _, lost := range [][][2]int{{{0, 1}}, {{1, 2}, {2, 0}}} {
		for _, pair := range lost {
			net.Drop(t, pair[0], pair[1])
		}
		run.AwaitFailures(t, 3)
		run.Await(t, 5) // transactions that do not need the link continue
		net.Heal(t)
		c.WaitConnected(t)
	}
	// The duration of each state is what is tested.
	ticks := time.NewTicker(flapInterval)
	defer ticks.Stop()
	for range flaps {
		from := r.IntN(3)
		net.Set(t, from, (from+1+r.IntN(2))%3, r.IntN(3) > 0)
		<-ticks.C
		ticks.Reset(time.Duration(1 + r.Int64N(int64(flapInterval))))
	}
	net.Heal(t)
	begin := time.Now()
	for _, n := range c.Nodes() {
		db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
		for node := range at {
			awaitServed(t, db, at[node][0])
		}
	}
	recovery := time.Since(begin)
	t.Logf("all nodes are served by all %v after the last of %d changes", recovery.Round(time.Millisecond), flaps)
	require.LessOrEqual(t, recovery, recoveryBound)
	c.WaitConnected(t)
	run.Await(t, 100)
	for node := range at {
		deleteKeys(t, c.Open(t), at[node][0])
	}
	run.Finish(t)
}

// awaitServed waits until a write of a key succeeds.
func awaitServed(t *testing.T, db *client.DB, key string) {
	t.Helper()
	var last error
	proc.Until(t, "the write succeeds", func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		last = db.Put(ctx, key, nil)
		return last == nil
	}, func() string { return last.Error() })
}
