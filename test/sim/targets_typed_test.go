//go:build mutants

package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// onTypes has clients call methods of some data types on one key each, and little else.
func onTypes(types ...string) func(*Options) {
	return func(o *Options) {
		o.Types, o.Registers, o.Counters = types, 2, 1
		o.Clients, o.Txns, o.Mix.MaxOps, o.Mix.Think = 10, 15, 3, time.Millisecond
		o.Mix.OneShot, o.Mix.Interactive, o.Mix.OneShotRead, o.Mix.InteractiveRead, o.Mix.Scan = 10, 5, 0, 0, 0
		o.Mix.OneShard, o.Mix.Ops = 0, OpMix{Get: 3, Put: 3, Delete: 1}
		o.Loss, o.Straggle, o.Crashes, o.Mix.Vanish = 0, 0, 0, 0
	}
}

// longTransactions has transactions of many calls.
func longTransactions(types ...string) func(*Options) {
	return func(o *Options) {
		onTypes(types...)(o)
		o.Mix.MaxOps, o.Mix.OneShot, o.Mix.Interactive = 6, 10, 10
	}
}

// readTyped has readers of all kinds run beside calls.
func readTyped(types ...string) func(*Options) {
	return func(o *Options) {
		withReaders(o)
		o.Types, o.HotKeys, o.Registers, o.Counters = types, 0, 3, 1
		o.Mix.OneShotRead, o.Mix.InteractiveRead, o.Mix.Ops = 10, 6, OpMix{Get: 6, Put: 8, Scan: 1}
	}
}

// batchingReads has gateways batch reads, many of them equal.
func batchingReads(o *Options) {
	withReaders(o)
	o.Batch, o.Mix.OneShotRead, o.Nodes, o.Mix.InteractiveRead = time.Millisecond, 20, 1, 0
}

// large has values that are stored as changes, and shards that evict them.
func large(types ...string) func(*Options) {
	return func(o *Options) {
		onTypes(types...)(o)
		o.Padding, o.CacheBytes, o.Mix.Ops = 400, 1, OpMix{Get: 1}
		o.Crashes, o.Down, o.Every, o.LogPerShard, o.Faults = 5, 0, 20*time.Millisecond, true, FaultMix{Log: 1}
	}
}

// restartsTyped has logs crash under calls, and many messages duplicated.
func restartsTyped(o *Options) {
	onTypes("summary", "set", "list")(o)
	faultyLinks(o)
	o.Mix.Ops = OpMix{Get: 1}
	o.Crashes, o.Down, o.Every, o.LogPerShard, o.Faults = 10, 0, 10*time.Millisecond, true, FaultMix{Log: 1}
}

