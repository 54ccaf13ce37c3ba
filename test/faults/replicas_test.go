package faults

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
	"github.com/linchpindb/linchpin/test/integration/sandbox"
	"github.com/linchpindb/linchpin/test/integration/torture"
)

// replicaRun is a cluster of three nodes with three replicas of each shard, under load of every kind.
type replicaRun struct {
	*proc.Cluster
	run *torture.Run
	net *sandbox.Network
}

// replicaFault happens to the node that leads the most shards, or the fewest, or to a given one.
type replicaFault struct {
	name   string
	node   func(leads []float64) int
	inject func(t *testing.T, x *replicaRun, i int)
}

func leader(leads []float64) int   { return slices.Index(leads, slices.Max(leads)) }
func follower(leads []float64) int { return slices.Index(leads, slices.Min(leads)) }

// given chooses a node that leads some shards and follows in the others.
func given(i int) func([]float64) int { return func([]float64) int { return i } }

// startReplicas starts the nodes and the load.
func startReplicas(t *testing.T, x *replicaRun, timeout time.Duration) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	x.Start(t)
	x.AwaitReplicas(t)
	x.run = torture.Start(t, x.Addrs(), torture.Options{Seed: seed, Clients: 9, Timeout: timeout})
	x.run.AwaitUpdates(t, 50)
}

// inject has a fault happen. After it, all replicas are whole again.
func (x *replicaRun) inject(t *testing.T, f *replicaFault) {
	var leads []float64
	for _, n := range x.Nodes() {
		leads = append(leads, x.leads(n))
	}
	begin, i := time.Now(), f.node(leads)
	f.inject(t, x, i)
	x.WaitConnected(t)
	x.AwaitReplicas(t)
	x.run.AwaitUpdates(t, 50)
	t.Logf("%s, node %d; the nodes led %v shards: over after %v", f.name, i, leads,
		time.Since(begin).Round(time.Millisecond))
}

// leads returns the number of shards that a node leads.
func (x *replicaRun) leads(n *proc.Node) float64 {
	m, err := n.Metrics(context.Background())
	if err != nil {
		return 0
	}
	return m["linchpin_shard_leads"]
}

// takeOver bounds the time until updates on all shards continue without a node: promises of 0.8 s end, and an election
// follows (R4.5). The rest is for busy machines.
const takeOver = 4500 * time.Millisecond

// awaitTakeOver requires that updates continue. A client that meets a shard without a leader waits, so all shards have
// one when there are so many updates.
func (x *replicaRun) awaitTakeOver(t *testing.T, bound time.Duration) {
	t.Helper()
	begin := time.Now()
	x.run.AwaitUpdates(t, 60)
	require.LessOrEqual(t, proc.Elapsed(begin), bound, "60 updates")
}

// TestReplicasServeThroughStopsAndLostPackets: SIGSTOP for a tenth of a second to ten seconds, and links that lose the
// packets of one direction, of a leader and of a follower. Updates continue meanwhile, and all results are strictly
// serializable. At most one election follows (R10.5 to R10.7).
func TestReplicasServeThroughStopsAndLostPackets(t *testing.T) {
	x := &replicaRun{net: sandbox.NewNetwork(t, 3)}
	x.Cluster = proc.NewCluster(t, proc.Options{Hosts: x.net.Hosts(),
		Args: append(torture.HotKeyArgs(), "--replicas", "3")})
	x.net.AssignUsers(t, x.Cluster)
	startReplicas(t, x, 2*time.Second)
	for _, f := range []replicaFault{
		{"SIGSTOP for 0.1 s", leader, freezeReplica(100 * time.Millisecond)},
		{"SIGSTOP for 1 s", leader, freezeReplica(time.Second)},
		{"SIGSTOP for 1 s", follower, freezeReplica(time.Second)},
		{"packets to one node lost", leader, losePackets(1, true)},
		{"packets to both nodes lost", leader, losePackets(2, true)},
		{"packets from both nodes lost", leader, losePackets(2, false)},
		{"packets from both nodes lost", follower, losePackets(2, false)},
		{"SIGSTOP for 10 s", leader, freezeReplica(10 * time.Second)},
	} {
		x.inject(t, &f)
	}
	x.run.Finish(t)
	x.RequireQuiescent(t, kv.DefaultLease+proc.WaitTimeout/2)
}

// freezeReplica stops a node for a time.
func freezeReplica(d time.Duration) func(t *testing.T, x *replicaRun, i int) {
	return func(t *testing.T, x *replicaRun, i int) {
		require.NoError(t, x.Node(i).Freeze())
		over := time.After(d)
		if d > takeOver {
			x.awaitTakeOver(t, takeOver)
		}
		<-over // the time is what is tested
		require.NoError(t, x.Node(i).Thaw())
		x.awaitTakeOver(t, takeOver)
	}
}

