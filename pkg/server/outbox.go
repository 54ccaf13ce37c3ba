package server

import (
	"google.golang.org/grpc"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// outbox makes messages of answers, and uses one message for all.
type outbox struct {
	service *service
	stream  grpc.ServerStream
	msg     pb.PipelineResponse
	// sent is called with answers that gRPC has accepted.
	sent func([]queued)
}

const (
	// maxAnswers and maxAnswerBytes end a message: beyond them, more answers
	// in one message save nothing and make the first of them wait.
	maxAnswers     = 512
	maxAnswerBytes = 1 << 20
)

func (o *outbox) sendAll(qs []queued) error {
	for len(qs) > 0 {
		n, bytes, most := 0, 0, maxAnswerBytes
		for n < len(qs) && n < maxAnswers {
			limit := limitOf(qs[n].maxResponse)
			bytes += o.add(&qs[n], limit)
			most = min(most, limit)
			if n > 0 && bytes > most { // it waits, unless it is alone
				o.msg.Responses = o.msg.Responses[:n]
				break
			}
			n++
		}
		if err := o.stream.SendMsg(&o.msg); err != nil {
			return err
		}
		o.reset()
		o.sent(qs[:n])
		clear(qs[:n]) // values are held for as long as they are counted
		qs = qs[n:]
	}
	return nil
}

// add appends a response of at most limit bytes, in the memory of an old one if there is room, and
// returns its length.
func (o *outbox) add(q *queued, limit int) int {
	if n := len(o.msg.Responses); n < cap(o.msg.Responses) {
		o.msg.Responses = o.msg.Responses[:n+1]
	} else {
		o.msg.Responses = append(o.msg.Responses, pb.CallResponse{})
	}
	a := &o.msg.Responses[len(o.msg.Responses)-1]
	a.Handle, a.Error, a.Leader = q.number, nil, 0
	if q.response.Err != nil {
		a.Error = failedResponse(&q.response)
		fitError(a.Error, limit)
		a.Response = pb.ExecuteResponse{TxnId: q.response.ID, Attempts: a.Error.Attempts, Results: a.Response.Results[:0]}
	} else {
		o.service.response(&a.Response, &q.response)
		a.Leader = uint32(leaderOf(&q.response, o.service.backend()))
		fit(&a.Response, limit)
	}
	return a.Size() + answerFrame
}

// answerFrame is more than the tag and the length of an answer have.
const answerFrame = 8

// keptResults bounds the results for which an answer's place keeps room.
const keptResults = 64

// reset forgets keys and values, and keeps the room that is worth keeping.
func (o *outbox) reset() {
	for i := range o.msg.Responses {
		r := &o.msg.Responses[i].Response
		r.Receipt, r.Snapshot, r.CausalityToken = nil, nil, nil
		if cap(r.Results) > keptResults {
			r.Results = nil
			continue
		}
		clear(r.Results)
		r.Results = r.Results[:0]
	}
	o.msg.Responses = o.msg.Responses[:0]
}
