package console

// Version is the version of Document. It changes if a field is removed or changes its
// meaning.
const Version = 1

// Document is the state of the cluster that the page shows. Times of day are in
// milliseconds since 1970; keys are as kv.Shown returns them, cut to maxShown bytes.
type Document struct {
	Version int    `json:"version"`
	Time    int64  `json:"time_ms"`
	Node    uint32 `json:"node"`
	Cluster string `json:"cluster"`
	Nodes   []Node `json:"nodes"`
	// Seconds are the seconds that all nodes have completed, oldest first. In a missing
	// second no transaction ended.
	Seconds []Second `json:"seconds"`
	// Whole reports that Seconds covers five minutes; else it covers the last ten
	// seconds.
	Whole     bool        `json:"whole"`
	Hot       Hot         `json:"hot"`
	Keys      []Key       `json:"keys"`
	Conflicts []*Conflict `json:"conflicts"`
	Waits     []Wait      `json:"waits"`
	// Waiting is the number of requests that wait for locks in the cluster.
	Waiting   uint64     `json:"waiting"`
	Receipts  []Receipt  `json:"receipts"`
	Moves     []Move     `json:"moves"`
	Snapshots []Snapshot `json:"snapshots"`
	// SnapshotsKnown reports that the snapshots could be listed.
	SnapshotsKnown bool `json:"snapshots_known"`
	// Problems are sentences about data that is missing, and why, about nodes that
	// reject writes, and about missing replicas.
	Problems []string `json:"problems"`
}

// Node is a member of the cluster.
type Node struct {
	Node    uint32 `json:"node"`
	Address string `json:"address"`
	// Up reports that the node that serves the page can reach this node. The fields
	// below are zero if this node has not answered.
	Up       bool   `json:"up"`
	Answered bool   `json:"answered"`
	Version  string `json:"version"`
	UptimeMs uint64 `json:"uptime_ms"`
	Disk     uint64 `json:"disk_bytes"`
	// Free, Size and Reserve are the free space, the size and the reserve of the disk, in
	// bytes; 0 if they are unknown. Rejects is "", "writes" (except deletions) or "all
	// writes".
	Free     uint64  `json:"free_bytes"`
	Size     uint64  `json:"size_bytes"`
	Reserve  uint64  `json:"reserve_bytes"`
	Rejects  string  `json:"rejects"`
	InFlight uint64  `json:"in_flight"`
	Open     uint64  `json:"open"`
	Shards   []Shard `json:"shards"`
	// Lost describes the shards and the share of the keyspace that are unavailable
	// because the node is down; else it is empty.
	Lost string `json:"lost"`
}

// Shard is a shard of a node, with replicas one that the node leads.
type Shard struct {
	Shard    uint32 `json:"shard"`
	Hot      bool   `json:"hot"`
	Keys     uint64 `json:"keys_in_memory"`
	Waiting  uint64 `json:"waiting"`
	Prepared uint64 `json:"prepared"`
	// The fields below are absent without replicas. Term is that in which the node leads the shard, Replicas are the
	// nodes of its replicas, and Missing is how many of them are missing.
	Term     uint64   `json:"term,omitempty"`
	Replicas []uint32 `json:"replicas,omitempty"`
	Missing  uint32   `json:"missing,omitempty"`
}

// Second counts the transactions of the cluster that ended within a second, by kind, and
// under "all" in total.
type Second struct {
	Time    int64            `json:"time_s"`
	Classes map[string]Class `json:"classes"`
}

// Class counts transactions of one kind. Ended includes Committed, Retried (aborted
// attempts that the client retries), Failed, and transactions that ended with a failed
// condition or the like. P50 and P99 are latency quantiles in microseconds.
type Class struct {
	Ended     uint32 `json:"ended"`
	Committed uint32 `json:"committed"`
	Retried   uint32 `json:"retried"`
	Failed    uint32 `json:"failed"`
	P50       uint64 `json:"p50_us"`
	P99       uint64 `json:"p99_us"`
}

