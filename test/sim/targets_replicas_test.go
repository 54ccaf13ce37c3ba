//go:build mutants

package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// replicaTargets are those of shards with three replicas. Each is caught within its first 200 seeds.
var replicaTargets = []target{
	{id: mutant.LeaderLeaseIgnored, name: "LeaderLeaseIgnored", seed: 3, replicas: true, shape: cutLeaders},
	{id: mutant.LeaderLeaseFromResponse, name: "LeaderLeaseFromResponse", seed: 14, replicas: true, shape: cutLeaders},
	{id: mutant.VotesDespitePromise, name: "VotesDespitePromise", seed: 34, replicas: true, shape: cutLeaders},
	{id: mutant.ClockBeforeInbox, name: "ClockBeforeInbox", seed: 4, replicas: true, shape: stalledLeaders},
	{id: mutant.SendBeforeCommit, name: "SendBeforeCommit", seed: 5, replicas: true, shape: cutLeaders},
	{id: mutant.ReadBeforeApplied, name: "ReadBeforeApplied", seed: 1, replicas: true, shape: uncached},
	{id: mutant.AcknowledgedBeforeDisk, name: "AcknowledgedBeforeDisk", seed: 1, replicas: true},
	{id: mutant.BeginsEarly, name: "BeginsEarly", seed: 11, replicas: true, shape: readable},
	{id: mutant.DestroyedUnreleased, name: "DestroyedUnreleased", seed: 1, members: true},
	{id: mutant.GoneByReplicaBehind, name: "GoneByReplicaBehind", seed: 4, members: true},
	{id: mutant.NumberUsedAgain, name: "NumberUsedAgain", seed: 10, members: true},
	{id: mutant.MessagesOfAnotherDisk, name: "MessagesOfAnotherDisk", seed: 1, members: true},
	{id: mutant.HeartbeatBeyondAcknowledged, name: "HeartbeatBeyondAcknowledged", seed: 1, members: true},
	{id: mutant.JointByNewVoters, name: "JointByNewVoters", seed: 66, members: true},
	{id: mutant.ConfirmedByEarlierHeartbeat, name: "ConfirmedByEarlierHeartbeat", seed: 7, replicas: true,
		shape: untrusted},
	{id: mutant.ReplicaReadsUnclosed, name: "ReplicaReadsUnclosed", seed: 4, replicas: true, shape: readAtReplicas},
}

// cutLeaders has leaders cut off, with clients near them that read most of the time.
func cutLeaders(o *Options) {
	o.Nodes, o.Shards, o.Registers, o.Counters, o.Objects, o.HotKeys = 3, 1, 2, 1, 0, 0
	o.Hold, o.Clients, o.Txns = 60*time.Millisecond, 12, 150
	o.Mix = Mix{OneShot: 1, OneShotRead: 20, Ops: allOps, MaxOps: 1, Think: time.Millisecond}
	o.LeaderFaults, o.Crashes, o.Cuts, o.Loss, o.Dup, o.Straggle = 12, 0, 0, 0, 0, 0
	o.Jitter, o.Sync, o.DiskRead, o.Step = 200*time.Microsecond, 200*time.Microsecond, 0, 0
	o.MoveEvery, o.HeatEvery, o.FalseHeatMaps, o.Expiring, o.Jumps, o.Views, o.OneShotViews = 0, 0, 0, false, 0, 0, 0
	o.SlowDisks, o.Stops, o.Fills, o.Machines, o.SnapshotEvery, o.CacheBytes = 0, 0, 0, 0, 0, 0
}

// untrusted has leaders without leases cut off.
func untrusted(o *Options) {
	cutLeaders(o)
	o.NoLeases, o.Rates = true, [2]float64{0.5, 2}
}

// stalledLeaders has leaders stall, with messages that arrive before that.
func stalledLeaders(o *Options) {
	cutLeaders(o)
	o.LeaderFaults, o.Stops, o.SlowFor, o.Step = 0, 30, 4*time.Second, 2*time.Millisecond
}

// uncached has keys evicted at once, and read again while their rows are written.
func uncached(o *Options) {
	cutLeaders(o)
	o.CacheBytes, o.Registers, o.Mix.OneShot, o.Sync, o.LeaderFaults = 1, 6, 20, 5*time.Millisecond, 0
}

// readAtReplicas has snapshots read as soon as they are fixed, half of them at replicas.
func readAtReplicas(o *Options) {
	withSnapshots(o)
	calm(o)
	o.Nodes, o.Replicas, o.Hold, o.LeaderFaults = 3, 3, 400*time.Millisecond, 0
	o.Shards, o.Registers, o.Counters = 2, 4, 2
	o.Clients, o.Txns, o.History = 8, 60, 8*time.Millisecond
}

// readable has no read fail.
func readable(o *Options) { o.ReadErrors = 0 }
