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

// Config, and what it is made of, belong to package env.
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

// ParseOrder, ParseReads and ParsePlan read what the String methods wrote.
var (
	ParseOrder = env.ParseOrder
	ParseReads = env.ParseReads
	ParsePlan  = env.ParsePlan
)

// Heat says how hot keys are; State is a state of the whole store that another machine of the
// node may read at.
type (
	Heat  = heat.Map
	State = round.State
)

// NewHeat takes what the planner reported.
func NewHeat(m *msg.HeatMap) *Heat { return heat.NewMap(m) }

// Affinity is the same for a transaction and for the names under which it reads: messages find
// the machine by it.
func Affinity(id kv.TxnID) uint64 { return id.Affinity() }

// What clients ask for, and what they are told, belong to package flow.
type (
	How   = flow.How
	At    = flow.At
	Token = flow.Token
	Done  = flow.Done
	Ended = flow.Ended
)

// Output is what the gateway wants done.
type Output struct {
	Send []*msg.Envelope
	Done []Done
	// Next is when to call Tick again at the latest.
	Next int64
	// Borrow: the machine waits for a state that another one fixes from now on, to be given
	// by Borrowed. GiveBack are the names of those that it needs no more.
	Borrow   bool
	GiveBack []kv.TxnRef
	// LeftOut are shards that did not answer a round of this machine in time: the other machines
	// of the node are to be told (shards.Shards.LeaveOut).
	LeftOut []kv.ShardID
}

// Stats are what a machine counts, since it was made.
type Stats struct {
	// Rounds are those that were begun, Shared the reads that were answered by another's.
	Rounds, Shared uint64
	// Admission counts what was refused.
	Admission admission.Counters
}
