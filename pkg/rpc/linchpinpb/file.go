package linchpinpb

import "github.com/linchpindb/linchpin/pkg/kv"

// File is the name under which this package's descriptors are registered; it
// is what package rpc/reflect is given.
const File = "pkg/rpc/linchpinpb/linchpin.proto"

// MaxMessageBytes bounds a message in either direction; clients and servers
// set it with grpc.MaxCallRecvMsgSize and the like. It leaves room for the
// frame of each operation or pair beside the keys and values of the largest
// transaction. A message with several calls or answers keeps to it too.
const MaxMessageBytes = kv.MaxResultBytes

// Revision is the revision of the interface, which a node reports in its welcome. It is raised with
// every field of a request that must not be ignored, except fields of operations: a node rejects an
// operation with a field that it does not know. A client does not send a node the fields of later
// revisions:
//
//	1: BeginStep.first, CommitStep.last
//	2: operations have other field numbers, and methods of data types other names
const Revision = 2
