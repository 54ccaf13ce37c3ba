// Package simulated is a cluster in virtual time whose work is charged. The real machines (shard.Machine, txn.Gateway),
// on logs in memory, exchange real messages; package groupcommit decides when these leave.
//
// A node is one core with a queue of jobs: a message for its shard or its gateway, a call of one of its clients, a
// timer. Messages that end something go first (msg.Envelope.Ends), the others in the order of arrival. A job takes
//
//	a step      the median of what the machine's call took when it was measured on the same workload (Measure), by
//	            kind of message
//	receiving   a constant, if the message came from another node
//	sending     the same constant for each message to another node
//
// and then its outputs leave. A message to another node arrives a delay later, one to the same node at once. Clients
// run on the nodes, as in the paper that the workload is from: a call costs no message. An fsync takes time of its own,
// off the core, and is shared by everything that waits for it.
//
// So throughput has three limits, as in reality: the cores, the delays (clients are few and wait), and waits for locks
// and readers. Not modelled are batches (a real shard processes everything that has arrived in one step, and a real
// sender sends everything that is ready in one frame; both are cheaper), the memory hierarchy, the scheduler and the
// garbage collector.
//
// In a real node, messages that end something only pass those that wait for the same step of their shard; here they
// pass everything that waits for the core. Options.OneLane is the other extreme.
//
// Clients may run an application of package app instead of drawn transactions (Options.App). Its code is a coroutine
// that costs nothing. The cost of a call is linear in its size, which is operations, rows and parts of results. With
// Options.Batches, cores process everything that waits for one machine at once, as nodes do; it is charged one by one,
// and the rows and results of the batch are divided in the ratio of what such calls cause alone.
//
// The greatest possible throughput is computed: by Bound for drawn transactions, from what the protocol needs for each;
// by Result.Bounds for an application, from a run in which one client at a time makes the same transactions, so that
// none waits for another.
//
// With the same options and costs a run is the same, event by event.
package simulated