// typedTargets are the targets for rules about calls of data types.
var typedTargets = []target{
	{id: mutant.SizeWithAdd, name: "Size is compatible with add", seed: 1, typed: true, shape: onTypes("set")},
	{id: mutant.ContainsWithRemove, name: "Contains is compatible with remove", seed: 3, typed: true,
		shape: onTypes("set")},
	{id: mutant.PartsIgnored, name: "Parts ignored", seed: 1, typed: true, shape: onTypes("set", "map", "sorted-set")},
	{id: mutant.TypedPastRange, name: "Calls ignore a range lock", seed: 1, typed: true, shape: func(o *Options) {
		onTypes("set", "summary")(o)
		o.Mix.Ops = OpMix{Scan: 5, Put: 2, DeleteRange: 1}
	}},
	{id: mutant.PlanUnlocked, name: "A plan without its lock", seed: 7, typed: true,
		shape: onTypes("set", "map", "sorted-set", "bounded-counter")},
	{id: mutant.FirstPlanKept, name: "The first plan is kept", seed: 1, typed: true, shape: onTypes("set", "map", "list")},
	{id: mutant.OthersIgnored, name: "Undecided calls ignored", seed: 1, typed: true, shape: onTypes("bounded-counter")},
	{id: mutant.RefusalUnlocked, name: "A refusal without its lock", seed: 5, typed: true,
		shape: onTypes("bounded-counter")},
	{id: mutant.AheadIgnored, name: "Results ahead are not exclusive", seed: 3, typed: true,
		shape: onTypes("bounded-counter", "map", "sorted-set")},
	{id: mutant.LocklessFailuresFinal, name: "A failure without a lock is final", seed: 201, model: true, typed: true,
		shape: func(o *Options) {
			onTypes("set", "counter")(o)
			o.Unlocked, o.Jitter, o.Registers, o.Counters = 0.7, 2*time.Millisecond, 2, 0
			o.Mix.Interactive, o.Mix.Ops = 20, OpMix{Get: 1, Put: 6, Delete: 10}
		}},
	{id: mutant.OwnCallsUnseen, name: "Own calls are not read", seed: 1, typed: true, shape: longTransactions()},
	{id: mutant.PartUnregistered, name: "Readers of a part unregistered", seed: 24, typed: true, readers: true,
		shape: readTyped("set", "map", "sorted-set")},
	{id: mutant.WholeUnregistered, name: "Readers of the whole unregistered", seed: 3, typed: true, readers: true,
		shape: readTyped()},
	{id: mutant.ChangeIgnoredByReaders, name: "Changes not visible to readers", seed: 2, typed: true, readers: true,
		shape: readTyped()},
	{id: mutant.OnlyFirstChangeConflicts, name: "Changes visible to readers by their first call only", seed: 7,
		typed:   true,
		readers: true, shape: func(o *Options) {
			readTyped("set")(o)
			o.Methods, o.Mix.MaxOps = []string{"add", "remove", "contains", "contains"}, 8
		}},
	{id: mutant.SharedAfterSent, name: "A read joins one that was sent", seed: 15, model: true, typed: true, readers: true,
		shape: batchingReads},
	{id: mutant.SharedWithOtherArguments, name: "A read joins one that is not the same", seed: 13, typed: true,
		readers: true,
		shape: func(o *Options) {
			batchingReads(o)
			o.Types, o.Methods = []string{"set"}, []string{"contains", "contains", "contains", "add", "remove"}
		}},
	{id: mutant.UniqueShared, name: "Identifiers are shared", seed: 1, model: true, typed: true, readers: true,
		shape: func(o *Options) {
			batchingReads(o)
			o.Types = []string{"ids"}
		}},
	{id: mutant.AppliedForgotten, name: "Applied calls forgotten", seed: 11, typed: true, shape: restartsTyped},
	{id: mutant.MoveUnlocked, name: "A move does not lock a key that is called", seed: 4, typed: true,
		shape: func(o *Options) {
			onTypes()(o)
			movingKeys(o)
			o.Mix.Ops = OpMix{Get: 1}
		}},
	{id: mutant.MoveCopiesNoValue, name: "A move loses the effects of calls", seed: 1, typed: true,
		shape: func(o *Options) {
			onTypes()(o)
			movingKeys(o)
		}},
	{id: mutant.SealedIgnored, name: "Sealed calls not waited for", seed: 2, typed: true, readers: true,
		shape: readTyped()},
	{id: mutant.ReadersIgnored, name: "Readers of calls ignored", seed: 12, typed: true, readers: true,
		shape: readTyped()},
	{id: mutant.SendBeforeDurable, name: "Results of calls before they are durable", seed: 2, model: true, typed: true,
		shape: restartsTyped},
	{id: mutant.FoldPastSnapshot, name: "A change is overwritten despite a snapshot", seed: 3, typed: true, readers: true,
		shape: func(o *Options) {
			large("list", "set", "map")(o)
			o.SnapshotEvery, o.History, o.Lease, o.Mix.Snapshot, o.OpenBudget = 5*time.Millisecond, 20*time.Millisecond,
				150*time.Millisecond, 25, -1
		}},
	{id: mutant.DeltaTwice, name: "A stored change is applied twice", seed: 1, typed: true,
		shape: large("list", "sorted-set", "map")},
	{id: mutant.DeltaMissed, name: "A stored change is not applied", seed: 1, typed: true,
		shape: large("list", "set", "map")},
	{id: mutant.PagesPastSnapshot, name: "Pages are collected despite a snapshot", seed: 8, typed: true, readers: true,
		shape: func(o *Options) {
			large("set", "map", "sorted-set")(o)
			o.Paging = mvcc.Paging{Threshold: 300, MinPageBytes: 300, ChainPages: 1}
			o.SnapshotEvery, o.History, o.Lease, o.Mix.Snapshot, o.OpenBudget = 5*time.Millisecond, 2*time.Second,
				150*time.Millisecond, 25, -1
		}},
	{id: mutant.PatchOfLastOnly, name: "A patch of several transactions holds the last one only", seed: 6, typed: true,
		shape: func(o *Options) {
			large("set", "map", "sorted-set")(o)
			o.Paging = mvcc.Paging{Threshold: 300, MinPageBytes: 300, ChainPages: 3}
		}},
	{id: mutant.BufferedChangesDropped, name: "Values beside pages are lost", seed: 1, typed: true,
		shape: func(o *Options) {
			inPages(o)
			o.Types, o.Methods = []string{"map"}, []string{"set", "set", "delete", "get", "range"}
		}},
	{id: mutant.CallLocksLost, name: "Locks of queries lost at a restart", seed: 261, model: true, typed: true,
		shape: func(o *Options) {
			onTypes("set", "bounded-counter")(o)
			o.Crashes, o.Down, o.Every, o.Faults = 20, 0, 10*time.Millisecond, FaultMix{Log: 1}
			o.Order = txn.HotLast
		}},
}
