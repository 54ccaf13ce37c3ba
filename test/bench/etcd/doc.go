// Package etcd calls etcd with as little as a comparison needs: two calls of its gRPC service KV, encoded by hand, so
// that its own client is no dependency of linchpin.
//
// Guarantee: a Put or PutIf that returns without an error is on the disks of a majority of the members.
//
//	Put                               one message of etcd's Raft
//	Get, then PutIf; again if it      a read that asks a majority, and one message of its Raft, for each attempt
//	found another revision
package etcd
