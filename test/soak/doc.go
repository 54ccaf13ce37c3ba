// Package soak runs three real nodes for as long as one likes, under every
// workload and every fault at the same time, and holds them to what is promised.
//
//	make soak DURATION=1h SEED=7
//	go test ./test/soak -run 'TestSoak$' -count=1 -v -timeout 0 -args -duration 1h -seed 7
//
// A soak is made of rounds of about a minute. In each
//
//   - the applications of package app, and the clients of package torture,
//     begin with keys of their own;
//   - faults are done (Schedule), one to a process or its disk and one to links
//     or by connections at the same time, while all that runs;
//   - the faults end, and everything has to work again soon;
//   - the load stops. Nothing may be left under way on any node. Each
//     application holds what is there against what its clients were told, and
//     the history of the others is judged for strict serializability;
//   - the keys of the round are deleted, so that the store stays small, and
//     memory, goroutines, files and disk are sampled.
//
// In the end the samples are judged: from when things have settled none of them
// may grow (Judge). Only a process that lives for long shows what it gathers:
// that of one node at a time, in turn, is spared from what would end it.
//
// The schedule is drawn from the seed alone and printed round by round; the same
// seed and duration give the same schedule again. What clients draw comes from
// the seed as well, but how they meet is up to the machine.
//
// As root, on Linux, the soak runs in namespaces (package sandbox), with links
// that lose one way, and a small disk. Elsewhere links are proxies, which are
// cut and swallow in both directions, and disks do not get full.
//
// `make test` runs the same for some seconds.
package soak
