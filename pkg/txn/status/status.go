// Package status finds out what became of transactions whose answer was lost.
//
// # Guarantees
//
// Every shard is asked. One that has the record of the commit answers at once, with the
// results. Otherwise each shard promises, durably, that it will never commit the
// transaction, before it answers: when all have, the transaction is aborted for good. An
// outcome that cannot be learned is a failure, never a guess.
//
//	Ask ──▶ Enquire to every shard ──▶ QueryTxnResponse ──▶ Answered ──▶ Ended
//
// A promise takes memory on every shard until the id is ten minutes old, so that it counts
// to the user who asks, and there may be no room for one more.
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

// Queries are the status queries of one machine.
type Queries struct {
	env     *env.Env
	shards  *shards.Shards
	queries map[kv.TxnID]*query
	ended   []Ended
}

// query asks every shard what became of one transaction.
type query struct {
	id      kv.TxnID
	user    kv.Account
	handles []any
	missing []kv.ShardID
	// tooOld, exhausted: a shard has promised nothing, since the id is too old to tell, or
	// since there is no room.
	tooOld, exhausted bool
	deadline          int64
	retry             env.Retry
}

// Ended is the end of a query: an outcome, or a failure. Not committed is no failure.
type Ended struct {
	ID kv.TxnID
	// Handles are those of all who asked.
	Handles     []any
	Committed   bool
	Results     []msg.Result
	ResultsLost bool
	Failure     *msg.Failure
}

// New makes the queries of a machine.
func New(e *env.Env, s *shards.Shards) *Queries {
	return &Queries{env: e, shards: s, queries: map[kv.TxnID]*query{}}
}

// InFlight counts the queries under way.
func (q *Queries) InFlight() int { return len(q.queries) }

// Has reports whether a query about a transaction is under way.
func (q *Queries) Has(id kv.TxnID) bool { return q.queries[id] != nil }

// Ask begins a query, or joins the one that is under way.
func (q *Queries) Ask(handle any, id kv.TxnID, user kv.Account, deadline int64) {
	x := q.queries[id]
	if x != nil {
		x.handles = append(x.handles, handle)
		x.deadline = max(x.deadline, deadline)
		return
	}
	x = &query{id: id, user: user, handles: []any{handle}, deadline: deadline, missing: q.env.EveryShard()}
	q.queries[id] = x
	q.send(x)
	q.env.Start(&x.retry, 0)
	q.env.Timed(deadline)
}

func (q *Queries) send(x *query) {
	for _, s := range x.missing {
		q.env.To(s).Body = &msg.QueryTxn{Id: x.id, Gateway: q.env.Node, User: x.user}
	}
}

// Tick asks again what has no answer, and ends what is late.
func (q *Queries) Tick() {
	for _, id := range slices.SortedFunc(maps.Keys(q.queries), kv.TxnID.Compare) {
		x := q.queries[id]
		switch {
		case q.onlyDown(x):
		case q.env.Now >= x.deadline:
			f := q.shards.Unreachable(x.missing...)
			if f == nil {
				f = env.Failure(msg.ReasonCancelled, kv.KindUnavailable, "not every shard has responded to the query; retry")
			}
			q.end(x, Ended{Failure: f})
		default:
			q.env.Timed(x.deadline)
			if q.env.Due(&x.retry, 0) {
				q.send(x)
			}
		}
	}
}

// onlyDown ends a query that all shards have answered whose nodes are not down, and reports
// whether it has: it cannot be told yet then.
func (q *Queries) onlyDown(x *query) bool {
	for _, s := range x.missing {
		if q.shards.Unreachable(s) == nil {
			return false
		}
	}
	f := q.shards.Unreachable(x.missing...)
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

// Answered takes a shard's answer.
func (q *Queries) Answered(r *msg.QueryTxnResponse) {
	x := q.queries[r.Id]
	if x == nil {
		return
	}
	if r.Committed {
		q.end(x, Ended{Committed: true, Results: piece.Recorded(r.Results), ResultsLost: r.ResultsLost})
		return
	}
	x.tooOld = x.tooOld || r.TooOld
	x.exhausted = x.exhausted || r.Exhausted
	x.missing = slices.DeleteFunc(x.missing, func(s kv.ShardID) bool { return s == r.Shard })
	switch {
	case len(x.missing) > 0:
		if q.shards.AnyDown() {
			q.onlyDown(x)
		}
	case x.tooOld:
		text := "the outcome is no longer known: outcomes are kept for ten minutes"
		q.end(x, Ended{Failure: env.Failure(msg.ReasonTooOld, kv.KindTooOld, text)})
	case x.exhausted:
		q.end(x, Ended{Failure: noRoom()})
	default:
		q.end(x, Ended{})
	}
}

// noRoom: some shards have not committed it, and do not promise that they never will.
func noRoom() *msg.Failure {
	text := fmt.Sprintf("the transaction has not committed so far, but it cannot be closed: "+
		"the user has queried the outcomes of %d other transactions that had not committed", kv.MaxFences)
	f := env.Failure(msg.ReasonExhausted, kv.KindResourceExhausted, text)
	f.Hint = "retry when the transaction's id is ten minutes old; query only ids that were sent"
	return f
}

// TakeEnded drains the queries that have ended.
func (q *Queries) TakeEnded() []Ended {
	out := q.ended
	q.ended = nil
	return out
}
