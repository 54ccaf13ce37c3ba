// Package guard stands before a node's services: it bounds what strangers can
// use up, finds out who calls, and refuses who may not.
//
//	accept     limits.go      connections in all, and those of strangers by address
//	handshake  gate.go        TLS; a certificate says who it is
//	headers    gate.go        a token says who it is; may it call this at all?
//	message    caller.go      may it read and write these keys? The server asks
//
// The first three come before a byte of a message is read or room for it made. So
// what a stranger can have is a connection, for at most Limits.Timeout, and the
// headers of a few calls.
//
// # Strangers
//
// A connection is a stranger's until its certificate has been verified or one of
// its calls has been let in. Strangers' connections are few, few of one address,
// and short; known ones do not count against them. Who fails to show who it is
// loses the connection after some failures, and an address with many is refused
// for a while, which doubles. Connections that are known already go on.
//
// # Known callers
//
// A Caller is what calls carry on (CallerOf). It holds no permissions: it looks
// them up in the Directory with every question, so that a revocation reaches a
// stream that has been open for days. A lookup is two atomic loads unless
// something has changed.
//
// # How old permissions may be
//
// A Directory asks the store for the table of users every Every (1 s), and once
// more when a change was made through its node. What was asked for longer than
// Grace (30 s) ago is not used: then only Root and the other nodes are
// admitted, which need no table. So a revocation is in force everywhere after Every
// and the time of a read, except at nodes that are cut off from the shard of the
// table, where it is after Grace at the latest: there by refusing all users.
//
// # Without TLS
//
// A Gate without certificates admits all connections without authentication: CallerOf is nil,
// which may do everything. It still bounds connections.
package guard
