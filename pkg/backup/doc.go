// Package backup copies a state of a whole cluster into a file, and such a file
// into an empty cluster of any size.
//
// A backup is made by a client, at a snapshot: nobody who writes is held, and the
// file is what the store was at one moment. Values of data types are copied in
// their stored form (client.Dump), so that the types need not be known here.
// Restoring writes them back (client.Restore), and then compares the whole cluster
// with the file. What is not in a file: snapshots and the history, the versions'
// identities, which keys were hot, and which transactions had which outcome.
//
// # The file
//
// It begins with Magic, and goes on with frames:
//
//	kind (1) | length of the body (4) | CRC-32C of kind, length and body (4) | body
//
// Numbers are little-endian. A header, kind H, is JSON. Frames of kind K have keys,
// in order and each once, compressed with Zstandard (RFC 8878):
//
//	length of the key, key, type, 0, length of the value, value
//
// as unsigned varints, with the value in its stored form. The 0 is kept for what
// later versions may add. A footer, kind F, is JSON: how many keys there are, which
// data types, and the SHA-256 of all that is before it. Nothing follows.
//
// A file that is being written is called FILE.partial. It has no footer, and can be
// gone on with after its last whole frame, for as long as its snapshot is kept.
// FILE appears when all is on disk.
package backup
