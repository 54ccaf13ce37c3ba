package txn

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/flow"
	"github.com/linchpindb/linchpin/pkg/txn/heat"
	"github.com/linchpindb/linchpin/pkg/txn/round"
)

// The configuration is that of package env.
type (
	Config     = env.Config
	Router     = env.Router
	Order      = env.Order
	Reads      = env.Reads
	Plan       = env.Plan
	RoundTimes = env.RoundTimes
)

// The values of Order, Reads and Plan.
const (
	HotLast         = env.HotLast
	Parallel        = env.Parallel
	SnapshotReads   = env.SnapshotReads
	LockingReads    = env.LockingReads
	PlanAny         = env.PlanAny
	PlanOneShard    = env.PlanOneShard
	PlanParallel    = env.PlanParallel
	PlanHotLast     = env.PlanHotLast
	PlanInteractive = env.PlanInteractive
	PlanSnapshot    = env.PlanSnapshot
)

// ParseOrder, ParseReads and ParsePlan parse the results of the String methods.
var (
	ParseOrder = env.ParseOrder
	ParseReads = env.ParseReads
	ParsePlan  = env.ParsePlan
)

// Heat is a heat map. State is a snapshot that another machine of the node may borrow.
type (
	Heat  = heat.Map
	State = round.Snapshot
)

// NewHeat converts the heat map that the hot shard sends.
func NewHeat(m *msg.HeatMap) *Heat { return heat.NewMap(m) }

// Affinity is the same for a transaction and for the names of its readings: it selects the machine
// of a message.
func Affinity(id kv.TxnID) uint64 { return id.Affinity() }

// Requests and responses of clients are those of package flow.
type (
	TxnOptions  = flow.TxnOptions
	SnapshotRef = flow.SnapshotRef
	CallHandle  = flow.CallHandle
	Done        = flow.Done
	Ended       = flow.Ended
	Contention  = flow.Contention
)

// Output is what the machine requests of its caller.
type Output struct {
	Send []*msg.Envelope
	Done []Done
	// Next is when to call Tick at the latest, in nanoseconds.
	Next int64
	// BorrowSnapshot: flows wait for a snapshot that another machine of the node fixes from now on, and that
	// OnBorrowedSnapshot delivers. ReturnSnapshots are the names of borrowed snapshots that are no longer
	// in use.
	BorrowSnapshot  bool
	ReturnSnapshots []kv.TxnRef
	// ExcludedShards are the shards that did not respond to a round of this machine in time. The other
	// machines of the node exclude them as well (shards.Shards.LeaveOut).
	ExcludedShards []kv.ShardID
}

// Stats counts events since the machine was made.
type Stats struct {
	// Rounds counts the rounds begun, Shared the reads that have shared the result of another.
	Rounds, SharedReads uint64
	// Admission counts the refused transactions.
	Admission admission.Counters
}
