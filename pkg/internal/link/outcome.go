package link

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Outcome queries the outcome of a transaction, and retries that. If the transaction has not committed,
// the query aborts it for ever: the response is decided either way.
func (c *Call) Outcome(id kv.TxnID) (*pb.OutcomeResponse, *Error) {
	for {
		answer, err := c.query(id)
		if err == nil {
			return answer, nil
		}
		again, ended := false, error(nil)
		if err.Kind.Retryable() {
			again, ended = c.Again(err)
		}
		if !again {
			err.because(ended)
			return nil, err
		}
	}
}

// query queries an outcome once. What it returns is decided either way.
func (c *Call) query(id kv.TxnID) (*pb.OutcomeResponse, *Error) {
	s, failed := c.Session()
	if failed != nil {
		return nil, failed
	}
	defer s.Release()
	answer, err := s.KV.Outcome(c.Bounded(), &pb.OutcomeRequest{TxnId: id})
	if err != nil {
		e := Failure(c.Bounded(), err)
		e.TxnID = id
		return nil, e
	}
	if answer.Decision == pb.Decision_UNDECIDED {
		return nil, errorf(kv.KindUnavailable, nil, "the outcome of transaction %v is not decided yet", id)
	}
	return answer, nil
}

// resolve queries the outcome of a transaction whose response was lost, for the reason why, until it
// ends in one of three ways: the response, as if it had arrived; an error of KindAborted, if it is
// certain that the transaction has not committed and never will; and else KindOutcomeUnknown. Under
// a context without a deadline it has RetryFor of its own, however long the attempts before took.
func (c *Call) resolve(id kv.TxnID, why string) (*pb.ExecuteResponse, *Error) {
	q := c.link.Call(c.ctx, c.policy)
	defer q.End()
	ctx := q.Bounded()
	for ctx.Err() == nil {
		answer, err := q.query(id)
		switch {
		case err == nil && answer.Decision == pb.Decision_COMMITTED:
			return &pb.ExecuteResponse{TxnId: id, Attempts: 1, Results: answer.Results, CausalityToken: answer.CausalityToken,
				ResultsLost: answer.ResultsLost}, nil
		case err == nil:
			e := errorf(kv.KindAborted, nil, "transaction %v did not commit: %s, and the query of its outcome aborted it",
				id, why)
			e.TxnID, e.Spent = id, true
			return nil, e
		case q.needsDown(err):
			return nil, unknownFor(id, why, err)
		case err.Kind == kv.KindTooOld:
			return nil, unknown(id, fmt.Sprintf("%s, and its outcome is no longer kept", why), err)
		case err.Kind == kv.KindInvalid:
			return nil, unknown(id, fmt.Sprintf("%s, and the query failed: %s", why, err.Text), err)
		}
		if !q.wait() {
			break
		}
	}
	return nil, unknown(id, why, contextCause(ctx))
}

// unknown is the error of a transaction that may have been applied.
func unknown(id kv.TxnID, why string, cause error) *Error {
	e := errorf(kv.KindOutcomeUnknown, cause, "transaction %v may have been applied: %s", id, why)
	e.TxnID, e.Spent = id, true
	e.Hint = fmt.Sprintf("within ten minutes DB.Outcome settles it, or \"linchpin outcome %v\"", id)
	return e
}

// unknownFor is unknown for as long as the deciding node is down.
func unknownFor(id kv.TxnID, why string, cause *Error) *Error {
	e := unknown(id, why+"; "+cause.Text, cause)
	e.Down = cause.Down
	e.Hint = "when the node is back, " + e.Hint
	return e
}
