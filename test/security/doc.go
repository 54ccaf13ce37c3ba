// Package security tests what docs/security.md guarantees: with nodes in this process and clients that have
// too few permissions, and with a node process and clients that do what the protocols permit, or violate them.
package security
