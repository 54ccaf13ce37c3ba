package client

import (
	"context"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
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
		asError(err).Outcome = OutcomeUnknown
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
	limitScans(ops, response.Results)
	if !response.ResultsLost && len(response.Results) != len(ops) {
		e := errorf(KindInvalid, nil, "the transaction had %d operations, and not %d", len(response.Results), len(ops))
		e.Outcome, e.TxID, e.Hint = Committed, txID(answer.TxnId), "pass the operations of the transaction, in order, or none"
		return e
	}
	err := fill(ops, &response)
	if err != nil {
		return err
	}
	return nil
}

// query queries an outcome once. What it returns is decided either way.
func (db *DB) query(r *retrier, id kv.TxnID) (*pb.OutcomeResponse, *Error) {
	s, failed := r.use()
	if failed != nil {
		return nil, failed
	}
	defer s.unuse()
	answer, err := s.kv.Outcome(r.bounded(), &pb.OutcomeRequest{TxnId: id})
	if err != nil {
		e := failure(r.bounded(), err)
		e.TxID = txID(id)
		return nil, e
	}
	if answer.Decision == pb.Decision_UNDECIDED {
		return nil, errorf(KindUnavailable, nil, "the outcome of transaction %v is not decided yet", id)
	}
	return answer, nil
}

// resolve queries the outcome of a transaction whose response was lost, for the reason why, until it
// ends in one of three ways: the response, as if it had arrived; an error of KindAborted, if it is
// certain that the transaction has not committed and never will; and else KindOutcomeUnknown. Under
// a context without a deadline it has a minute of its own, however long the attempts before took.
func (db *DB) resolve(caller *retrier, id kv.TxnID, why string) (*pb.ExecuteResponse, *Error) {
	r := newRetrier(caller.ctx, db)
	defer r.stop()
	ctx := r.bounded()
	for ctx.Err() == nil {
		answer, err := db.query(&r, id)
		switch {
		case err == nil && answer.Decision == pb.Decision_COMMITTED:
			return &pb.ExecuteResponse{TxnId: id, Attempts: 1, Results: answer.Results, CausalityToken: answer.CausalityToken, ResultsLost: answer.ResultsLost}, nil
		case err == nil:
			e := errorf(KindAborted, nil, "transaction %v did not commit: %s, and the query of its outcome aborted it", id, why)
			e.TxID = txID(id)
			return nil, e
		case r.needsDown(err):
			return nil, unknownFor(id, why, err)
		case err.Kind == KindTooOld:
			return nil, unknown(id, fmt.Sprintf("%s, and its outcome is no longer kept", why), err)
		case err.Kind == KindInvalid:
			return nil, unknown(id, fmt.Sprintf("%s, and the query failed: %s", why, err.Message), err)
		}
		if !r.wait() {
			break
		}
	}
	return nil, unknown(id, why, contextCause(ctx))
}

// uncertain reports whether the node that responds with the error may have committed the transaction
// nevertheless.
func (e *Error) uncertain() bool { return e.Kind == KindOutcomeUnknown || e.Kind == KindInternal }

// ofReads is the error of a transaction that has not written: its outcome is certain.
func (e *Error) ofReads() *Error {
	e.Outcome = NotApplied
	if e.Kind == KindOutcomeUnknown {
		e.Kind, e.Hint = KindUnavailable, ""
	}
	return e
}
