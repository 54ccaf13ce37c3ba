// Package consensus replicates the log of a shard: one Replica is the copy of one group's log on one node. The
// algorithm is Raft (go.etcd.io/raft/v3); this package adds what Raft does not have and a shard needs: leases
// that gateways can rely on, and transfers of leadership that keep them.
//
//	leader                    voter A                   voter B
//	  |--append(e), heartbeat-->|                         |
//	  |--append(e), heartbeat---------------------------->|
//	  | write(e)                | promise until now + D   | promise until now + D
//	  |                         | write(e)                | write(e)
//	  |<----response(e), echo---|                         |
//	  | e on two disks: committed; lease until sent + 0.9 D
//	  | Apply(e)                |                         |
//
// It guarantees, whatever is lost, late, repeated, cut off or stopped:
//
//   - Entries that were applied at one replica are applied at all, at the same positions, in the same order.
//   - While a leader has a lease, no leader of a later term has one. Clocks are never compared. Their rates may
//     differ by 5 %.
//   - This holds while the group changes, logs are cut and disks are lost, as long as of the voters, and while the
//     configuration is joint of both sets of voters, a majority has its disks.
//   - A leader that begins (Begin) has applied all entries that earlier leaders reported as committed, and names
//     the time for which registrations of the leader before may still be valid (Window).
//
// An example. A leads in term 3 and is cut off from B and C. B has promised A until 800 ms after A's last
// heartbeat arrived; A's lease ends 720 ms after it sent that heartbeat, by its own clock. B then campaigns,
// and C votes for it, because its promise has ended too. The log of B has all that A acknowledged, since each
// of these entries is on the disk of B or C, and a candidate needs a log that is as complete as that of a
// majority. A steps down when it has had no lease for 800 ms.
//
// Replicas whose log or rows are damaged, or differ from those of a majority, are found and replaced (damage.go).
// The group changes while it serves (change.go): a learner gets the log, joint consensus swaps it in for a voter, and
// the removed replica is destroyed when a release is committed. A replica that the log cannot serve gets the rows as
// of one position (snapshot.go). The scripts in testdata show a commit, a failover, a transfer and a change.
//
// Three hazards shape the code. A vote must not be granted during a promise, also after a restart, and Raft
// itself forgets: so each vote request passes the promise (promise.go) before Raft sees it. A lease counts from
// the time of sending, not from that of the response: otherwise it outlasts the promises that it rests on
// (lease.go). And a leader that has given up its lease for a transfer must never serve again in its term, even
// if the transfer fails (lease.go).
//
// The package is pure: no goroutines, locks, clock or disk. A node calls it with messages and the time, writes
// what Ready returns, and reports what is written and applied. All timing is by Tick and the time given; the
// timers of Raft are not used, so a run can be repeated exactly.
//
// Rules are cited as in docs/protocol.md, "Replication".
package consensus
