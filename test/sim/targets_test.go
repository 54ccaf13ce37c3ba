//go:build mutants

package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// calm removes all faults, so that a run makes progress only by the rules of liveness.
func calm(o *Options) {
	o.Straggle, o.Loss, o.Dup, o.ReadErrors, o.MaxWaiters, o.Mix.AbandonAttempt = 0, 0, 0, 0, 0, 0
	o.Crashes, o.Cuts, o.Mix.Vanish, o.Mix.ShortDeadline = 0, 0, 0, 0
	o.MaxAge = time.Minute
}

// contendedKeys has many transactions run on few keys.
func contendedKeys(o *Options) {
	o.Clients, o.Txns, o.Registers, o.Counters = 12, 10, 3, 1
	o.Mix.MaxOps, o.Mix.Think = 4, 0
}

// overloaded has gateways with few admission slots, and one-shots that name keys twice.
func overloaded(o *Options) {
	calm(o)
	contendedKeys(o)
	o.Nodes, o.Mix.Interactive, o.Mix.InteractiveRead, o.Mix.Snapshot = 1, 0, 0, 0
	o.Slots, o.KeySlots = 6, 2
}

// faultyLinks duplicates, delays and reorders nearly every message.
func faultyLinks(o *Options) {
	o.Straggle, o.StraggleMax, o.Dup = 0.2, 60*time.Millisecond, 0.3
}

// constantDelays has all messages take the same time, so that a wound never arrives before the request that it refers
// to, and need not be repeated.
func constantDelays(o *Options) {
	calm(o)
	contendedKeys(o)
	o.Far, o.Jitter, o.Step = true, 0, 0
	o.Delay = time.Millisecond
}

// thinking has interactive transactions that read, think and write.
func thinking(o *Options) {
	constantDelays(o)
	o.Mix.OneShot, o.Mix.OneShotRead, o.Mix.Scan, o.Mix.Interactive, o.Mix.Think = 2, 0, 0, 20, 5*time.Millisecond
	o.Mix.Ops, o.IdleGrace = OpMix{Get: 3, Put: 3}, 10*time.Second
}

// restartedUnderReaders restarts shards under slow readers whose requests are repeated later.
func restartedUnderReaders(o *Options) {
	o.Shards, o.Registers, o.Counters, o.HotKeys, o.Clients, o.Txns, o.MaxAge = 3, 3, 0, 0, 6, 12, time.Minute
	o.Straggle, o.StraggleMax, o.Dup, o.Loss, o.Jitter = 0.3, 20*time.Millisecond, 1, 0, 100*time.Microsecond
	o.Mix.OneShot, o.Mix.OneShotRead, o.Mix.InteractiveRead, o.Mix.Interactive, o.Mix.Scan = 10, 0, 20, 0, 0
	o.Mix.Vanish = 0
	o.Mix.Think, o.Mix.OneShard, o.Mix.MaxOps, o.Mix.Ops = 3*time.Millisecond, 0, 4, OpMix{Get: 1, Put: 10}
	o.Crashes, o.Down, o.Every, o.LogPerShard, o.Faults = 60, 0, 3*time.Millisecond, true, FaultMix{Log: 1}
}

// withReaders has readers of all kinds run beside updates on a few keys of several shards.
func withReaders(o *Options) {
	o.Shards, o.Registers, o.Counters, o.HotKeys, o.Clients, o.Txns = 3, 4, 1, 2, 10, 15
	o.Order, o.Lease = txn.HotLast, time.Second
	o.Mix.OneShot, o.Mix.OneShotRead, o.Mix.Interactive, o.Mix.InteractiveRead, o.Mix.Scan = 10, 8, 0, 4, 1
	o.Mix.OneShard, o.Mix.MaxOps, o.Mix.Think, o.Mix.Ops = 0, 4, time.Millisecond, OpMix{Get: 6, Put: 8, Add: 1, Scan: 1}
}

// withImplied has clients send operations whose success is implied by their reads on the hot shard (UseImplied).
func withImplied(o *Options) {
	calm(o)
	o.Shards, o.Registers, o.Counters, o.HotKeys, o.NoOptimistic, o.Order = 2, 2, 0, 1, false, txn.HotLast
	o.Mix.OneShot, o.Mix.Interactive, o.Mix.UseImplied, o.Mix.Think = 10, 10, 0.7, time.Millisecond
	o.Mix.Ops, o.Mix.MaxOps = OpMix{Get: 2, Put: 2, Delete: 4, Condition: 1}, 1
}

