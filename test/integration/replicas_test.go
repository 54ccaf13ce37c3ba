package integration

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// failoverWithin bounds the time from the death of a node to the next updates of each client: promises end after 0.8 s,
// and an election and a machine follow (R4.5).
const failoverWithin = 2500 * time.Millisecond

// TestReplicasServeThroughFaults runs clients of all kinds on three nodes with three replicas of each shard, while one
// node at a time is killed, frozen, cut off, stopped, or comes back with an empty disk. Updates go on while the node is
// away. They wait while two nodes are down, and then all are killed. All results are strictly serializable, no
// acknowledged write is lost, and nothing is left in flight.
func TestReplicasServeThroughFaults(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f := &replicaFaults{r: rand.New(rand.NewPCG(seed, 3)), c: proc.StartCluster(t, proc.Options{Proxied: true,
		Args: append(torture.HotKeyArgs(), "--replicas", "3")})}
	f.run = torture.Start(t, f.c.Addrs(), torture.Options{Seed: seed, Clients: 9, Timeout: 8 * time.Second})
	f.run.AwaitUpdates(t, 100)
	faults := []func(*testing.T, int){f.kill, f.freeze, f.empty, f.cut, f.stop, f.killTwo, f.killAll}
	if testing.Short() {
		faults = []func(*testing.T, int){f.kill, f.empty, f.freeze}
	}
	first := f.r.IntN(3)
	for i, fault := range faults {
		fault(t, (first+i)%3)
		f.run.AwaitUpdates(t, 50)
	}
	f.run.Finish(t)
	f.c.RequireQuiescent(t, quiescentWithin)
}

// replicaFaults injects faults into a cluster with replicas under load.
type replicaFaults struct {
	c   *proc.Cluster
	run *torture.Run
	r   *rand.Rand
}

// awaitFailover requires that updates go on without a node, and that each client takes part.
func (f *replicaFaults) awaitFailover(t *testing.T, what string, begin time.Time) {
	t.Helper()
	f.run.AwaitUpdates(t, 30)
	elapsed := proc.Elapsed(begin)
	t.Logf("%s: 30 updates after %v", what, elapsed.Round(time.Millisecond))
	require.LessOrEqual(t, elapsed, failoverWithin+machineSlack, what)
	f.run.AwaitUpdates(t, f.r.IntN(200))
}

func (f *replicaFaults) kill(t *testing.T, i int) {
	begin := time.Now()
	f.c.Node(i).Kill()
	f.awaitFailover(t, "kill", begin)
	f.restart(t, i)
}

func (f *replicaFaults) restart(t *testing.T, i int) {
	f.c.Node(i).Start(t)
	f.c.WaitConnected(t)
}

// killTwo kills two of three nodes: the shards wait, and nothing wrong is reported (R10.2).
func (f *replicaFaults) killTwo(t *testing.T, i int) {
	f.c.Node(i).Kill()
	f.c.Node((i + 1) % 3).Kill()
	f.run.AwaitFailures(t, 3)
	f.restart(t, i)
	f.awaitFailover(t, "the second of two killed nodes", time.Now())
	f.restart(t, (i+1)%3)
}

// killAll kills all nodes at once, as a loss of power does (R10.3).
func (f *replicaFaults) killAll(t *testing.T, _ int) {
	for _, n := range f.c.Nodes() {
		n.Kill()
	}
	begin := time.Now()
	f.c.Start(t)
	f.awaitFailover(t, "all killed", begin)
}

func (f *replicaFaults) freeze(t *testing.T, i int) {
	begin := time.Now()
	require.NoError(t, f.c.Node(i).Freeze())
	f.awaitFailover(t, "freeze", begin)
	require.NoError(t, f.c.Node(i).Thaw())
	f.c.WaitConnected(t)
}

// cut cuts a node off from the others, and clients that come through its address from it.
func (f *replicaFaults) cut(t *testing.T, i int) {
	begin := time.Now()
	f.c.Proxy(i).Cut()
	f.awaitFailover(t, "cut", begin)
	f.c.Proxy(i).Heal()
	f.c.WaitConnected(t)
}

// stop stops a node cleanly: leadership is transferred before.
func (f *replicaFaults) stop(t *testing.T, i int) {
	f.c.Node(i).Stop(t)
	f.awaitFailover(t, "stop", time.Now())
	f.restart(t, i)
}

// empty starts a node on an empty disk, and waits until it has all its replicas again.
func (f *replicaFaults) empty(t *testing.T, i int) {
	n := f.c.Node(i)
	begin := time.Now()
	n.Kill()
	require.NoError(t, os.RemoveAll(n.Dir))
	f.awaitFailover(t, "emptied disk", begin)
	f.restart(t, i)
	begin = time.Now()
	f.c.AwaitReplicas(t)
	t.Logf("an emptied disk has its replicas after %v", proc.Elapsed(begin).Round(time.Millisecond))
}

// TestTwoLostDisksAreReported: of two of three nodes the disks are lost, so acknowledged writes may be. The shards
// wait, and the operator decides (R10.4).
func TestTwoLostDisksAreReported(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{Args: []string{"--replicas", "3"}})
	require.NoError(t, c.Open(t).Put(proc.Context(t), "k", []byte("v")))
	for _, n := range c.Nodes()[1:] {
		n.Kill()
		require.NoError(t, os.RemoveAll(n.Dir))
	}
	for _, n := range c.Nodes()[1:] {
		n.Start(t)
	}
	c.WaitConnected(t)
	db := proc.Open(t, []string{c.Node(0).Addr})
	var unavailable *client.Error
	require.Eventually(t, func() bool { // while a lease of the first node lasts, it still serves reads
		_, _, err := db.Get(proc.Context(t), "k")
		return errors.As(err, &unavailable) && unavailable.Kind == client.KindUnavailable && len(unavailable.Down.Shards) == 6
	}, 30*time.Second, 10*time.Millisecond)
	require.ErrorContains(t, unavailable,
		"no leader can be reached of the shards s0, s1, s2, s3, s4 and s5 (hot), 100 % of the keyspace")
	require.Zero(t, unavailable.Down.Node)
	// The others have no replicas, and may not know yet that the node which has some leads no more.
	_, out := proc.Exec(t, "status", "--addr", c.Node(0).Addr)
	require.Contains(t, out, "UNAVAILABLE: the shards s0, s1, s2, s3, s4, s5, 100 % of the keyspace, without a leader")
}
