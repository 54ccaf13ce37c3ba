// Package certs makes certificates, and keeps those that a program uses fresh.
//
// # Who certifies what
//
//	authority   what                                     name (CN)   for
//	ca.crt      the nodes' certificates (node.crt)       "node"      server and client
//	ca.crt, or  the users' (client.NAME.crt)             the user    client
//	another
//
// A node's certificate is one whose name is "node" (users.Node) and that the
// nodes' authority has signed, for use by servers and by clients. A user's is any
// other, of the users' authority, which is the same one by default.
// With two authorities, that of the users cannot sign certificates of nodes.
//
// The hosts under which a node is called are in its certificate, and are checked
// by clients and by other nodes.
//
// # Reload
//
// A Reloader looks at its files every few seconds, and takes them when one has
// changed and all of them fit together: a key that does not belong to its
// certificate, a half-written file or an expired certificate leave what was there
// before in use. Connections that exist are not disturbed.
//
// Only what Go's own library has is used: crypto/tls, crypto/x509, ECDSA on P-256.
package certs
