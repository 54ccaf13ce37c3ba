package console

import (
	"iter"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Version is the version of Document. It changes if a field is removed or changes its
// meaning.
const Version = 2

// Document is the state of the cluster that the page shows: messages of linchpin.proto as
// encoding/json writes them, so with the proto's names of fields, without zero values, enums
// as numbers and bytes in base64. The keys in them are as kv.Format returns them, cut to
// maxShown bytes.
type Document struct {
	Version int `json:"version"`
	// Time is in milliseconds since 1970.
	Time int64 `json:"time_ms"`
	// Status is that of the node that serves the page.
	Status *pb.StatusResponse `json:"status"`
	// Nodes has an element for each of Status.Members, null if the node did not respond.
	// Their lists, except Shards, are empty: the fields below have them for all nodes.
	Nodes []*pb.ActivityResponse `json:"nodes"`
	// Lost describes, for each node that is down, the shards and the share of the keyspace
	// that are unavailable.
	Lost map[uint32]string `json:"lost"`
	// Seconds are the seconds that all nodes have completed, oldest first. In a missing
	// second no transaction ended.
	Seconds []Second `json:"seconds"`
	// Whole reports that Seconds covers five minutes; else it covers the last ten
	// seconds.
	Whole bool `json:"whole"`
	// Hot has the moves and no keys. It is null if the hot shard did not respond.
	Hot  *pb.HotKeysResponse `json:"hot"`
	Keys []Key               `json:"keys"`
	// Conflicts are summed over keys: those of each pair of operations.
	Conflicts []*pb.KeyConflict `json:"conflicts"`
	Waits     []pb.CurrentWait  `json:"waits"`
	Receipts  []Receipt         `json:"receipts"`
	// Snapshots are the newest first. It is null if they could not be listed.
	Snapshots *pb.ListSnapshotsResponse `json:"snapshots"`
	// Problems are sentences about data that is missing, and why, about nodes that
	// reject writes, and about missing replicas.
	Problems []string `json:"problems"`
}

// Second counts the transactions of the cluster that ended within a second, by kind, and
// under "all" in total.
type Second struct {
	Time    int64             `json:"time_s"`
	Classes map[string]*Class `json:"classes"`
}

// Class counts transactions of one kind. P50 and P99 are latency quantiles in microseconds.
type Class struct {
	pb.ActivityClass
	P50 uint64 `json:"p50_us"`
	P99 uint64 `json:"p99_us"`
	// counts are the latency buckets, by their upper ends in microseconds.
	counts map[uint64]uint32
}

// Key is a contended key.
type Key struct {
	Key []byte `json:"key"`
	// Known reports that the hot shard has reported the key, in Hot.
	Known bool      `json:"known"`
	Hot   pb.HotKey `json:"hot"`
	// Conflict is the sum of the conflicts on the key in the last five to six minutes. Its
	// operations and its advice are those of the pair with the longest total wait.
	Conflict pb.KeyConflict `json:"conflict"`
}

// Receipt is a contention receipt of a transaction, with the node of its gateway.
type Receipt struct {
	NodeID uint32 `json:"node_id"`
	*pb.RecentReceipt
}

// responses returns the responses of the nodes.
func (d *Document) responses() iter.Seq[*pb.ActivityResponse] {
	return func(yield func(*pb.ActivityResponse) bool) {
		for _, n := range d.Nodes {
			if n != nil && !yield(n) {
				return
			}
		}
	}
}