// unsealingAtOnce has readers request the unsealing of updates without delay.
func unsealingAtOnce(o *Options) {
	withReaders(o)
	faultyLinks(o)
	o.UnsealAfter, o.Jitter, o.Sync = 100*time.Microsecond, 2*time.Millisecond, time.Millisecond
}

// shortLeases has leases expire under slow readers.
func shortLeases(o *Options) {
	withReaders(o)
	o.Lease, o.Mix.InteractiveRead, o.Mix.Think = 30*time.Millisecond, 20, 15*time.Millisecond
	o.Straggle, o.StraggleMax = 0.3, 60*time.Millisecond
}

// lateTimers has the leases of open readers expire because timers are late.
func lateTimers(o *Options) {
	withReaders(o)
	o.Lease, o.OpenBudget, o.Mix.InteractiveRead, o.Mix.Think = 100*time.Millisecond, -1, 20, 30*time.Millisecond
	o.Nodes, o.TickLate, o.Jitter, o.Sync, o.Straggle, o.Loss, o.Crashes = 3, 200*time.Millisecond, 100*time.Microsecond,
		0, 0, 0, 0
	o.MaxAge, o.Bound = time.Minute, 5*time.Minute
}

// restartingShards restarts shards under readers and prepared updates.
func restartingShards(o *Options) {
	withReaders(o)
	o.Lease, o.Mix.Think = 150*time.Millisecond, 3*time.Millisecond
	o.Crashes, o.Down, o.Every, o.LogPerShard, o.Faults = 20, 0, 10*time.Millisecond, true, FaultMix{Log: 1}
}

// losingTails has shards lose log tails that are not durable while readers read at snapshots.
func losingTails(o *Options) {
	restartingShards(o)
	o.Plan, o.Sync, o.Mix.OneShotRead, o.Lease = txn.PlanSnapshot, 5*time.Millisecond, 20, 20*time.Millisecond
}

// restartingOften crashes shards again while leases of the incarnation before the last are valid.
func restartingOften(o *Options) {
	restartingShards(o)
	o.KnownLeases, o.Crashes, o.Every = true, 40, 5*time.Millisecond
}

// withSnapshots has clients create snapshots and read at them far more often than normal, on shards that collect
// garbage as early as they may.
func withSnapshots(o *Options) {
	withReaders(o)
	o.CacheBytes, o.GarbageBatch, o.SnapshotEvery, o.History, o.Lease = 1, 1, 5*time.Millisecond, 20*time.Millisecond,
		150*time.Millisecond
	o.Mix.Scan, o.Mix.Snapshot, o.OpenBudget, o.Mix.Ops = 2, 25, -1, OpMix{Get: 2, Put: 10, Delete: 2, Scan: 1}
}

// overlappingViews has views overlap on keys of several shards that updates write.
func overlappingViews(o *Options) {
	withReaders(o)
	calm(o)
	o.Nodes, o.Clients, o.Views, o.OneShotViews, o.ViewFor = 2, 4, 8, 3, 6*time.Millisecond
	o.HoldBound, o.OpenBudget, o.HeatEvery, o.FalseHeatMaps, o.SnapshotEvery, o.Plan = 2*time.Millisecond,
		10*time.Millisecond, 0, 0, 0, txn.PlanAny
	o.Mix.OneShot, o.Mix.OneShotRead, o.Mix.InteractiveRead, o.Mix.Scan, o.Mix.Snapshot = 10, 0, 0, 0, 0
	o.Mix.Ops = OpMix{Get: 6, Put: 8}
}

// sharingSnapshots has readers at several machines of few gateways share snapshots.
func sharingSnapshots(o *Options) {
	withReaders(o)
	calm(o)
	o.Nodes, o.Machines, o.Clients, o.Plan = 1, 3, 12, txn.PlanSnapshot
	o.Mix.OneShotRead, o.Mix.InteractiveRead, o.Mix.Scan, o.Mix.Think = 12, 0, 0, 0
}