// losePackets loses the packets from a node to others, or those from others to it.
func losePackets(peers int, from bool) func(t *testing.T, x *replicaRun, i int) {
	return func(t *testing.T, x *replicaRun, i int) {
		before := x.terms(t, i)
		for k := range peers {
			peer := (i + 1 + k) % 3
			if from {
				x.net.Drop(t, i, peer)
			} else {
				x.net.Drop(t, peer, i)
			}
		}
		// Longer than a lease that no majority renews, and the promises to it (R3.8). Transactions whose locks are held for
		// a gateway beyond a link that is lost wait; others continue.
		over := time.After(2500 * time.Millisecond)
		x.run.AwaitUpdates(t, 5)
		<-over
		x.net.Heal(t)
		x.WaitConnected(t)
		for s, term := range x.terms(t, i) {
			require.LessOrEqual(t, term-before[s], 2.0, "terms of %s", s)
		}
	}
}

// terms returns the term of each shard, as a node other than i knows it.
func (x *replicaRun) terms(t *testing.T, i int) map[string]float64 {
	terms := map[string]float64{}
	_, text, err := x.Node((i+1)%3).Get(proc.Context(t), "/metrics")
	require.NoError(t, err)
	for line := range strings.Lines(text) {
		var term float64
		if shard, value, ok := strings.Cut(line, "} "); ok && strings.HasPrefix(shard, "linchpin_shard_term{") {
			_, err := fmt.Sscan(value, &term)
			require.NoError(t, err)
			terms[shard] = term
		}
	}
	require.Len(t, terms, x.Shards())
	return terms
}

// TestReplicasServeOnBadDisks: a byte of a table and one of a log are flipped, and the disk of a node is stuck, nearly
// full, and full. The node leads shards and follows in others. Updates continue, all results are strictly serializable,
// and the replicas are whole again afterwards.
func TestReplicasServeOnBadDisks(t *testing.T) {
	t.Parallel()
	x := &replicaRun{Cluster: proc.NewCluster(t, proc.Options{
		Args: append(torture.HotKeyArgs(), "--replicas", "3", "--disk-reserve-mb", "32")})}
	sandbox.MountImage(t, x.Node(2).Dir, 512<<20)
	startReplicas(t, x, 8*time.Second)
	for _, f := range []replicaFault{
		{"flipped byte of a table", given(0), flipTable},
		{"flipped byte of the log", given(1), flipLog},
		{"stuck disk", given(2), stickDisk},
		{"nearly full disk", given(2), nearlyFillDisk},
		{"full disk", given(2), fillDisk},
	} {
		x.inject(t, &f)
	}
	x.run.Finish(t)
	x.RequireQuiescent(t, kv.DefaultLease+proc.WaitTimeout/2)
}

// awaitLeads waits until a node leads a shard. Other nodes are stopped for as long as an election takes.
func (x *replicaRun) awaitLeads(t *testing.T, i int) {
	for try := 1; x.leads(x.Node(i)) == 0; try++ {
		require.Less(t, try, 10, "node %d leads nothing", i)
		freezeReplica(1500*time.Millisecond)(t, x, (i+1+try%2)%3)
	}
}

// stickDisk has writes not end for longer than an election takes. Other nodes lead meanwhile (R10.10).
func stickDisk(t *testing.T, x *replicaRun, i int) {
	n := x.Node(i)
	x.awaitLeads(t, i)
	wait := sandbox.Stick(t, n.Dir, 4*time.Second)
	defer wait()
	x.awaitTakeOver(t, takeOver+kv.DefaultLease)
	proc.Until(t, "the node leads nothing", func(context.Context) bool { return x.leads(n) == 0 }, n.Output.String)
	wait()
	awaitOutput(t, n, "the disk ends no write of the replicas' log")
	awaitOutput(t, n, "the disk has ended a write of the replicas' log again")
}

// nearlyFillDisk: the node would reject new writes, so others lead, and no write is rejected.
func nearlyFillDisk(t *testing.T, x *replicaRun, i int) {
	n, db := x.Node(i), x.Open(t)
	x.awaitLeads(t, i)
	remove := sandbox.Ballast(t, n.Dir, 24<<20)
	defer remove()
	for begin := time.Now(); time.Since(begin) < time.Second; {
		put(t, db, "written on a nearly full disk", proc.Keys(20)...)
	}
	deleteKeys(t, db, proc.Keys(20)...)
	awaitMetric(t, n, "linchpin_store_full", isOne)
	awaitMetric(t, n, "linchpin_shard_leads", isZero)
	awaitOutput(t, n, "slow or nearly full disk")
	x.awaitTakeOver(t, takeOver)
}

