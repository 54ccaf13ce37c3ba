// Package peerpb is what the nodes of a cluster say to each other, as
// generated from peer.proto: the stream that carries the protocol's messages
// (package transport/grpc) and the introductions at a meeting (package
// membership). Its messages are gogo/protobuf's: clients and servers must be
// made with the codec of package rpc/codec.
//
// To generate it anew: make proto
package peerpb

// File is the name under which this package's descriptors are registered; it
// is what package rpc/reflect is given, after MsgFile.
const File = "pkg/rpc/peerpb/peer.proto"

// MsgFile is the file that File imports.
const MsgFile = "pkg/msg/msg.proto"

// Version is the version of the messages between nodes. Nodes of different versions refuse each other.
//
//	2: messages name the commit that they are about
//	3: scans in reverse, deletes that report whether the key existed
const Version = 3