// endlessViews has every key read all the time, by views that end before they switch to a snapshot, and updates of
// several shards with a short bound.
func endlessViews(o *Options) {
	overlappingViews(o)
	o.Registers, o.Counters, o.HotKeys, o.Views, o.OneShotViews, o.ViewFor = 4, 0, 1, 16, 0, 20*time.Millisecond
	o.HoldBound, o.OpenBudget, o.EarlySnapshotsFor, o.Mix.Ops = 0, 0, -1, OpMix{Get: 4, Put: 8}
	o.Jitter, o.Delay, o.Sync, o.DiskRead, o.Step, o.UnsealAfter = 100*time.Microsecond, 100*time.Microsecond, 0, 0, 0, 0
	o.Clients, o.Txns, o.Bound, o.Memory = 3, 6, 400*time.Millisecond, 0 // deregistered readers are remembered
}

// movingKeys has keys move to the hot shard and back all the time.
func movingKeys(o *Options) {
	o.Shards, o.Registers, o.Counters, o.HotKeys, o.Clients, o.Txns = 3, 4, 1, 0, 8, 15
	o.MoveEvery, o.Mix.OneShard, o.Mix.MaxOps, o.Mix.Think = 2*time.Millisecond, 0, 4, time.Millisecond
}

// expiring has keys live for some milliseconds, while transactions take longer.
func expiring(o *Options) {
	o.Expiring, o.Registers, o.Clients, o.Txns, o.Mix.Think = true, 3, 6, 30, 5*time.Millisecond
}

// movingUnderReaders has readers of all kinds run beside moves of keys.
func movingUnderReaders(o *Options) {
	withReaders(o)
	o.HotKeys, o.MoveEvery = 0, 2*time.Millisecond
}

// jumping has times of day jump far while transactions follow each other slowly. The outcomes of many are queried
// later.
func jumping(o *Options) {
	calm(o)
	o.Clients, o.Txns, o.Mix.Think, o.Mix.Query = 4, 25, 200*time.Millisecond, 0.5
	o.Mix.OneShot, o.Mix.OneShotRead, o.Mix.Interactive, o.Mix.InteractiveRead, o.Mix.Scan = 10, 0, 0, 0, 0
	o.Jumps, o.JumpFor, o.JumpBy, o.Retention = 6, time.Second, 24*time.Hour, 0
}

