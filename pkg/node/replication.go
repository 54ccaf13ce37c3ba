package node

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/raftlog"
	"github.com/linchpindb/linchpin/pkg/transport"
)

// Replication is what a node with replicated shards needs besides (Options.Replication).
type Replication struct {
	// Log has the logs of the node's replicas. Its owner closes the engine below it after the node has stopped.
	Log *raftlog.Store
	// Send sends the messages of the replicas. Its owner passes received ones to ReceiveReplica and ReceiveSnapshot.
	Send transport.Replicas
	// Founding: this disk belongs to the node since the cluster was formed. It has the first replicas (R7.5), so the
	// node makes those of which it has no log yet. Another disk waits until leaders add replicas on it (R7.20).
	Founding bool
	// Place names the node and its present disk (consensus.Member.Place), "" for a founding disk.
	Place string
	// Hold is the time D of the leases; default 800 ms (consensus.Config).
	Hold time.Duration
}

var errReplicated = &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "this release cannot run shards with several replicas",
	Hint: "use one replica of each shard"}
