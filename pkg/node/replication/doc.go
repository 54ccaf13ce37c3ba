// Package replication runs one replica of a shard on a node: it passes what the shard's machine writes to the
// group, and what the group has committed to the node's store.
//
//	          leader                                        follower
//	step ─▶ Submit ─▶ Propose ─▶ consensus ──── append ───▶ consensus
//	                                │  ▲                       │
//	                          Write │  │ Written         Write │ ...
//	                                ▼  │                       ▼
//	                       log of the node (fsync)     log of the node (fsync)
//	                                │ committed                │ committed
//	         messages leave ◀───────┤                          │
//	                          Apply ▼                    Apply ▼
//	            reads start ◀─ rows of the store          rows of the store
//
// It guarantees that a message of the machine leaves only when everything that the machine had written by then is
// committed, in the order of the steps (R2.1); that rows are set when they are committed, on all replicas alike
// (R2.4); and that a machine of an earlier term sends nothing more (R2.5).
//
// An example. Two steps of a machine write x = 1, and x = 2 with a response to a client. Both are one entry, which
// the leader sends to the followers while it writes it. When one follower has it on its disk too, the response
// leaves, and the leader sets both rows; the followers set them when the next message reports the commit. If the
// leader is stopped before that, the entry may or may not survive, and no client knows of it.
//
// A machine runs only on the replica that leads, between Ready.Begin and Ready.Ended. Its steps need the leader's
// lease (LeaseEnd): the node takes the messages of a step first, and reads the clock after that (R3.6).
//
// Rows that cannot be read make the replica unfit (SetUnfit): its machine ends, another one leads, and the leader
// replaces it. So clients see no error, but a change of leader.
//
// The package is pure: no goroutines, locks, clock or disk. A node calls it with messages and the time, and
// test/world does so in simulations.
package replication
