// Package status queries the outcome of transactions whose response was lost (docs/protocol.md, section 10).
//
// # Guarantees
//
// Every shard is queried. A shard that has committed the transaction responds with its results. Any other first
// writes a durable fence: it will never commit the transaction. When all shards have fenced it, it is aborted for
// good. An outcome that cannot be learned is a failure, never a guess.
//
//	Start ──▶ QueryTxn to every shard ──▶ QueryTxnResponse ──▶ OnResponse ──▶ TakeEnded
//
// # Example
//
// Client A commits transaction T and its connection breaks. It queries T at any gateway: shard 1, the last agent,
// responds "committed", and the query ends. If instead all shards fence T, the outcome is "aborted", and a delayed
// commit request of T that arrives later is rejected by the fence.
//
// # Hazards
//
// A fence takes memory on every shard until the id is ten minutes old. So fences are counted by the user who queries,
// and a shard rejects further ones at a bound.
//
// Package txn relies on it, for clients that have lost a response. It relies on the shards to write fences durably
// before they answer.
package status

import (
	"fmt"
	"maps"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
	"github.com/linchpindb/linchpin/pkg/txn/shards"
)

// Queries are the outcome queries of one state machine.
type Queries struct {
	env     *env.Env
	shards  *shards.Shards
	queries map[kv.TxnID]*query
	ended   []Ended
}

// query is a query of all shards for one transaction.
type query struct {
	id      kv.TxnID
	user    kv.Account
	handles []any
	missing []kv.ShardID
	// tooOld, exhausted: a shard has written no fence, because the id is too old or the user has too many fences.
	tooOld, exhausted bool
	deadline          int64
	retry             env.Retry
}

// Ended is the result of a query: an outcome or a failure. Aborted is an outcome.
type Ended struct {
	ID kv.TxnID
	// Handles are the call handles of all requesters.
	Handles     []any
	Committed   bool
	Results     []msg.Result
	ResultsLost bool
	Failure     *msg.Failure
}

// New makes the queries of a state machine.
func New(e *env.Env, s *shards.Shards) *Queries {
	return &Queries{env: e, shards: s, queries: map[kv.TxnID]*query{}}
}

// InFlightCount is the number of queries in flight.
func (q *Queries) InFlightCount() int { return len(q.queries) }

// IsInFlight reports whether a query for a transaction is in flight.
func (q *Queries) IsInFlight(id kv.TxnID) bool { return q.queries[id] != nil }

// Start begins a query, or joins the one in flight.
//
// Each query that is joined saves a durable write on every shard.
func (q *Queries) Start(handle any, id kv.TxnID, user kv.Account, deadline int64) {
	x := q.queries[id]
	if x != nil {
		x.handles = append(x.handles, handle)
		x.deadline = max(x.deadline, deadline)
		return
	}
	x = &query{id: id, user: user, handles: []any{handle}, deadline: deadline, missing: q.env.EveryShard()}
	q.queries[id] = x
	q.send(x)
	q.env.StartRetry(&x.retry, 0)
	q.env.WakeAt(deadline)
}

func (q *Queries) send(x *query) {
	for _, s := range x.missing {
		q.env.SendTo(s).Body = &msg.QueryTxn{Id: x.id, Gateway: q.env.Node, User: x.user}
	}
}

// Tick retries the queries that are due, and ends those past their deadline.
//
// A query that has found the commit ends at once, whatever is missing. Otherwise every shard counts: the one that
// does not respond may have committed the transaction.
func (q *Queries) Tick() {
	for _, id := range slices.SortedFunc(maps.Keys(q.queries), kv.TxnID.Compare) {
		x := q.queries[id]
		switch {
		case q.endIfOnlyDown(x):
		case q.env.Now >= x.deadline:
			f := q.shards.WhyDown(x.missing...)
			if f == nil {
				f = env.Failure(msg.ReasonCancelled, kv.KindUnavailable, "not every shard has responded to the query; retry")
			}
			q.end(x, Ended{Failure: f})
		default:
			q.env.WakeAt(x.deadline)
			if q.env.IsDue(&x.retry, 0) {
				q.send(x)
			}
		}
	}
}

// endIfOnlyDown ends a query if only shards of nodes that are down have not responded, and reports whether it has.
// Such a shard may be the one that has committed the transaction.
func (q *Queries) endIfOnlyDown(x *query) bool {
	for _, s := range x.missing {
		if q.shards.WhyDown(s) == nil {
			return false
		}
	}
	f := q.shards.WhyDown(x.missing...)
	f.Hint = "the outcome is available when the node is back; query it again then, or wait for the node " +
		"(--wait-for-shards, client.WithWaitForShards)"
	q.end(x, Ended{Failure: f})
	return true
}

func (q *Queries) end(x *query, e Ended) {
	delete(q.queries, x.id)
	e.ID, e.Handles = x.id, x.handles
	q.ended = append(q.ended, e)
}

// OnResponse handles the response of a shard.
//
//	one shard            the others               outcome
//	committed            whatever they answer     committed: other shards' fences do not undo it
//	fenced               all fenced               aborted
//	too old              fenced                   unknown: the shard may have forgotten the commit
//	no fence left        fenced                   unknown: it may still commit on that shard
func (q *Queries) OnResponse(r *msg.QueryTxnResponse) {
	x := q.queries[r.Id]
	if x == nil {
		return
	}
	if r.Committed {
		q.end(x, Ended{Committed: true, Results: piece.JoinRecorded(r.Results), ResultsLost: r.ResultsLost})
		return
	}
	x.tooOld = x.tooOld || r.TooOld
	x.exhausted = x.exhausted || r.Exhausted
	x.missing = slices.DeleteFunc(x.missing, func(s kv.ShardID) bool { return s == r.Shard })
	switch {
	case len(x.missing) > 0:
		if q.shards.IsAnyDown() {
			q.endIfOnlyDown(x)
		}
	case x.tooOld:
		text := "the outcome is no longer known: outcomes are kept for ten minutes"
		q.end(x, Ended{Failure: env.Failure(msg.ReasonTooOld, kv.KindTooOld, text)})
	case x.exhausted:
		q.end(x, Ended{Failure: fencesExhausted()})
	default:
		q.end(x, Ended{})
	}
}

// fencesExhausted is the failure of a query for which some shards could not write a fence.
func fencesExhausted() *msg.Failure {
	text := fmt.Sprintf("the transaction has not committed so far, but it cannot be closed: "+
		"the user has queried the outcomes of %d other transactions that had not committed", kv.MaxFences)
	f := env.Failure(msg.ReasonExhausted, kv.KindResourceExhausted, text)
	f.Hint = "retry when the transaction's id is ten minutes old; query only ids that were sent"
	return f
}

// TakeEnded returns the ended queries and clears the list.
func (q *Queries) TakeEnded() []Ended {
	out := q.ended
	q.ended = nil
	return out
}
