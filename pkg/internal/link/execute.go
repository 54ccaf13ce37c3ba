package link

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Execute runs one attempt of a one-shot transaction until its outcome is known: if the response of one
// that writes is lost, the outcome is queried. The request is used up. readOnly: the transaction cannot
// change anything.
func (c *Call) Execute(r *Request, readOnly bool) (pb.ExecuteResponse, *Error) {
	err, lost := c.pass(r)
	switch {
	case err != nil:
		return pb.ExecuteResponse{}, err
	case lost != nil:
		return c.unanswered(r.id, readOnly, lost)
	}
	answer, id := r.response, r.id
	r.release()
	if answer.Error == nil {
		return answer.Response, nil
	}
	err = fromDetail(answer.Error)
	switch {
	case !err.uncertain:
		return pb.ExecuteResponse{}, err
	case readOnly:
		return pb.ExecuteResponse{}, err.ofReads()
	}
	return c.resolved(id, err.Text)
}

// pass passes a request to the session with the leader, or the live one. If that ends before the request was sent, the
// next live one gets it. failed is why there is no session; lost is why there is no response.
func (c *Call) pass(r *Request) (failed *Error, lost error) {
	failed = c.Ended("before anything was sent")
	if failed != nil {
		return failed, nil
	}
	leaders := &c.link.leaders
	for s := leaders.session(r.place); ; s = nil {
		if s == nil {
			s, failed = c.session()
			if failed != nil {
				return failed, nil
			}
		}
		lost = s.pipe.run(c.ctx, c.policy.Grace, r)
		if lost == nil && r.response.Error == nil {
			leaders.learn(r.place, s, r.response.Leader)
		}
		if lost != errNotSent {
			return nil, lost
		}
	}
}

// unanswered decides what a request without a response means.
func (c *Call) unanswered(id kv.TxnID, readOnly bool, lost error) (pb.ExecuteResponse, *Error) {
	switch {
	case lost == errNotListed || lost == errLeftListed:
		return pb.ExecuteResponse{}, c.Ended("before the request was sent")
	case !readOnly:
		return c.resolved(id, lost.Error())
	}
	over := c.Ended("before the response arrived")
	if over != nil {
		return pb.ExecuteResponse{}, over
	}
	return pb.ExecuteResponse{}, errorf(kv.KindUnavailable, nil, "the connection broke before the response arrived")
}

func (c *Call) resolved(id kv.TxnID, why string) (pb.ExecuteResponse, *Error) {
	response, err := c.resolve(id, why)
	if err != nil {
		return pb.ExecuteResponse{}, err
	}
	return *response, nil
}
