// Package simulated is a cluster on which time is virtual and work is not: the
// real machines (shard.Machine, txn.Gateway), on logs in memory, exchange real
// messages, and everything that they do is charged what it costs.
//
// A node is one core with a queue. What arrives waits for its turn: a message
// for its shard or its gateway, a call of one of its clients, a timer. Messages
// that end something go first (msg.Envelope.Ends), the rest is in the order of
// arrival. Each takes
//
//	a step      what the machine's own call took when it was measured on the
//	            same workload (Measure), by kind of message: the median
//	receiving   a constant, if the message came from another node
//	sending     the same constant for each message to another node
//
// and then its outputs leave. A message to another node arrives a delay later,
// one to the same node at once. Clients are goroutines of the node, as in the
// paper that the workload is from: a call costs no message. An fsync takes a
// time of its own, off the core, and is shared by what waits for it.
//
// So throughput has three limits here, as it has outside: the cores, the
// delays (clients are few and wait), and waits for each other. What it leaves
// out: batches (a real shard takes all that has arrived in one step, and a
// real sender sends all that is ready in one frame, both cheaper than one by
// one), the memory's hierarchy, the scheduler and the collector of garbage.
//
// What ends something goes first in real nodes, too, but less far: it overtakes
// what waits for the same step of its shard, whereas here it overtakes all that
// waits for the core. A real gateway has no queue, and its messages wait for
// no shard if there is another core. Options.OneLane is the other extreme.
//
// Clients may run an application of package app instead of drawn transactions
// (Options.App). Its code is a coroutine that costs nothing. What its calls cost
// is a line over their size, which is operations, rows and parts of answers.
// Options.Batches has cores do all that waits for one machine at once, as nodes
// do; it is charged one by one all the same, and what came of it, rows and answers,
// is divided in the ratio of what such calls bring about by themselves.
//
// What can be had at all is told beforehand: by Bound for drawn transactions, from
// what the protocol needs for each; by Result.Bounds for an application, from a run
// in which one client at a time makes the same transactions, and nobody waits.
//
// With the same options and costs a run is the same, event by event.
package simulated
