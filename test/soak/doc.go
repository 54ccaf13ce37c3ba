// Package soak runs three nodes for an arbitrary time under all workloads and faults at the same time, and
// checks the guarantees.
//
//	make soak DURATION=1h SEED=7
//	go test ./test/soak -run 'TestSoak$' -count=1 -v -timeout 0 -args -duration 1h -seed 7
//
// A soak consists of rounds of about a minute. In each round
//
//   - the applications of package app and the clients of package torture start with keys of their own;
//   - faults are injected under this load (Schedule): one fault of a process or its disk, and one of
//     links or connections at the same time;
//   - the faults end, and everything has to work again soon;
//   - the load stops. Nothing may be left in flight on any node. Each application checks its invariants
//     against the responses of its clients, and the history of the torture clients is checked for
//     strict serializability;
//   - the keys of the round are deleted, so that the store stays small, and memory, goroutines, files
//     and disk usage are sampled.
//
// At the end the samples are checked: after a warmup none of the quantities may grow (CheckGrowth). A leak
// shows only in a process that runs long, so one node at a time, in turn, is protected from faults that
// would end its process.
//
// The schedule depends on the seed and the duration only, and is printed round by round. The random choices
// of clients depend on the seed too, but their interleaving depends on the machine.
//
// As root, on Linux, the soak runs in namespaces (package sandbox), with links that lose one direction and
// a small disk. Otherwise links are proxies, which lose both directions, and there are no disk faults.
//
// `make test` runs the same for some seconds.
package soak
