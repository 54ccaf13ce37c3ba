package server

import (
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/trace"
)

// pipe is one Pipeline stream: the reader's side. The sender's is answers.
type pipe struct {
	*answers
	service *service
	stream  grpc.ServerStream
	caller  *guard.Caller
	// in decodes one message after the other.
	in decoder
	// until is the stream's own deadline, if hasUntil.
	until    time.Time
	hasUntil bool
	// readAt is when the current message was read, arrived the same by the
	// backend's clock.
	readAt  time.Time
	arrived int64
}

// Pipeline serves a stream: this goroutine sends, a second one reads.
func (s *service) Pipeline(stream grpc.BidiStreamingServer[pb.PipelineRequest, pb.PipelineResponse]) error {
	if s.isDraining() {
		return statusOf(stopping(), kv.TxnID{})
	}
	if err := stream.Send(&pb.PipelineResponse{Welcome: s.welcome()}); err != nil {
		return err
	}
	p := &pipe{answers: newAnswers(s.opts.MaxInFlight, s.opts.MaxUnreadBytes, guard.AccountOf(stream.Context())),
		service: s, stream: stream, caller: guard.CallerOf(stream.Context())}
	p.until, p.hasUntil = stream.Context().Deadline()
	defer p.close() // whatever is answered later, is dropped
	s.readers.Add(1)
	go func() {
		defer s.readers.Done()
		p.readerEnded(p.read())
	}()
	return p.send(s, stream)
}

func (s *service) welcome() *pb.Welcome {
	st := s.backend().Identity()
	return &pb.Welcome{ServerTimeNs: s.backend().NewID().Time, ClusterId: st.ClusterId, NodeId: st.NodeId,
		MaxInFlight: uint32(s.opts.MaxInFlight), Version: st.Version, Revision: pb.Revision, Shards: st.Shards}
}

// read receives and submits until the stream or the server ends. A nil error
// means that the client has no more calls.
func (p *pipe) read() (err error) {
	defer p.service.recovered(pb.KV_Pipeline_FullMethodName, &err)
	for {
		if err := p.message(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// message receives one message and handles its calls, each as soon as it is
// decoded. So a message costs no more memory than its bytes, until they have been
// taken, and what the backend keeps of it, whatever a client puts into it. If it is broken in the
// middle, the calls before that have been taken; their outcome is unknown to
// the client, as with any stream that breaks.
func (p *pipe) message() error {
	if p.in.call == nil {
		p.in.call, p.in.begin, p.in.refuse = p.call, p.begin, p.refuseLarge
	}
	err := p.stream.RecvMsg(&p.in)
	if p.in.stopped {
		return io.EOF
	}
	return err
}

// begin takes memory for a call that is about to be decoded.
func (p *pipe) begin(c *incoming, bytes int64) bool {
	c.refused = p.account.Never(memory.Requests, int64(c.message)+bytes)
	if c.refused != nil {
		c.began = noMemory
		return false
	}
	c.began, c.refused = p.reserve(bytes)
	return c.began == admitted
}

// refuseLarge answers a call that could not be received.
func (p *pipe) refuseLarge(number uint64, err *kv.Error) bool {
	if p.awaitTurn() == closed {
		return false
	}
	p.refuse(number, p.service.backend().NewID(), err)
	return true
}

// call handles one call, which was read at now. It reports false when the
// stream has ended.
func (p *pipe) call(c *incoming, now time.Time) bool {
	id := p.service.idOr(c.id)
	under := counted{p.need(&c.used, now.UnixNano()), c.used.class, c.used.writes, c.maxResponse}
	what, err := c.began, c.refused
	if what == admitted {
		what, err = p.admit(under.need)
	}
	switch what {
	case closed:
		return false
	case noMemory:
		guard.Slow(p.stream.Context())
		p.refuse(c.number, id, err)
		return true
	case full:
		p.refuse(c.number, id, &kv.Error{Kind: kv.KindResourceExhausted, Op: -1,
			Text: "the stream has too many calls in flight",
			Hint: "wait for responses before sending more; the welcome message contains the limit"})
		return true
	}
	err = p.service.rejection()
	if err != nil {
		p.put(c.number, gateway.Response{ID: id, Err: err}, under)
		return true
	}
	until, err := p.callDeadline(c, now)
	if err != nil {
		p.put(c.number, gateway.Response{ID: id, Err: err}, under)
		return true
	}
	if c.err != nil {
		p.put(c.number, gateway.Response{ID: id, Err: c.err}, under)
		return true
	}
	if err := p.caller.Check(c.ops); err != nil {
		p.put(c.number, gateway.Response{ID: id, Err: err}, under)
		return true
	}
	limit, err := maxResponse(c.maxResponse)
	if err != nil {
		p.put(c.number, gateway.Response{ID: id, Err: err}, under)
		return true
	}
	how, err := p.service.how(c.at, c.token, c.plan)
	if err != nil {
		p.put(c.number, gateway.Response{ID: id, Err: err}, under)
		return true
	}
	how.User, how.MaxResponse = p.caller.Account(), limit
	if now != p.readAt || p.wasBlocked() {
		p.readAt, p.arrived = now, p.service.backend().Now()
	}
	// What the closure holds is all that the edge remembers of a call.
	number := c.number
	req := gateway.Request{ID: id, Ops: c.ops, Arrived: p.arrived, Deadline: until, Alone: c.alone, How: how}
	if p.service.opts.Traces {
		req.Parent = trace.Parent(c.traceparent)
	}
	p.service.backend().Submit(req, func(r gateway.Response) {
		p.answered(under, answerBytes(r.Results, r.Err), time.Now().UnixNano())
		settle(&r, id, under.writes, limit)
		p.service.opened.hide(p.stream.Context(), &r.Contention)
		p.put(number, r, under)
	})
	return true
}

// callDeadline is when a call must be answered, counted from now: the time at which its message was
// read. It is zero if that is the maximum age of a transaction.
func (p *pipe) callDeadline(c *incoming, now time.Time) (time.Time, *kv.Error) {
	until, has := p.until, p.hasUntil
	if own := now.Add(time.Duration(c.timeoutMs) * time.Millisecond); c.timeoutMs > 0 && (!has || own.Before(until)) {
		until, has = own, true
	}
	// The reader may have waited in admit for longer than the client would.
	if p.wasBlocked() && has && !time.Now().Before(until) {
		return until, &kv.Error{Kind: kv.KindDeadlineExceeded, Op: -1, Text: "the deadline passed before the request started"}
	}
	return deadline(now, until, has), nil
}
