package console

// Version is that of Document. It changes when a field changes its meaning or goes;
// fields are added without.
const Version = 1

// Document is all that the page shows. Times of day are in milliseconds since 1970,
// keys are as kv.Shown shows them, at most maxShown bytes of them.
type Document struct {
	Version int    `json:"version"`
	Time    int64  `json:"time_ms"`
	Node    uint32 `json:"node"`
	Cluster string `json:"cluster"`
	Nodes   []Node `json:"nodes"`
	// Seconds are those that are over on all nodes, oldest first; in one that is
	// missing nothing ended.
	Seconds []Second `json:"seconds"`
	// Whole: Seconds are all that are known, not the last ones only.
	Whole     bool       `json:"whole"`
	Hot       Hot        `json:"hot"`
	Keys      []Key      `json:"keys"`
	Conflicts []Conflict `json:"conflicts"`
	Waits     []Wait     `json:"waits"`
	// Waiting is how many requests wait for locks in the cluster.
	Waiting   uint64     `json:"waiting"`
	Receipts  []Receipt  `json:"receipts"`
	Moves     []Move     `json:"moves"`
	Snapshots []Snapshot `json:"snapshots"`
	// SnapshotsKnown: they have been listed, so that none means that there is none.
	SnapshotsKnown bool `json:"snapshots_known"`
	// Problems say what could not be found out, and why.
	Problems []string `json:"problems"`
}

// Node is a member of the cluster.
type Node struct {
	Node    uint32 `json:"node"`
	Address string `json:"address"`
	// Up: the node that serves the page can reach it. What follows is zero if it
	// has not answered.
	Up       bool   `json:"up"`
	Answered bool   `json:"answered"`
	Version  string `json:"version"`
	UptimeMs uint64 `json:"uptime_ms"`
	Disk     uint64 `json:"disk_bytes"`
	// Free and Size are the disk's, Reserve what the node keeps free of it, in
	// bytes; 0 if not known. Refuses is "", "writes" (but for deletions) or "all
	// writes".
	Free     uint64  `json:"free_bytes"`
	Size     uint64  `json:"size_bytes"`
	Reserve  uint64  `json:"reserve_bytes"`
	Refuses  string  `json:"refuses"`
	InFlight uint64  `json:"in_flight"`
	Open     uint64  `json:"open"`
	Shards   []Shard `json:"shards"`
	// Lost says in words which shards and how much of the keyspace cannot be had
	// because the node is down; else it is empty.
	Lost string `json:"lost"`
}

// Shard is one of a node's.
type Shard struct {
	Shard   uint32 `json:"shard"`
	Hot     bool   `json:"hot"`
	Keys    uint64 `json:"keys_in_memory"`
	Waiting uint64 `json:"waiting"`
	Intents uint64 `json:"intents"`
}

// Second is what ended in the cluster within a second, by kind of transaction, and
// under "all" together.
type Second struct {
	Time    int64            `json:"time_s"`
	Classes map[string]Class `json:"classes"`
}

// Class counts what ended of a kind, and what of it failed. P50 and P99 are
// quantiles of the time it took, in microseconds.
type Class struct {
	Ended  uint32 `json:"ended"`
	Failed uint32 `json:"failed"`
	P50    uint64 `json:"p50_us"`
	P99    uint64 `json:"p99_us"`
}

// Hot is the state of the hot shard.
type Hot struct {
	Known bool    `json:"known"`
	Mode  string  `json:"mode"`
	Busy  float64 `json:"busy"`
	Shard uint32  `json:"shard"`
}

// Key is one for which transactions wait.
type Key struct {
	Key   string `json:"key"`
	Shard uint32 `json:"shard"`
	// Known: the hot shard has told of it, and what follows is of the last seconds:
	// for how long transactions wait for it in a second, all together, in
	// microseconds, and because of what.
	Known    bool    `json:"known"`
	Waiting  uint64  `json:"waiting_us_per_s"`
	Lock     uint64  `json:"lock_us_per_s"`
	Held     uint64  `json:"held_us_per_s"`
	Read     uint64  `json:"read_us_per_s"`
	Retry    uint64  `json:"retry_us_per_s"`
	Clashes  float64 `json:"clashes_per_s"`
	Queue    uint32  `json:"queue"`
	Moving   bool    `json:"moving"`
	Moved    int64   `json:"moved_ms"`
	Order    string  `json:"order"`
	WhyThere string  `json:"why_there"`
	// Since is when transactions began to wait for it, 0 if no receipt tells.
	Since int64 `json:"since_ms"`
	// Waits, Waited and Aborts are of the last five to six minutes. Operations and
	// HolderOperations are what waited most for what, and Commutes is what would
	// have commuted.
	Waits            uint64 `json:"waits"`
	Waited           uint64 `json:"waited_us"`
	Aborts           uint64 `json:"aborts"`
	Operations       string `json:"operations"`
	HolderOperations string `json:"holder_operations"`
	Commutes         string `json:"commutes"`
}

// Conflict is a cell of the matrix: how often, and for how long in all, Operations
// had to wait for HolderOperations in the last five to six minutes, on any key.
type Conflict struct {
	Operations       string `json:"operations"`
	HolderOperations string `json:"holder_operations"`
	Waits            uint64 `json:"waits"`
	Waited           uint64 `json:"waited_us"`
	Aborts           uint64 `json:"aborts"`
	Commutes         string `json:"commutes"`
}

// Wait is a transaction that waits now. Holder is empty if it is not one that it
// waits for.
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

// Receipt is a contention receipt. Sentence has it in words.
type Receipt struct {
	Time     int64  `json:"time_ms"`
	Node     uint32 `json:"node"`
	Txn      string `json:"txn"`
	Kind     string `json:"kind"`
	Outcome  string `json:"outcome"`
	Took     uint64 `json:"took_us"`
	Waited   uint64 `json:"waited_us"`
	Aborted  uint32 `json:"aborted"`
	Key      string `json:"key"`
	Sentence string `json:"sentence"`
}

// Move is a move of a key to the hot shard, or home.
type Move struct {
	Time  int64  `json:"time_ms"`
	Key   string `json:"key"`
	From  uint32 `json:"from"`
	To    uint32 `json:"to"`
	ToHot bool   `json:"to_hot"`
	Why   string `json:"why"`
}

// Snapshot is one that has a name.
type Snapshot struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Time    int64  `json:"time_ms"`
	Expires int64  `json:"expires_ms"`
}
