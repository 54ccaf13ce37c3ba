// Package integration tests linchpin as it is used: programs that are built,
// started, killed and stopped, clients on the other side of a socket, and a
// network in between that can be cut.
//
//	proc      builds the programs and runs nodes as processes
//	proxy     a network link that can be cut and can swallow everything
//	torture   clients of all kinds that record what they see, and the judges
//	anomaly   forbidden interleavings by name, on a cluster in one process
//	.         what processes promise, test by test
//
// Nothing here waits for a fixed time. A node is ready when it says so, a
// cluster when its members say that they see each other, and a fault lasts
// until so many transactions have met it.
package integration
