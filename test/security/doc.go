// Package security tries what docs/security.md promises: from inside, with nodes
// in this process and clients that have too few permissions; and from outside,
// with a real process and a client that does whatever the protocols allow, and
// what they do not.
package security