// Hot is the state of the hot shard. Busy is its utilization, 0 to 1.
type Hot struct {
	Known bool    `json:"known"`
	Mode  string  `json:"mode"`
	Busy  float64 `json:"busy"`
	Shard uint32  `json:"shard"`
}

// Key is a contended key.
type Key struct {
	Key   string `json:"key"`
	Shard uint32 `json:"shard"`
	// Known reports that the hot shard has reported the key. Then the fields up to Placement
	// are means over the last seconds: the waiting time that the key causes per
	// second, in microseconds, in total and by cause; and conflicts per second.
	Known     bool    `json:"known"`
	Waiting   uint64  `json:"waiting_us_per_s"`
	Lock      uint64  `json:"lock_us_per_s"`
	Held      uint64  `json:"held_us_per_s"`
	Read      uint64  `json:"read_us_per_s"`
	Retry     uint64  `json:"retry_us_per_s"`
	Conflicts float64 `json:"conflicts_per_s"`
	// Queue is the number of transactions that wait because of the key.
	Queue  uint32 `json:"queue"`
	Moving bool   `json:"moving"`
	Moved  int64  `json:"moved_ms"`
	// Rule is "pinned", "banned" or "".
	Rule string `json:"rule"`
	// Placement explains why the key is on its shard.
	Placement string `json:"placement"`
	// Since is the time of the first of the continuing waits, 0 if it is unknown.
	Since int64 `json:"since_ms"`
	// Waits, Waited and Aborts cover the last five to six minutes. Operations and
	// HolderOperations are the pair with the longest total wait; Advice says what
	// commutes instead.
	Waits            uint64 `json:"waits"`
	Waited           uint64 `json:"waited_us"`
	Aborts           uint64 `json:"aborts"`
	Operations       string `json:"operations"`
	HolderOperations string `json:"holder_operations"`
	Advice           string `json:"advice"`
}

// Conflict is a cell of the matrix: the number and the total time of the waits of Operations
// for HolderOperations on any key, in the last five to six minutes.
type Conflict struct {
	Operations       string `json:"operations"`
	HolderOperations string `json:"holder_operations"`
	Waits            uint64 `json:"waits"`
	Waited           uint64 `json:"waited_us"`
	Aborts           uint64 `json:"aborts"`
	Advice           string `json:"advice"`
}

// Wait is an edge of the wait-for graph. Holder is empty if the transaction does not wait
// for a single transaction.
type Wait struct {
	Txn              string `json:"txn"`
	Shard            uint32 `json:"shard"`
	Waited           uint64 `json:"waited_us"`
	Key              string `json:"key"`
	Holder           string `json:"holder"`
	Others           uint32 `json:"others"`
	Cause            string `json:"cause"`
	Operations       string `json:"operations"`
	HolderOperations string `json:"holder_operations"`
	User             string `json:"user,omitempty"`
	HolderUser       string `json:"holder_user,omitempty"`
}

// Receipt is a contention receipt. Sentence is its text.
type Receipt struct {
	Time     int64  `json:"time_ms"`
	Node     uint32 `json:"node"`
	Txn      string `json:"txn"`
	Kind     string `json:"kind"`
	Outcome  string `json:"outcome"`
	Duration uint64 `json:"duration_us"`
	Waited   uint64 `json:"waited_us"`
	Aborted  uint32 `json:"aborted"`
	Key      string `json:"key"`
	Sentence string `json:"sentence"`
}

// Move is a move of a key to the hot shard, or home.
type Move struct {
	Time   int64  `json:"time_ms"`
	Key    string `json:"key"`
	From   uint32 `json:"from"`
	To     uint32 `json:"to"`
	ToHot  bool   `json:"to_hot"`
	Reason string `json:"reason"`
}

// Snapshot is a named snapshot.
type Snapshot struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Time    int64  `json:"time_ms"`
	Expires int64  `json:"expires_ms"`
}
