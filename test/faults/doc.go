// Package faults does to nodes what happens to machines: disks that are full,
// slow or damaged, networks that lose one direction, processes that stand
// still, clocks that jump, too few file descriptors, too many connections, and
// clients that do not read. docs/faults.md says of each what is promised and
// what an operator sees; here is its test, with real processes.
//
// On Linux, as root, the tests run in namespaces of their own (TestMain starts
// the test binary once more in them): there they may mount a small disk, and
// drop packets between loopback addresses, and nothing else on the machine
// notices. Elsewhere the tests that need that are skipped and say so.
//
// What a fault is done to is a cluster under the clients of package torture,
// whose histories are judged. Nothing waits for a fixed time, except that a
// process has to stand still for longer than a lease.
package faults
