package client

import (
	"context"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Outcome returns the outcome of a transaction. If it has not committed, it never will after this:
// the query aborts its id for ever. It never returns [OutcomeUnknown] without an error.
//
// If the transaction has committed, its results fill ops, which must be the operations that it had,
// in order; for those of an [DB.Update], pass none. The store keeps at most 4 KiB of results: the
// error is of [KindResultsLost] if they are gone, and the outcome is [Committed] nevertheless.
//
// Outcomes are kept for ten minutes; after that the error is of [KindTooOld]. Nothing is kept of
// transactions that have not written: their outcome is NotApplied.
func (db *DB) Outcome(ctx context.Context, id TxID, ops ...Op) (Outcome, error) {
	if err := db.inAttempt(ctx); err != nil {
		return OutcomeUnknown, err
	}
	c := db.begin(ctx, "Outcome")
	outcome, err := db.outcome(ctx, id, ops)
	c.end(db, err)
	return outcome, err
}

func (db *DB) outcome(ctx context.Context, id TxID, ops []Op) (Outcome, error) {
	reset(ops)
	answer, err := db.queryOutcome(ctx, id)
	switch {
	case err != nil:
		err.Outcome = OutcomeUnknown
		return OutcomeUnknown, err
	case answer.Decision != pb.Decision_COMMITTED:
		return NotApplied, nil
	}
	return Committed, fillFromStore(ops, answer)
}

// fillFromStore fills operations with the results that the store has kept.
func fillFromStore(ops []Op, answer *pb.OutcomeResponse) error {
	if len(ops) == 0 {
		return nil
	}
	response := pb.ExecuteResponse{TxnId: answer.TxnId, Results: answer.Results, ResultsLost: answer.ResultsLost}
	if !response.ResultsLost && len(response.Results) != len(ops) {
		e := errorf(KindInvalid, nil, "the transaction had %d operations, and not %d", len(response.Results), len(ops))
		e.Outcome, e.TxID, e.Hint = Committed, txID(answer.TxnId), "pass the operations of the transaction, in order, or none"
		return e
	}
	return orNil(fill(ops, &response))
}

// queryOutcome is Outcome in the messages of the interface.
func (db *DB) queryOutcome(ctx context.Context, id TxID) (*pb.OutcomeResponse, *Error) {
	call := db.call(ctx)
	defer call.End()
	answer, failed := call.Outcome(id.stored())
	return answer, errorOf(failed)
}
