// Package membership connects the nodes of a cluster: at the first meeting, and after restarts and changes
// of address.
//
// # The first meeting
//
// Every initial member is started with the list of all members, by the addresses under which they call each
// other. The sorted list determines nearly everything: a node's number is its position in the list, and the
// placement of keys is a function of the number. The only missing part is the cluster's id, which the first
// node of the list, the founder, chooses at random.
//
//	all       call every node of the list repeatedly and introduce themselves:
//	          list, numbers of shards and replicas, hot keys
//	founder   when all have responded and agree: choose the id, save it to the
//	          catalog, and include it in introductions from then on
//	others    when an introduction of the founder has the id: save it
//
// A node serves nothing before the id is in its catalog. The founder saves it before sending it, so no two
// ids are ever sent; a node that crashes in between calls again. Since each node calls and is called, both
// nodes detect different lists, numbers or hot keys; each ends with an error that names both. With replicas a node
// serves for the first time when all others have saved that it has the id (FinishFirstRound).
//
// # Afterwards
//
// The catalog is authoritative, and the flags of the first meeting are ignored. A node that starts calls
// all known members until each has responded once, and sends its current address. Each address has a count
// of its changes, so that the newest one wins. Every introduction contains all addresses, so two members
// that have both moved find each other through a third. The addresses of --join are called too while a
// member is missing.
//
// # What is rejected
//
//  1. A node of another cluster. A node that calls one because of its own --join list ends.
//  2. A member with an empty store, if another node knows that it had one: its data is lost, and accepting
//     it would hide that. With replicas its data is on other nodes: it is accepted with a number for its new
//     disk, and the old disk is rejected from then on (disk.go).
//  3. A member with an older copy of its store. Each store gets a random stamp when a node starts to serve
//     on it and every ten minutes, and the other members remember the last one (Past). A node calls all
//     members before it serves, and their responses contain what they remember.
//  4. Two processes on copies of one store: a process that learns that its node also runs at another
//     address ends.
//  5. Nodes with another version of the peer protocol.
//
// # Structure
//
// Machine is deterministic: its inputs are introductions and responses, its outputs are Effects, which
// state what must be durable before anything is sent. Shell executes them: it calls, is called, and saves.
package membership
