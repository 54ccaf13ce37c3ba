//go:build mutants

package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// of has clients call methods of some data types on one key each, and do little
// else.
func of(types ...string) func(*Options) {
	return func(o *Options) {
		o.Types, o.Registers, o.Counters = types, 2, 1
		o.Clients, o.Txns, o.Mix.MaxOps, o.Mix.Think = 10, 15, 3, time.Millisecond
		o.Mix.OneShot, o.Mix.Interactive, o.Mix.OneShotRead, o.Mix.InteractiveRead, o.Mix.Scan = 10, 5, 0, 0, 0
		o.Mix.OneShard, o.Mix.Ops = 0, OpMix{Get: 3, Put: 3, Delete: 1}
		o.Loss, o.Straggle, o.Crashes, o.Mix.Vanish = 0, 0, 0, 0
	}
}

// talkative has transactions in which many calls follow each other.
func talkative(types ...string) func(*Options) {
	return func(o *Options) {
		of(types...)(o)
		o.Mix.MaxOps, o.Mix.OneShot, o.Mix.Interactive = 6, 10, 10
	}
}

// readTyped has readers of all kinds meet calls.
func readTyped(types ...string) func(*Options) {
	return func(o *Options) {
		watched(o)
		o.Types, o.HotKeys, o.Registers, o.Counters = types, 0, 3, 1
		o.Mix.OneShotRead, o.Mix.InteractiveRead, o.Mix.Ops = 10, 6, OpMix{Get: 6, Put: 8, Scan: 1}
	}
}

// gathering has gateways gather reads, many of them the same.
func gathering(o *Options) {
	watched(o)
	o.Batch, o.Mix.OneShotRead, o.Nodes, o.Mix.InteractiveRead = time.Millisecond, 20, 1, 0
}

// large has values that are stored as changes, and shards that forget them.
func large(types ...string) func(*Options) {
	return func(o *Options) {
		of(types...)(o)
		o.Padding, o.CacheBytes, o.Mix.Ops = 400, 1, OpMix{Get: 1}
		o.Crashes, o.Down, o.Every, o.LogPerShard, o.Faults = 5, 0, 20*time.Millisecond, true, FaultMix{Log: 1}
	}
}

// restartsTyped has logs fail under calls, and much sent twice.
func restartsTyped(o *Options) {
	of("summary", "set", "list")(o)
	restless(o)
	o.Mix.Ops = OpMix{Get: 1}
	o.Crashes, o.Down, o.Every, o.LogPerShard, o.Faults = 10, 0, 10*time.Millisecond, true, FaultMix{Log: 1}
}

