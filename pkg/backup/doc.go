// Package backup copies a state of a whole cluster into a file, and such a file
// into an empty cluster of any size.
//
// A backup reads a snapshot through a client: it blocks no writer, and the file has the
// state of one moment. Values of data types are copied in their stored form
// (client.DumpOp), so that the types need not be known here. A restore writes them back
// (client.RestoreOp), and then compares the whole cluster with the file. A file does not
// have snapshots, the history, the identities of versions, the heat of keys and the
// outcomes of transactions.
//
// # The file
//
// It begins with Magic, and goes on with frames:
//
//	kind (1) | length of the body (4) | CRC-32C of kind, length and body (4) | body
//
// Numbers are little-endian. A header, kind H, is JSON. Frames of kind K have keys,
// sorted, each once, compressed with Zstandard (RFC 8878):
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
