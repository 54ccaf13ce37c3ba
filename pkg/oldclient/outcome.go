package client

import (
	"context"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Outcome asks what became of a transaction. If it has not committed, it never
// will after this: the question closes the id for good. Nor has one "committed"
// that was answered and wrote nothing, since nothing is kept of those. The results come
// with a committed transaction, unless they were larger than what the store keeps
// (kv.MaxRecordResultBytes). An id older than what the store remembers is an
// error of kv.KindTooOld.
func (db *DB) Outcome(ctx context.Context, id kv.TxnID) (committed bool, results []Result, err error) {
	r := newRetrier(db, ctx)
	defer r.stop()
	for {
		answer, e := db.ask(&r, id)
		if e == nil {
			results := resultsOf(answer.Results)
			for i := range min(len(results), len(answer.Operations)) {
				results[i].Operation = answer.Operations[i]
			}
			return answer.Decision == pb.Decision_COMMITTED, results, nil
		}
		if !e.Kind.Retryable() || !r.again(e) { // another id is no help here
			return false, nil, e
		}
	}
}

// ask makes one enquiry. Its answer is decided either way.
func (db *DB) ask(r *retrier, id kv.TxnID) (*pb.OutcomeResponse, *Error) {
	s, failed := r.use()
	if failed != nil {
		return nil, failed
	}
	defer s.unuse()
	answer, err := s.kv.Outcome(r.bounded(), &pb.OutcomeRequest{TxnId: id})
	if err != nil {
		e := failure(r.bounded(), err)
		e.ID = id
		return nil, e
	}
	if answer.Decision == pb.Decision_UNDECIDED {
		return nil, errorf(kv.KindUnavailable, nil, "the outcome of transaction %v cannot be told yet", id)
	}
	return answer, nil
}

// resolve finds out about a transaction whose answer was lost, for the reason
// why. It ends in one of three ways: the outcome as if the answer had come; an
// error of kv.KindAborted, when it is certain that it has not committed and
// never will; and else kv.KindOutcomeUnknown. Under a context without a deadline it has its own
// minute, however long the attempts before have taken.
func (db *DB) resolve(caller *retrier, id kv.TxnID, why string) (*Outcome, *Error) {
	r := newRetrier(db, caller.ctx)
	defer r.stop()
	ctx := r.bounded()
	for ctx.Err() == nil {
		answer, err := db.ask(&r, id)
		switch {
		case err == nil && answer.Decision == pb.Decision_COMMITTED:
			return &Outcome{ID: id, Attempts: 1, Results: resultsOf(answer.Results), Token: answer.CausalityToken,
				ResultsLost: answer.ResultsLost}, nil
		case err == nil:
			e := errorf(kv.KindAborted, nil, "transaction %v did not commit: %s, and an enquiry closed it", id, why)
			e.ID = id
			return nil, e
		case r.known(err):
			return nil, unknownFor(id, why, err)
		case err.Kind == kv.KindTooOld:
			return nil, unknown(id, fmt.Sprintf("%s, and it is too old to ask about", why), err)
		case err.Kind == kv.KindInvalid:
			return nil, unknown(id, fmt.Sprintf("%s, and the enquiry failed: %s", why, err.Text), err)
		}
		if !r.rest() {
			break
		}
	}
	return nil, unknown(id, why, contextCause(ctx))
}

// uncertain reports whether a node that responds with the error may have committed the
// transaction all the same.
func (e *Error) uncertain() bool { return e.Kind == kv.KindOutcomeUnknown || e.Kind == kv.KindInternal }

// ofReads is the error of a transaction that has not written: its outcome is certain.
func (e *Error) ofReads() *Error {
	if e.Kind == kv.KindOutcomeUnknown {
		e.Kind, e.Hint = kv.KindUnavailable, ""
	}
	return e
}
