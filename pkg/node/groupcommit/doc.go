// Package groupcommit decides what happens between the steps of a node's shards
// and its log: which messages a step takes (Inbox), which steps one append brings
// to the log (Gather, Batch), which of their messages leave at once, and what the
// others wait for (Release, Releases).
//
// It is pure: it has no goroutine, lock or clock. Package node calls it from its
// goroutines, and test/sim from the events of a simulated cluster. So what is
// tried there, with crashes, is what runs.
package groupcommit
