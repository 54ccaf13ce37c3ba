// Package integration tests linchpin from the outside: programs that are built, started, killed and
// stopped, clients on sockets, and a network that can be cut.
//
//	proc      builds the programs and runs nodes as processes
//	proxy     a network link that can be cut or can swallow everything
//	torture   clients of all kinds that record what they see, and the checkers
//	anomaly   forbidden interleavings by name, on a cluster in one process
//	sandbox   namespaces with small disks and a network of their own
//	.         what processes guarantee, test by test
//
// No test waits for a fixed time where it can wait for an event: a node is ready when it serves, a cluster
// when its members report each other as up, and a fault lasts until a number of transactions has failed or
// committed during it.
package integration
