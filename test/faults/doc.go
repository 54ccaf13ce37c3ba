// Package faults injects the faults of real machines into nodes: full, slow and damaged disks, networks
// that lose one direction, frozen processes, clocks that jump, too few file descriptors, too many
// connections, and clients that do not read. docs/faults.md states for each what is guaranteed and what an
// operator observes; this package tests it, with real processes.
//
// On Linux, as root, TestMain starts the test binary again in namespaces. There the tests can mount small
// file systems and drop packets between loopback addresses without affecting the machine. Otherwise the
// tests that need this are skipped.
//
// Most tests run the clients of package torture, whose histories are checked. No test waits for a fixed
// time, except where a process must be frozen for longer than a lease.
package faults
