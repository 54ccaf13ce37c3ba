package client

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/msg"
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
		e := errorf(KindInternal, nil, "the node has returned %d results for %d operations", len(r.Results), len(ops))
		e.Hint = "it has another version: use one version for clients and nodes"
		e.Outcome, e.TxID = Committed, id
		return e
	}
	for i, op := range ops {
		limitScan(op.part(), &r.Results[i])
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

// limitScan cuts the result of a scan to its limit. If the response was lost, the results are those that
// the store has kept, without the limit.
func limitScan(o *operation, r *pb.Result) {
	if o.op.Limit > 0 {
		key := func(e *pb.Entry) []byte { return e.Key }
		r.Entries, r.Resume = msg.CutScan(r.Entries, key, r.Resume, int(o.op.Limit), o.op.Reverse)
	}
}

// attempts runs a one-shot transaction until it has committed, or there is no point in another
// attempt.
func (db *DB) attempts(ctx context.Context, ops []Op, c *course) *Error {
	if err := checkOps(ops); err != nil {
		return asError(err)
	}
	call := db.call(ctx)
	defer call.End()
	var before *pb.Receipt
	for attempts := 0; ; {
		id := db.link.NewID()
		request := newRequest(db.link, id, ops, &db.how, db.opts.traceparent(ctx))
		response, failed := call.Execute(request, readOnly(ops))
		if failed == nil {
			response.TxnId, response.Receipt = id, after(response.Receipt, before)
			response.Attempts += uint32(attempts)
			c.responded(&response, int(response.Attempts))
			if db.how.opened != nil {
				db.how.opened(response.Snapshot)
			}
			err := fill(ops, &response)
			if err != nil {
				err.Attempts, err.Receipt = int(response.Attempts), receiptOf(response.Receipt)
			}
			return err
		}
		err := errorOf(failed)
		attempts += max(err.Attempts, 1)
		before = after(err.Receipt.wire, before)
		err.Receipt = receiptOf(before)
		err.Attempts, err.TxID = attempts, txID(id)
		if !err.again(&call) {
			return err
		}
	}
}