// targets lists the mutants with a seed that detects each.
var targets = []target{
	{id: mutant.NoGrantCheck, name: "No grant check", seed: 419, shape: restartedUnderReaders},
	{id: mutant.GrantByHolding, name: "Grant by holding", seed: 419, shape: restartedUnderReaders},
	{id: mutant.GrantsUncheckedByLast, name: "Grants unchecked by the last agent", seed: 161, shape: func(o *Options) {
		calm(o)
		contendedKeys(o)
		o.Mix.OneShot, o.Mix.OneShotRead, o.Mix.InteractiveRead, o.Mix.Scan, o.Mix.Interactive, o.Mix.Think = 10, 0, 0, 0, 10,
			20*time.Millisecond
		o.Nodes, o.Mix.Ops, o.NoOptimistic, o.Cuts, o.Down, o.Txns = 3, OpMix{Get: 3, Put: 3}, true, 20, 300*time.Millisecond,
			20
	}},
	{id: mutant.ReadLocksLost, name: "Read locks lost at a restart", seed: 164, shape: func(o *Options) {
		o.Crashes, o.Down, o.Every, o.Faults = 20, 0, 10*time.Millisecond, FaultMix{Log: 1}
		o.Mix.Ops = OpMix{Get: 6, Require: 3, Put: 6, Delete: 1}
		o.Mix.OneShard, o.Mix.MaxOps = 0, 4
	}},
	{id: mutant.ReadLocksReleasedAtVote, name: "Read locks released at the vote", seed: 2},
	{id: mutant.RangeLocksPresentOnly, name: "Range locks protect present keys only", seed: 2},
	{id: mutant.HotLocksIgnored, name: "Hot locks ignored", seed: 2},
	{id: mutant.SeenUnchecked, name: "Optimistic reads unchecked", seed: 8},
	{id: mutant.FailuresUnvalidated, name: "Failures unvalidated", seed: 2, shape: withImplied},
	{id: mutant.IncarnationIgnored, name: "Incarnation ignored", seed: 438},
	{id: mutant.SendBeforeDurable, name: "Sending before durable", seed: 48},
	{id: mutant.RespondBeforeDurable, name: "Responses before their reads are durable", seed: 16},
	{id: mutant.BatchReordersSteps, name: "Steps are appended in another order", seed: 9},
	{id: mutant.NoAbortTombstone, name: "Aborts are not remembered", seed: 20, shape: func(o *Options) {
		faultyLinks(o)
		o.Straggle, o.Order, o.Mix.OneShard, o.Mix.MaxOps = 0.5, txn.HotLast, 0, 4
		o.Mix.Interactive, o.Mix.InteractiveRead, o.Mix.Scan, o.Mix.OneShotRead = 0, 0, 0, 0
	}},
	{id: mutant.LateCommitRequestWins, name: "A late commit request overrules an abort", seed: 5},
	{id: mutant.RecordRemovedEarly, name: "Record forgotten early", seed: 2, shape: func(o *Options) {
		o.Crashes, o.Every = 10, 10*time.Millisecond
	}},
	{id: mutant.AppliedForgotten, name: "Applied forgotten", seed: 33},
	{id: mutant.FencesForgotten, name: "Fences forgotten at a restart", seed: 1, shape: func(o *Options) {
		o.Learned, o.Mix.Query, o.Crashes, o.Down, o.Every = false, 0.5, 20, 0, 10*time.Millisecond
		o.Faults = FaultMix{Log: 1}
	}},
	{id: mutant.NoWound, name: "No wound", seed: 2, shape: calm},
	{id: mutant.PreparedIsSafe, name: "Prepared is safe", seed: 5, shape: calm},
	{id: mutant.CapStopsOlder, name: "The cap stops older operations", seed: 4,
		shape: func(o *Options) { calm(o); contendedKeys(o); o.PhaseCount = 1 }},
	{id: mutant.NoVoteRequest, name: "Missing votes are not requested", seed: 3,
		with: []mutant.ID{mutant.SilentGatewayKept}, shape: func(o *Options) {
			calm(o)
			o.Shards, o.Mix.OneShard, o.Mix.MaxOps, o.Mix.Query, o.Mix.IgnoreLost = 4, 0, 4, 0, 1
			o.Crashes, o.Down, o.Every, o.Faults = 30, 0, 5*time.Millisecond, FaultMix{Torn: 1}
		}},
	{id: mutant.NoPush, name: "No push", seed: 1, shape: func(o *Options) {
		calm(o)
		o.Mix.Interactive = 20
		o.Crashes, o.Down, o.Every, o.Faults = 10, 0, 5*time.Millisecond, FaultMix{Gateway: 1}
	}},
	{id: mutant.GatewayDropsWounds, name: "The gateway drops wounds after the commit request", seed: 4, shape: calm},
	{id: mutant.LockWithoutWound, name: "Lock requests without the wound", seed: 1,
		shape: func(o *Options) { calm(o); contendedKeys(o); o.Mix.Interactive, o.NoOptimistic = 20, true }},
	{id: mutant.WoundsOnce, name: "Wounds are not repeated", seed: 408,
		shape: func(o *Options) { calm(o); contendedKeys(o) }},
	{id: mutant.NoWoundOnGrant, name: "No wound for a granted phase", seed: 1, with: []mutant.ID{mutant.WoundsOnce},
		shape: constantDelays},
	{id: mutant.CommitRequestWithoutWound, name: "Commit requests without the wound", seed: 3,
		with:  []mutant.ID{mutant.WoundsOnce},
		shape: func(o *Options) { thinking(o); o.Order, o.NoOptimistic, o.HotKeys, o.Shards = txn.HotLast, true, 2, 2 }},
	{id: mutant.PrepareWithoutWound, name: "Prepare requests without the wound", seed: 1,
		with:  []mutant.ID{mutant.WoundsOnce},
		shape: func(o *Options) { thinking(o); o.HotKeys, o.Shards = 1, 3 }},
	{id: mutant.IdleWoundedContinues, name: "No idle timeout", seed: 3, shape: func(o *Options) {
		calm(o)
		o.Mix.Interactive,
			o.Mix.AbandonOldest = 20, 0.2
	}},
	{id: mutant.ConditionUnlocked, name: "Conditions unlocked", seed: 69},
	{id: mutant.StaleLoadUsed, name: "A disk read replaces a newer version", seed: 490, shape: func(o *Options) {
		o.CacheBytes, o.DiskRead = 1, 3*time.Millisecond
		o.Mix.Ops.Put, o.Mix.Ops.Get, o.Mix.MaxOps = 20, 20, 1
	}},
	{id: mutant.CheckSkipped, name: "A locking reader's grants unchecked", seed: 33, shape: func(o *Options) {
		o.Mix.OneShotRead, o.Mix.InteractiveRead, o.Crashes, o.Down, o.Every = 10, 5, 20, 0, 5*time.Millisecond
		o.Faults = FaultMix{Log: 1}
	}},
	{id: mutant.RetryWithoutAbort, name: "Retry before the abort is known", seed: 40},
	{id: mutant.GarbageTooEarly, name: "Garbage collected too early", seed: 14, readers: true, shape: withSnapshots},
	{id: mutant.AbortedForgotten, name: "Aborted attempts forgotten", seed: 15},
	{id: mutant.PresumedWithoutLookup, name: "An abort is presumed without a query", seed: 345},
	{id: mutant.LookUpBlind, name: "A lookup ignores the log", seed: 3, shape: func(o *Options) {
		faultyLinks(o)
		o.Memory, o.DiskRead, o.Mix.Query = 2, 5*time.Millisecond, 0.5
	}},
	{id: mutant.ClockTrusted, name: "A time of day is adopted at once", seed: 17, shape: jumping},
	{id: mutant.WatermarkLowered, name: "A low watermark in the future is lowered", seed: 3, shape: func(o *Options) {
		jumping(o)
		o.Retention, o.JumpFor, o.Memory = 100*time.Millisecond, 2*time.Second, 2
		o.Crashes, o.Down, o.Every, o.Faults = 20, 0, 200*time.Millisecond, FaultMix{Log: 1}
	}},
	{id: mutant.WatermarkPassed, name: "An outcome is deleted while it is read", seed: 151, shape: func(o *Options) {
		jumping(o)
		o.Jumps, o.JumpBy, o.Retention, o.Memory, o.DiskRead, o.Mix.Think = 1, time.Millisecond, 200*time.Millisecond, 1,
			30*time.Millisecond, 20*time.Millisecond
	}},
	{id: mutant.AttemptsIndependent, name: "Another attempt commits where one has", seed: 9, shape: func(o *Options) {
		o.Mix.Resend, o.SentOnce, o.FalseHeatMaps, o.Shards, o.Mix.OneShard = 0.5, false, 5*time.Millisecond, 4, 0
	}},
	{id: mutant.LastAgentsIndependent, name: "Two last agents decide one attempt", seed: 3, shape: func(o *Options) {
		o.Mix.Twice, o.SentOnce, o.FalseHeatMaps, o.Shards, o.Mix.OneShard = 0.5, false, 5*time.Millisecond, 4, 0
	}},
	{id: mutant.VoteOfAnyCommit, name: "A vote counts for any commit of its attempt", seed: 1, shape: resending},
	{id: mutant.DecisionOfAnyCommit, name: "A vote gets the decision about another commit", seed: 67,
		shape: resending},
	{id: mutant.PromiseOfAnyCommit, name: "A prepared update counts for any commit of its attempt", seed: 91,
		shape: resending},
	{id: mutant.ResponseOfAnyCommit, name: "A gateway accepts a response to any commit of its attempt", seed: 438,
		shape: func(o *Options) {
			resending(o)
			o.Mix.Ops.Condition, o.Mix.Ops.Require = 30, 10
		}},
	{id: mutant.ConcurrentCommitNotAborted, name: "A refused commit is not remembered as aborted", seed: 67,
		shape: resending},
	{id: mutant.GatewayReusesCommitIDs, name: "A gateway names its commits as before it restarted", seed: 18,
		shape: resending},
	{id: mutant.LowWatermarkIgnored, name: "Outcomes not in memory are taken as aborted", seed: 9},

	{id: mutant.ReadersIgnored, name: "Readers ignored by participants", seed: 4, readers: true, shape: withReaders},
	{id: mutant.ReadersIgnoredByLast, name: "Readers ignored by the last agent", seed: 3, readers: true,
		shape: withReaders},
	{id: mutant.HeldIgnored, name: "Held votes count", seed: 3, readers: true, shape: withReaders},
	{id: mutant.SealedIgnored, name: "Sealed updates not waited for", seed: 9, readers: true, shape: withReaders},
	{id: mutant.RegisteredAfterWait, name: "Registered after the wait", seed: 17, readers: true, shape: withReaders},
	{id: mutant.NoRegistrationForWait, name: "Not registered for the wait", seed: 2313, readers: true,
		shape: func(o *Options) {
			withReaders(o)
			o.Shards, o.Registers, o.Mix.OneShard, o.Mix.InteractiveRead = 2, 6, 0.5, 0
			o.Jitter, o.Mix.Ops = 3*time.Millisecond, OpMix{Get: 8, Put: 8}
			o.HeatEvery, o.FalseHeatMaps, o.SnapshotEvery, o.Mix.Scan, o.Mix.Snapshot, o.Plan = 0, 0, 0, 0, 0, txn.PlanHotLast
		}},
	{id: mutant.NoRegistration, name: "Never registered", seed: 3, readers: true, shape: withReaders},
	{id: mutant.DroppedEpochsCount, name: "Dropped epochs count", seed: 9, readers: true, shape: unsealingAtOnce},
	{id: mutant.DropForgotten, name: "A dropped epoch is forgotten", seed: 618, readers: true, shape: unsealingAtOnce},
	{id: mutant.DropLowered, name: "A late Unseal lowers a dropped epoch", seed: 208, readers: true,
		shape: func(o *Options) {
			unsealingAtOnce(o)
			o.Straggle, o.StraggleMax, o.Dup, o.Repeat, o.Mix.OneShotRead = 0.4, 30*time.Millisecond, 0.8, 3*time.Millisecond, 16
		}},
	{id: mutant.UnsealedEpochIgnored, name: "Unsealed for any epoch", seed: 26, readers: true, shape: unsealingAtOnce},
	{id: mutant.UnsealsByItself, name: "A shard unseals by itself", seed: 2, readers: true, shape: unsealingAtOnce},
	{id: mutant.RegistrationsNotAwaited, name: "The hot read does not wait for registrations", seed: 7, readers: true,
		shape: func(o *Options) {
			withReaders(o)
			o.Plan, o.Straggle, o.StraggleMax, o.Mix.InteractiveRead = txn.PlanHotLast, 0.3, 20*time.Millisecond, 0
		}},
	{id: mutant.RecoveredHeldToReaders, name: "Recovered intents not waited for", seed: 116, readers: true,
		shape: restartingShards},
	{id: mutant.RecoveredSealedToLast, name: "Recovered intents vote as sealed", seed: 389, readers: true,
		shape: restartingShards},
	{id: mutant.EpochsRestart, name: "Epochs restart", seed: 40, readers: true, shape: restartingShards},
	{id: mutant.RestartSealsImmediately, name: "A restarted shard seals at once", seed: 126, readers: true,
		shape: restartingShards},
	{id: mutant.RestartDecidesImmediately, name: "A restarted shard decides at once", seed: 33, readers: true,
		shape: func(o *Options) {
			restartingShards(o)
			o.Mix.OneShard, o.Mix.MaxOps, o.Mix.InteractiveRead = 0.7, 2, 10
		}},
	{id: mutant.ShutdownWithinLease, name: "A clean shutdown within the leases", seed: 910, readers: true,
		shape: func(o *Options) {
			restartingShards(o)
			o.CleanStops = true
		}},
	{id: mutant.EarlierLeasesForgotten, name: "Leases of two incarnations ago are forgotten", seed: 73, readers: true,
		shape: restartingOften},
	{id: mutant.LeasesTakenAsEnded, name: "Valid leases are taken as expired", seed: 6, readers: true,
		shape: restartingOften},
	{id: mutant.LeaseWithoutMargin, name: "A lease without its margin", seed: 22, readers: true, shape: func(o *Options) {
		lateTimers(o)
		o.UnsealAfter = time.Second // so that a waiter for an update waits until the reader no longer holds it
	}},
	{id: mutant.OpenEndUnchecked, name: "An open reader's leases are unchecked at its end", seed: 6, readers: true,
		shape: lateTimers},
	{id: mutant.OtherCopyTaken, name: "The hot read relied on another copy", seed: 6, readers: true,
		with: []mutant.ID{mutant.LeaseUnchecked}, shape: func(o *Options) {
			restartingShards(o)
			o.Lease, o.Plan, o.Loss, o.Straggle, o.StraggleMax = 20*time.Millisecond, txn.PlanHotLast, 0.2, 0.2,
				60*time.Millisecond
			o.Mix.OneShotRead, o.Mix.InteractiveRead, o.Mix.Scan = 20, 0, 0
		}},
	{id: mutant.LeaseUnchecked, name: "Leases unchecked", seed: 88, readers: true, shape: shortLeases},
	{id: mutant.LeaseFromResponse, name: "Leases count from the reply", seed: 12, readers: true, shape: shortLeases},
	{id: mutant.LeaseRevived, name: "An expired lease is renewed", seed: 31, readers: true, shape: shortLeases},
	{id: mutant.RenewedInAnyIncarnation, name: "A lease is renewed in another incarnation", seed: 284, readers: true,
		shape: func(o *Options) {
			restartingShards(o)
			o.Lease, o.Mix.InteractiveRead, o.Mix.Think = 60*time.Millisecond, 20, 20*time.Millisecond
		}},

	{id: mutant.GarbagePastSnapshot, name: "Garbage collected despite a snapshot", seed: 1, readers: true,
		shape: withSnapshots},
	{id: mutant.SnapshotUnchecked, name: "Snapshots unchecked", seed: 978, readers: true, shape: func(o *Options) {
		withSnapshots(o)
		faultyLinks(o)
		o.HeatEvery, o.FalseHeatMaps, o.Mix.InteractiveRead = 0, 0, 0
	}},
	{id: mutant.SnapshotBelowSafePoint, name: "A snapshot below the GC safe point", seed: 11, readers: true,
		shape: func(o *Options) {
			withSnapshots(o)
			faultyLinks(o)
			o.Nodes = 3
		}},
	{id: mutant.SnapshotClockTrusted, name: "Snapshots use a time of day that was just set", seed: 4, readers: true,
		shape: func(o *Options) {
			withSnapshots(o)
			o.Crashes, o.Down, o.Every, o.Faults = 20, 0, 10*time.Millisecond, FaultMix{Log: 1}
			o.Jumps, o.JumpFor, o.JumpBy, o.Retention = 8, 20*time.Millisecond, 10*365*24*time.Hour, 0
		}},
	{id: mutant.SnapshotHotFirst, name: "Snapshot with the hot CSN fixed first", seed: 8, readers: true,
		shape: withSnapshots},
	{id: mutant.SnapshotUnregistered, name: "Snapshot without registration", seed: 6, readers: true, shape: withSnapshots},
	{id: mutant.SnapshotJoinedLate, name: "Snapshot round joined late", seed: 3, readers: true, shape: withSnapshots},
	{id: mutant.DeregisteredBeforeSnapshot, name: "An open reader deregisters before its snapshot", seed: 7, readers: true,
		shape: func(o *Options) {
			withReaders(o)
			o.Mix.InteractiveRead, o.Mix.Think, o.OpenBudget = 20, 3*time.Millisecond, time.Millisecond
		}},

	{id: mutant.RoundIgnoresSealed, name: "A round ignores sealed updates", seed: 3, readers: true, shape: withSnapshots},
	{id: mutant.StateOfAnyIncarnation, name: "A snapshot counts in any incarnation", seed: 15, readers: true,
		shape: losingTails},
	{id: mutant.StateReadBeforeDurable, name: "A snapshot is read before it is durable", seed: 4, readers: true,
		shape: losingTails},
	{id: mutant.RetainedBeforeDurable, name: "A snapshot is retained before it is durable", seed: 74, readers: true,
		shape: func(o *Options) {
			losingTails(o)
			o.Plan, o.SnapshotEvery, o.History, o.Mix.Snapshot = txn.PlanAny, 5*time.Millisecond, 10*time.Second, 25
		}},
	{id: mutant.RoundBeforeReader, name: "A round that began before the reader", seed: 1, readers: true,
		shape: overlappingViews},
	{id: mutant.LateReadsUsed, name: "Reads after the snapshot request are used", seed: 1, readers: true,
		shape: func(o *Options) {
			overlappingViews(o)
			o.Shards, o.Registers, o.Counters, o.HotKeys, o.Memory, o.CacheBytes = 1, 3, 0, 2, 0, 0
			o.Clients, o.Views, o.OneShotViews, o.ViewFor, o.Mix.OneShard, o.Mix.MaxOps = 10, 10, 0, 6*time.Millisecond, 0.8, 2
			o.Straggle, o.StraggleMax, o.Jitter, o.HoldBound, o.Txns = 0.4, 12*time.Millisecond, 100*time.Microsecond,
				time.Millisecond, 40
			o.Sync, o.Step, o.DiskRead, o.Mix.Ops, o.Mix.Think = 0, 0, 0, OpMix{Get: 1, Put: 8}, 0
		}},
	{id: mutant.BorrowedSnapshotTooOld, name: "A borrowed snapshot joined late", seed: 75, readers: true,
		shape: sharingSnapshots},
	{id: mutant.SharedSnapshotDropped, name: "A lent snapshot forgotten", seed: 15, readers: true,
		shape: sharingSnapshots},
	{id: mutant.ClosedWhenHeldOnly, name: "Closed when held only", seed: 56, readers: true, shape: endlessViews},

	{id: mutant.CoLocatedTooEarly, name: "Batched too early", seed: 139, readers: true, shape: func(o *Options) {
		o.Plan, o.BusyFor = txn.PlanHotLast, time.Hour
	}},

	{id: mutant.MoveLeavesNoTombstone, name: "A move leaves no tombstone", seed: 1, shape: movingKeys},
	{id: mutant.MoveCopiesNoValue, name: "A move copies too little", seed: 1, shape: movingKeys},
	{id: mutant.MoveUnlocked, name: "A move does not lock the key", seed: 1, shape: movingKeys},
	{id: mutant.MoveTombstoneIgnored, name: "A move tombstone is ignored", seed: 1, shape: movingKeys},
	{id: mutant.BlindWritesIgnoreMove, name: "Blind writes ignore a move tombstone", seed: 3, shape: movingKeys},
	{id: mutant.MovedKeysUnchecked, name: "Moved keys unchecked", seed: 1, shape: movingKeys},
	{id: mutant.MovedKeysForgotten, name: "Moved keys forgotten", seed: 1, shape: func(o *Options) {
		movingKeys(o)
		o.Crashes, o.Down, o.Every, o.LogPerShard, o.Faults = 20, 0, 10*time.Millisecond, true, FaultMix{Log: 1}
	}},
	{id: mutant.CollectedMovesForgotten, name: "The moves of collected tombstones are forgotten", seed: 9,
		shape: movingKeys},
	{id: mutant.RedirectIgnored, name: "A redirect is ignored", seed: 3,
		shape: func(o *Options) { calm(o); movingKeys(o) }},
	{id: mutant.ExpiryUnchecked, name: "An expiry does not check the deadline", seed: 3, model: true, shape: expiring},
	{id: mutant.ExpiresEarly, name: "Keys expire early", seed: 1, model: true, shape: expiring},
	{id: mutant.StartClockTrusted, name: "Keys expire by a wrong clock after a start", seed: 1, model: true,
		shape: func(o *Options) {
			expiring(o)
			o.Crashes, o.Down, o.Every, o.Faults = 20, 0, 10*time.Millisecond, FaultMix{Log: 1}
			o.Jumps, o.JumpFor, o.JumpBy, o.Retention = 8, 20*time.Millisecond, time.Hour, 0
		}},
	{id: mutant.DeadlineLostAtMove, name: "A deadline is lost at a move", seed: 18, model: true,
		shape: func(o *Options) { movingKeys(o); o.Expiring = true }},
	{id: mutant.UnlockedUnchecked, name: "Reads without a right to write are not validated", seed: 1,
		shape: readingUnlocked},
	{id: mutant.SlotNotReleased, name: "An admission slot is not released", seed: 1, shape: overloaded},
	{id: mutant.CollisionRejects, name: "A hash collision refuses a call", seed: 1, shape: overloaded},
	{id: mutant.KeysUnlimited, name: "Slots are not shared by key", seed: 1, shape: overloaded},
	{id: mutant.MovesIgnoreReaders, name: "Moves ignore readers", seed: 6, readers: true, shape: movingUnderReaders},
}

// readingUnlocked has clients without the right to write, in transactions that are not declared read-only, run beside
// writers.
func readingUnlocked(o *Options) {
	calm(o)
	contendedKeys(o)
	o.Unlocked, o.Shards, o.Mix.OneShot, o.Mix.Interactive = 0.7, 2, 10, 10
	o.Mix.Think, o.Mix.Ops = 2*time.Millisecond, OpMix{Get: 1, Put: 6, Delete: 3, Scan: 6}
}

// resending runs the histories of drawResends.
func resending(o *Options) { *o = drawResends(o.Seed) }
