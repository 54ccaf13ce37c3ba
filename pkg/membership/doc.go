// Package membership brings a cluster's nodes together: at its first meeting,
// and again after restarts and changes of address.
//
// # The first meeting
//
// Every first member is started with the list of all of them, by the addresses
// under which they call each other. The sorted list settles nearly everything:
// a node's number is its place in it, and where keys are placed is a function
// of it. What is left is the cluster's id, which one of them has to draw: the
// first of the list, the founder.
//
//	all       call everyone on the list, again and again, and introduce
//	          themselves: list, shards, hot keys
//	founder   when everyone has answered and agrees: draws the id, writes it
//	          to its catalog, and from then on tells it
//	others    when the founder tells the id: write it to their catalogs
//
// A node serves nothing before the id is in its catalog. The founder writes it
// before it tells it, so no two ids are ever told; whoever crashes on the way
// asks again. Since a node calls and is called, a difference between two
// lists, counts of shards or lists of hot keys is found by both; each ends with
// an error that names both nodes.
//
// # Afterwards
//
// The catalog decides, and the flags of the first meeting count no more. A
// node that starts calls all members it knows, until each has answered once,
// and tells them where it can be called now. With its address goes the number
// of times it has changed, so that what is newer wins wherever news from two
// sides meet, and every introduction carries the whole table, so that two nodes
// that moved at once find each other through a third. The addresses of --join
// help: they are called too while someone is missing.
//
// # What is refused
//
//   - A node of another cluster, by whoever is asked. A node that is told with
//     --join to call a foreign one ends.
//   - A member with an empty store of which others know that it once had one:
//     what it held is lost, and to let it in again would hide that.
//   - A member whose store was set back to an older copy: each store gets a random
//     mark when a node begins to serve on it and every ten minutes, and the others
//     remember the last one they were told (Past). A node calls them all before it
//     serves, and they tell what they remember.
//   - Two processes on copies of one store: when one learns that "it" runs
//     elsewhere, it ends.
//   - Nodes that speak another version of the messages between nodes.
//
// # How it is built
//
// Machine is pure: introductions and answers go in, and Effects come out that
// say what to make durable before anything else is told. Shell does what it
// says: it calls, is called, and saves.
package membership
