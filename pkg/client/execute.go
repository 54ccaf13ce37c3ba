package client

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Execute runs the operations as one transaction, in order: all of them or none. It is one round trip,
// and holds no lock on a hot key across it. If it returns nil, the transaction has committed and the
// results of the operations are filled in. The package comment says what is retried, and what
// happens if a response is lost.
func (db *DB) Execute(ctx context.Context, ops ...Op) error {
	return db.execute(ctx, "Execute", ops, false)
}

// one runs one operation as a transaction. The name of the call is that of the operation if it is
// empty.
func (db *DB) one(ctx context.Context, call string, op Op) error {
	return db.execute(ctx, call, []Op{op}, true)
}

func (db *DB) run(ctx context.Context, op Op) error { return db.one(ctx, "", op) }

func (db *DB) send(ctx context.Context, op Op) error { return db.one(ctx, "", op) }

// execute runs a one-shot transaction. alone: it is a call for one operation, whose errors are not
// about the arguments of Execute.
func (db *DB) execute(ctx context.Context, call string, ops []Op, alone bool) error {
	if err := db.inAttempt(ctx); err != nil {
		return err
	}
	return db.transact(ctx, call, ops, alone)
}

// transact is execute with the context of an Update, too.
func (db *DB) transact(ctx context.Context, call string, ops []Op, alone bool) error {
	reset(ops)
	if call == "" {
		call = ops[0].part().name()
	}
	c := db.begin(ctx, call)
	err := db.attempts(ctx, ops, c)
	if err == nil {
		c.end(db, nil)
		return nil
	}
	err.inArguments(ops)
	if alone {
		err.Op = -1
	}
	c.end(db, err)
	return err
}

// inArguments completes an error about one of the operations.
func (e *Error) inArguments(ops []Op) {
	if e.Op < 0 || e.Op >= len(ops) || ops[e.Op] == nil {
		return
	}
	o := ops[e.Op].part()
	e.about(o)
	o.err = e
}

// reset forgets the results of the operations' last calls.
func reset(ops []Op) {
	for _, op := range ops {
		if op != nil {
			op.reset()
		}
	}
}

// fill gives the operations their results.
func fill(ops []Op, r *pb.ExecuteResponse) *Error {
	id := txID(r.TxnId)
	if r.ResultsLost {
		for _, op := range ops {
			if op.part().returns {
				e := errorf(KindResultsLost, nil, "the transaction has committed, but its results were lost with the response")
				e.Outcome, e.TxID, e.Attempts = Committed, id, int(r.Attempts)
				e.Hint = "read again what is needed; the store keeps results of up to 4 KiB"
				return e
			}
		}
		return nil
	}
	if len(r.Results) != len(ops) {
		e := ignored(len(r.Results), len(ops))
		e.Outcome, e.TxID = Committed, id
		return e
	}
	for i, op := range ops {
		err := op.fill(&r.Results[i])
		if err == nil {
			continue
		}
		reset(ops)
		e := asError(err)
		e.Op, e.TxID, e.Attempts = i, id, int(r.Attempts)
		if !readOnly(ops) {
			e.Outcome = Committed
		}
		return e
	}
	return nil
}

// attempts runs a one-shot transaction until it has committed, or there is no point in another
// attempt.
func (db *DB) attempts(ctx context.Context, ops []Op, c *course) *Error {
	if err := checkOps(ops); err != nil {
		return asError(err)
	}
	r := newRetrier(ctx, db)
	defer r.stop()
	id := db.core.newID()
	var before *pb.Receipt
	for attempts := 0; ; {
		response, err := db.attempt(&r, id, ops)
		if err == nil {
			response.TxnId, response.Receipt = id, after(response.Receipt, before)
			response.Attempts += uint32(attempts)
			c.responded(&response, int(response.Attempts))
			if db.how.opened != nil {
				db.how.opened(response.Snapshot)
			}
			return fill(ops, &response)
		}
		attempts += max(err.Attempts, 1)
		before = after(err.Receipt.wire, before)
		err.Receipt = receiptOf(before)
		err.Attempts, err.TxID = attempts, txID(id)
		if !r.again(err) {
			return err
		}
		id = db.core.newID()
	}
}

// attempt runs one attempt until its outcome is known: a lost response is queried for. Its errors are
// certain, except those of KindOutcomeUnknown.
func (db *DB) attempt(r *retrier, id kv.TxnID, ops []Op) (pb.ExecuteResponse, *Error) {
	c := newCall(id, ops, r.how, db.core.opts.traceparent(r.ctx))
	err := db.pass(r, c)
	if err != nil {
		return db.unanswered(r, id, ops, err)
	}
	answer := c.response
	c.release()
	if answer.Error == nil {
		return answer.Response, nil
	}
	e := fromDetail(answer.Error)
	switch {
	case !e.uncertain():
		return pb.ExecuteResponse{}, e
	case readOnly(ops):
		return pb.ExecuteResponse{}, e.ofReads()
	}
	return db.resolveOps(r, id, ops, e.Message)
}

// pass passes a call to the live session. If that ends before the call was sent, the next one gets
// it.
func (db *DB) pass(r *retrier, c *call) error {
	for {
		s, err := r.session()
		if err != nil {
			return err
		}
		err = s.run(r.ctx, r.how.grace, c)
		if err != errNotSent {
			return err
		}
	}
}

// unanswered decides what a call without a response means.
func (db *DB) unanswered(r *retrier, id kv.TxnID, ops []Op, err error) (pb.ExecuteResponse, *Error) {
	switch {
	case err == errNotListed || err == errLeftListed:
		return pb.ExecuteResponse{}, r.over("before the request was sent")
	case err != errNoAnswer && err != errLeftSent:
		return pb.ExecuteResponse{}, asError(err)
	case !readOnly(ops):
		return db.resolveOps(r, id, ops, err.Error())
	}
	over := r.over("before the response arrived")
	if over != nil {
		return pb.ExecuteResponse{}, over
	}
	return pb.ExecuteResponse{}, errorf(KindUnavailable, nil, "the connection broke before the response arrived")
}

// resolveOps is resolve for known operations.
func (db *DB) resolveOps(r *retrier, id kv.TxnID, ops []Op, why string) (pb.ExecuteResponse, *Error) {
	response, err := db.resolve(r, id, why)
	if err != nil {
		return pb.ExecuteResponse{}, err
	}
	limitScans(ops, response.Results)
	return *response, nil
}

// limitScans cuts the results of scans to their limits, which the store does not keep with them.
func limitScans(ops []Op, results []pb.Result) {
	for i := range min(len(ops), len(results)) {
		limit, r := int(ops[i].part().op.Limit), &results[i]
		if limit > 0 && len(r.Entries) > limit {
			r.Resume = r.Entries[limit].Key
			r.Entries = r.Entries[:limit]
		}
	}
}

func readOnly(ops []Op) bool {
	for _, op := range ops {
		if !op.ReadOnly() {
			return false
		}
	}
	return true
}

// margin is the time that a node is given: a little less than there is, so that its response arrives
// in time. 0 is no deadline.
func margin(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	left := time.Until(deadline)
	return max(left-min(left/10, 50*time.Millisecond), time.Millisecond)
}
