package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/round"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// How says how a transaction is to read. The zero value is the usual way.
type How struct {
	// At is the state that is read.
	At At
	// After is a token: what is read is not older. It may be nil.
	After *vclock.Clock
	// Plan is how to read without locks; PlanAny leaves it to the gateway.
	Plan env.Plan
	// User is for whom it is.
	User kv.Account
	// Arrived is the time of day at which the request reached the gateway, in nanoseconds since
	// 1970: the transaction counts as begun then (Call.Begun). 0 is for what the store does by
	// itself, which counts as begun at the time in its id.
	Arrived int64
	// MaxResponse is the largest response that the client receives, in bytes: a one-shot whose
	// results do not fit fails, and applies nothing. 0 is no bound.
	MaxResponse uint32
}

// plain reports whether it is the present that is read, in any way.
func (gw How) isDefault() bool {
	gw.User, gw.MaxResponse, gw.Arrived = 0, 0, 0
	return gw == How{}
}

// At names a state of the past: a snapshot by its name or its number, or the newest state of
// the history that is not younger than a time. The zero value is the present.
type At struct {
	Name   string
	Number uint64
	// AsOf is in nanoseconds since 1970, by the clock of the hot shard's node.
	AsOf int64
}

// IsZero reports whether it is the present.
func (a At) IsZero() bool { return a == At{} }

// Token is the caller's name for a call; it comes back with the Done.
type Token any

// Done is the end of a call.
type Done struct {
	Token Token
	// Txn is the attempt that ended.
	Txn kv.TxnRef
	// Attempts is how many there were, this one included, without those of a reader that
	// only learned where its keys are.
	Attempts uint32
	// Committed: of Execute and Commit, it did; of Outcome, it had.
	Committed bool
	// Results are in the order of the operations.
	Results     []msg.Result
	ResultsLost bool
	// Receipt tells where the transaction waited longest or, of an interactive call that
	// succeeded, where that call did. If it failed while it waited, Receipt is of that wait.
	Receipt msg.Receipt
	// Ended tells of the attempts that other transactions ended, this one included.
	Ended Ended
	// Failure is nil if the call succeeded.
	Failure *msg.Failure
	// Pairs and More are the page of a scan.
	Pairs []msg.Pair
	More  bool
	// Aborts are the reasons for which the attempts before the last ended.
	Aborts []msg.Reason
	// Plan is how a read-only transaction read, PlanAny if it locked.
	Plan env.Plan
	// Index, if it is not 0, and At are the commit sequence numbers of shards that the
	// transaction has seen, or made: what Clock is made of.
	Index msg.ShardCSN
	At    []msg.ShardCSN
	// Pins are the snapshots that were asked for; of a transaction that read in the past, the
	// one it read at.
	Pins []msg.Snapshot
	// State is what was asked for with Lend.
	State *round.State
	// Hot is what is known of hot keys, if that was asked for.
	Hot *msg.HotStatusResponse
	// Closed: the interactive transaction is over.
	Closed bool
}

// Clock is a token: a transaction that follows it, and names it, sees a state that is not
// older. An update's is the commit sequence number at which it became visible on its last
// agent, which no state without it has reached.
func (d *Done) Clock() *vclock.Clock {
	c := msg.Clock(d.At)
	c.Raise(d.Index.Shard, d.Index.Index)
	return c
}
