// Package sim runs random clients on clusters of linchpin's machines in virtual time (test/world), from one seed, and
// checks the history. Any failure can be replayed, step by step, from its seed.
//
// # The cluster
//
// Random are the delay, order, number and loss of messages, how many messages a step processes, the duration of an
// fsync, the rates of clocks (5 % either way), crashes of nodes, logs and gateways, and lack of free disk space. In a
// third of the runs gateways have several machines.
//
// # The clients
//
// Clients run every kind of transaction on very few keys: one-shots with all operations and conditions, interactive
// transactions whose retries keep their age, readers, and reads at snapshots. Some clients vanish in the middle, and
// some set short deadlines. A client that loses a response queries the outcome, at times through two gateways. Other
// outcomes are queried at random.
//
// # The checks
//
// Shards report (shard.Trace) when they decide a transaction, and which effect becomes visible at which CSN. So the
// instant F of every update is known, in one order over the whole cluster. The checks
//
//   - replay all updates in the order of F on a plain model, and compare
//     every result, every condition and every effect (replay.go);
//   - find, for every reader and every failed condition, an instant within
//     the lifetime of the transaction at which all its results hold;
//   - search for cycles in the dependency graph of the same versions with
//     pkg/history, which does not know F;
//   - check that no id has two outcomes, that every call returned in time,
//     that the logs hold the model's last state, and that nothing is left
//     over (check.go).
//
// After every step each shard checks its own invariants.
package sim
