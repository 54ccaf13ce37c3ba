// Package groups runs the replicas of a node's shards: goroutines, disk and network around package replication.
//
//	other nodes ─▶ inbox ─▶ turn of a replica ─▶ messages to other replicas
//	                            │     ▲
//	                     writes │     │ ends of writes and applications
//	                            ▼     │
//	      log writer: one log for all groups, one fsync ─▶ committed ─▶ messages of the machine leave
//	      row writer: committed rows, in the order of each group
//
// # Guarantees
//
//  1. A step of a machine is taken only while its leader has the lease, and the clock is read after the messages of the
//     step were taken (R3.6). No message of the machine leaves before what the machine had written is committed, and
//     none after the leadership has ended (R2.1, R2.5; package replication).
//  2. A replica never waits for the disk: a turn passes writes on, and learns of their ends in a later turn. A group
//     whose followers are slow, or a store that is slow, does not hold back other groups.
//  3. Writes of all groups that wait while an fsync runs share the next one (R6.2).
//  4. The log is truncated only up to what the store has in its tables (R6.5). Rows of a Raft snapshot are swapped in
//     whole, before the log begins there (R6.10). The log is kept for replicas that are being filled (fills.go).
//
// Example. The leader of shard 1 takes ten commits from its inbox. Its machine executes them in one turn, and what they
// have written is one entry: the turn sends it to two followers, and passes it to the log writer. The next turn takes
// the ten commits that have arrived meanwhile. When a follower has the first entry on its disk, and so has the leader,
// a turn sends the ten responses.
//
// Few goroutines take the turns of all replicas, and send together what several turns send (turns.go), as are the
// heartbeats of all groups (beats.go).
//
// Hazard: a turn that takes long delays the heartbeats of its group, and other turns. So steps are as short as those of
// shards without replicas, what waits for the disk or the network has a goroutine of its own, and goroutines that are
// in long turns are relieved. The lease ends by the clock, whatever the process does.
//
// A new leader makes its machine from the rows (Shard.Begin); one that ends drops it. Package node has the machines and
// their inboxes (Shard), and routes messages to the leaders that this package knows.
package groups