// typedHunts are those of rules about calls of data types.
var typedHunts = []hunt{
	{id: mutant.SizeWithAdd, name: "Size goes with add", seed: 1, typed: true, shape: of("set")},
	{id: mutant.ContainsWithRemove, name: "Contains goes with remove", seed: 2, typed: true, shape: of("set")},
	{id: mutant.PartsIgnored, name: "Parts ignored", seed: 1, typed: true, shape: of("set", "map", "sorted-set")},
	{id: mutant.TypedPastRange, name: "Calls slip past a range lock", seed: 1, typed: true, shape: func(o *Options) {
		of("set", "summary")(o)
		o.Mix.Ops = OpMix{Scan: 5, Put: 2, DeleteRange: 1}
	}},
	{id: mutant.PlanUnlocked, name: "A plan without its lock", seed: 26, typed: true, shape: of("set", "map", "sorted-set", "bounded-counter")},
	{id: mutant.FirstPlanKept, name: "The first plan is kept", seed: 1, typed: true, shape: of("set", "map", "list")},
	{id: mutant.OthersIgnored, name: "Undecided calls ignored", seed: 1, typed: true, shape: of("bounded-counter")},
	{id: mutant.RefusalUnlocked, name: "A refusal without its lock", seed: 1, typed: true, shape: of("bounded-counter")},
	{id: mutant.AheadIgnored, name: "Answers ahead are not alone", seed: 3, typed: true, shape: of("bounded-counter", "map", "sorted-set")},
	{id: mutant.OwnCallsUnseen, name: "Own calls unseen", seed: 1, typed: true, shape: talkative()},
	{id: mutant.PartUnregistered, name: "Readers of a part unregistered", seed: 9, typed: true, readers: true, shape: readTyped("set", "map", "sorted-set")},
	{id: mutant.WholeUnregistered, name: "Readers of the whole unregistered", seed: 11, typed: true, readers: true, shape: readTyped()},
	{id: mutant.ChangeUnshown, name: "Changes not shown to readers", seed: 1, typed: true, readers: true, shape: readTyped()},
	{id: mutant.ChangeShownByFirst, name: "Changes shown by their first call", seed: 7, typed: true, readers: true, shape: func(o *Options) {
		readTyped("set")(o)
		o.Methods, o.Mix.MaxOps = []string{"add", "remove", "contains", "contains"}, 8
	}},
	{id: mutant.SharedAfterSent, name: "A read joins one that was sent", seed: 27, model: true, typed: true, readers: true, shape: gathering},
	{id: mutant.SharedUnlike, name: "A read joins one that is not the same", seed: 13, typed: true, readers: true, shape: func(o *Options) {
		gathering(o)
		o.Types, o.Methods = []string{"set"}, []string{"contains", "contains", "contains", "add", "remove"}
	}},
	{id: mutant.UniqueShared, name: "Identifiers are shared", seed: 1, model: true, typed: true, readers: true, shape: func(o *Options) {
		gathering(o)
		o.Types = []string{"ids"}
	}},
	{id: mutant.AppliedForgotten, name: "Applied calls forgotten", seed: 44, typed: true, shape: restartsTyped},
	{id: mutant.MoveUnlocked, name: "A move does not lock a key that is called", seed: 4, typed: true, shape: func(o *Options) {
		of()(o)
		wandering(o)
		o.Mix.Ops = OpMix{Get: 1}
	}},
	{id: mutant.MoveCopiesTooLittle, name: "A move does not bring what was called", seed: 1, typed: true, shape: func(o *Options) {
		of()(o)
		wandering(o)
	}},
	{id: mutant.SealedIgnored, name: "Sealed calls not waited for", seed: 2, typed: true, readers: true, shape: readTyped()},
	{id: mutant.ReadersIgnored, name: "Readers of calls ignored", seed: 12, typed: true, readers: true, shape: readTyped()},
	{id: mutant.SendBeforeDurable, name: "Calls told before they are durable", seed: 2, model: true, typed: true, shape: restartsTyped},
	{id: mutant.FoldPastPin, name: "A change is written over past a pin", seed: 3, typed: true, readers: true, shape: func(o *Options) {
		large("list", "set", "map")(o)
		o.PinEvery, o.History, o.Lease, o.Mix.Snapshot, o.OpenBudget = 5*time.Millisecond, 20*time.Millisecond, 150*time.Millisecond, 25, -1
	}},
	{id: mutant.DeltaTwice, name: "A stored change is made twice", seed: 1, typed: true, shape: large("list", "sorted-set", "map")},
	{id: mutant.DeltaMissed, name: "A stored change is not made", seed: 1, typed: true, shape: large("list", "set", "map")},
	{id: mutant.PagesPastPin, name: "Pages are collected past a pin", seed: 8, typed: true, readers: true, shape: func(o *Options) {
		large("set", "map", "sorted-set")(o)
		o.Paging = mvcc.Paging{Over: 300, Least: 300, Chain: 1}
		o.PinEvery, o.History, o.Lease, o.Mix.Snapshot, o.OpenBudget = 5*time.Millisecond, 2*time.Second, 150*time.Millisecond, 25, -1
	}},
	{id: mutant.PatchOfTheLast, name: "A patch of several transactions says what the last did", seed: 6, typed: true, shape: func(o *Options) {
		large("set", "map", "sorted-set")(o)
		o.Paging = mvcc.Paging{Over: 300, Least: 300, Chain: 3}
	}},
	{id: mutant.TopsDropped, name: "What is beside pages is lost", seed: 1, typed: true, shape: func(o *Options) {
		inPages(o)
		o.Types, o.Methods = []string{"map"}, []string{"set", "set", "delete", "get", "range"}
	}},
	{id: mutant.CallLocksLost, name: "Locks of questions lost at a restart", seed: 261, model: true, typed: true, shape: func(o *Options) {
		of("set", "bounded-counter")(o)
		o.Crashes, o.Down, o.Every, o.Faults = 20, 0, 10*time.Millisecond, FaultMix{Log: 1}
		o.Order = txn.HotLast
	}},
}
