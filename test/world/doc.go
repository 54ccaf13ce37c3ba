// Package world runs clusters of linchpin's real machines in virtual time, without goroutines, clocks or a network. It
// is the ground of all simulations: test/sim adds random clients and checks, test/scenario schedules, and
// test/bench/simulated the costs of work.
//
// # What is real
//
// The machines of gateways and shards, the messages, and package groupcommit, which decides what a step of a shard
// takes, what is appended together, and which messages wait for the log. The log is a memstore.
//
// # What is simulated
//
//	Time    a heap of events; a duration is the time to the next event
//	Links   messages that are late, overtake each other, are doubled or lost; nodes that are cut off
//	Disk    appends, fsyncs, reads, errors, lack of space; a crash loses what is not durable
//	Shard   what package shard requires of its caller
//	Replica a log, rows that are applied and flushed, Raft snapshots; members that change, disks that come back empty.
//	        What is proposed, applied and released is real: packages consensus and replication
//	Node    a process that may stall, with a clock of its own rate and a time of day that may be wrong;
//	        its gateway, which may crash alone
//
//	gateway ─▶ send ─▶ Links ─▶ deliver ─▶ inbox ─▶ step ─┬▶ Urgent ─▶ send
//	                                                      └▶ Disk: append ─▶ fsync ─▶ send
//
// Everything random comes from one source, so a run is repeated exactly by its seed. A user that draws from the same
// source (World.Rng) has to do so in a fixed order, and must not range over a map. Without a source, each duration is
// what was configured, and events of one instant happen in the order of their causes.
//
// # Faults
//
// A user injects them: Node.Crash, CrashGateway, Torn, CutUntil, StoppedUntil and Jump; Disk.Crash, SlowBy and Level;
// the shares of Links. A restarted machine has a new incarnation, and events that the old one had scheduled are
// dropped. Repair ends all faults.
//
// # Reports
//
// The world calls its User. If a crash revokes a step, the notes that are attached to it (Shard.Attach) become Lost: a
// transaction that was decided in memory only has never been decided.
//
// # One shard
//
// Tests and golden scripts of a single machine use Single: it has the same log and reads, and no virtual time.
package world
