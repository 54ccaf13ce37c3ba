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
	// sent is told of answers that are with gRPC.
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
				o.msg.Answers = o.msg.Answers[:n]
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

// add appends an answer of at most limit bytes, in the place of an old one if there is room. It gives
// its length.
func (o *outbox) add(q *queued, limit int) int {
	if n := len(o.msg.Answers); n < cap(o.msg.Answers) {
		o.msg.Answers = o.msg.Answers[:n+1]
	} else {
		o.msg.Answers = append(o.msg.Answers, pb.CallAnswer{})
	}
	a := &o.msg.Answers[len(o.msg.Answers)-1]
	a.Number, a.Error = q.number, nil
	if q.response.Err != nil {
		a.Error = failedResponse(&q.response)
		fitError(a.Error, limit)
		a.Response = pb.ExecuteResponse{TxnId: q.response.ID, Attempts: a.Error.Attempts, Results: a.Response.Results[:0]}
	} else {
		o.service.response(&a.Response, &q.response)
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
	for i := range o.msg.Answers {
		r := &o.msg.Answers[i].Response
		r.Receipt, r.Snapshot, r.Token = nil, nil, nil
		if cap(r.Results) > keptResults {
			r.Results = nil
			continue
		}
		clear(r.Results)
		r.Results = r.Results[:0]
	}
	o.msg.Answers = o.msg.Answers[:0]
}