// fillDisk: the node cannot write its log and ends. Started on a full disk, it waits for space.
func fillDisk(t *testing.T, x *replicaRun, i int) {
	n := x.Node(i)
	remove := sandbox.Ballast(t, n.Dir, 0)
	fill := &filler{db: x.Open(t)}
	n.ExpectExit()
	for n.Running() {
		require.Less(t, fill.acked, 3000, "the disk does not fill")
		require.NoError(t, fill.run(t.Context(), 10), "the others serve")
	}
	require.Equal(t, pebblestore.ExitFatal, n.Wait(t))
	require.Contains(t, n.Output.String(), noSpaceText)
	x.awaitTakeOver(t, takeOver)
	remove()
	n.Start(t)
	fill.check(t, fill.db)
	for k := range fill.acked {
		deleteKeys(t, fill.db, fillKey(k+1))
	}
}

// flipLog: a node whose log is damaged does not start (R6.13). On an empty directory it gets its replicas again.
func flipLog(t *testing.T, x *replicaRun, i int) {
	n := x.Node(i)
	n.Kill()
	logs, err := filepath.Glob(filepath.Join(n.Dir, "raft", "*.log"))
	require.NoError(t, err)
	flip(t, slices.MaxFunc(logs, bySize), 3)
	x.awaitTakeOver(t, takeOver)
	code, output := n.RequireStartFails(t)
	require.NotZero(t, code)
	require.Contains(t, output, "hint: ")
	require.Contains(t, output, "empty the node's directories, and start it again: its replicas are made anew")
	require.NoError(t, os.RemoveAll(n.Dir))
	n.Start(t)
}

func bySize(a, b string) int {
	size := func(name string) int64 {
		info, err := os.Stat(name)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	return int(size(a) - size(b))
}

// flip flips a bit of a file, at a part of its size.
func flip(t *testing.T, name string, part int) {
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	raw[len(raw)/part] ^= 0x10
	require.NoError(t, os.WriteFile(name, raw, fs.FileMode(0o600)))
}

// flipTable: the damage is found when the node leads the shard and reads the block. Another node then serves, and the
// replica is replaced (R6.15). If the block has rows of other shards too, that is refused: the node goes on with it,
// and gets its replicas again on an empty directory.
func flipTable(t *testing.T, x *replicaRun, i int) {
	n, db := x.Node(i), x.Open(t)
	var puts, deletes []client.Op
	var values [][]byte
	random := rand.NewChaCha8([32]byte{})
	for _, k := range proc.Keys(600) {
		value := make([]byte, 512) // it cannot be compressed, so it is found in a table
		_, _ = random.Read(value)
		values = append(values, value)
		puts, deletes = append(puts, client.PutOp(k, value)), append(deletes, client.DeleteOp(k))
	}
	require.NoError(t, db.Execute(proc.Context(t), puts...))
	requireAll := func() {
		var gets []client.Op
		for _, k := range proc.Keys(600) {
			gets = append(gets, client.GetOp(k))
		}
		require.NoError(t, db.Execute(proc.Context(t), gets...))
		for i, g := range gets {
			require.Equal(t, values[i], g.(*client.Result[[]byte]).Value())
		}
	}
	require.Zero(t, n.Stop(t))
	flipValue(t, filepath.Join(n.Dir, "data"), values)
	n.Start(t)
	awaitReplaced := func() {
		proc.Until(t, "the replicas are there, or cannot be made", func(ctx context.Context) bool {
			missing, err := x.Sum(ctx, "linchpin_shard_replicas_missing")
			return n.HasWritten("cannot be replaced, since those beside them are damaged") || err == nil && missing == 0
		}, n.Output.String)
	}
	for try := 0; !n.HasWritten("are damaged: it is replaced by a new one"); try++ {
		require.Less(t, try, 10, "the damage is not found")
		awaitReplaced()
		other := x.Node((i + 1 + try%2) % 3)
		require.Zero(t, other.Stop(t))
		requireAll()
		other.Start(t)
		x.WaitConnected(t)
	}
	requireAll()
	awaitReplaced()
	if n.HasWritten("cannot be replaced") {
		other := x.Node((i + 1) % 3)
		require.Zero(t, other.Stop(t))
		requireAll() // the damaged node is one of two
		other.Start(t)
		x.WaitConnected(t)
		n.Kill()
		require.NoError(t, os.RemoveAll(n.Dir))
		n.Start(t)
	}
	requireAll()
	require.NoError(t, db.Execute(proc.Context(t), deletes...))
}
