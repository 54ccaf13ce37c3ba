// Package sim runs whole clusters of linchpin's machines from one seed: no
// goroutine, no clock, no network. A failure can therefore be played again,
// step by step, from its seed.
//
// # The world
//
// A world is a heap of events in virtual nanoseconds. Its nodes have the real
// gateways, in a third of the runs with several machines each (machines.go), and
// shards and a memstore as their log, and a shell that keeps what
// package shard asks of its caller: entries are appended in order, Output.Send
// waits until the log as it stood is durable, Output.Urgent does not, cold
// reads are answered some time later from the log as it is then. Around them
// everything is random: the delay, order, number and loss of messages, how
// many of them a step takes in, the length of an fsync, the rates of clocks
// (5 % either way), when nodes, logs and gateways crash, and when disks have no
// room for what is new. A crash loses the
// shards' memory and any part of the log that is not durable.
//
// # The clients
//
// Clients run every kind of transaction on very few keys: one-shots with all
// operations and conditions, interactive ones that are retried with their age,
// readers, scans at kept indexes. Some vanish in the middle, some set short
// deadlines, and whoever loses an answer enquires, at times through two
// gateways; others enquire out of curiosity.
//
// # The verdict
//
// Shards tell (shard.Trace) when they decide and which effect becomes visible
// at which index. From this the judge knows the instant F of every update, in
// one order over the whole cluster, and
//
//   - replays all updates in the order of F on a plain model, and compares
//     every result, every condition and every effect (replay.go);
//   - finds for every reader, and for every condition that failed, an instant
//     inside its life at which all it saw was so;
//   - has pkg/history's exact judge look for cycles in the dependency graph of
//     the same versions, which knows nothing of F;
//   - checks that no id was told two outcomes, that every call was answered in
//     time, that the logs hold the model's last state, and that nothing is left
//     behind (verdict.go).
//
// Each shard's own invariants are checked after every step.
package sim
