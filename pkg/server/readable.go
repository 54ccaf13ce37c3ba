package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// gRPC receives a message of any length that it may have before any handler is called, for
// as long as that takes, and answers what does not decode as a fault of its own. So
// messages are received here, from the stream that gRPC reads them from:
//
//	read the head, which has the length; refuse what is too large
//	take that much of the caller's memory, or wait until there is some
//	read the rest, within a time
//	take what is made of it, if that is more than its bytes, and decode it
//
// While a call waits its stream is not read, and its client has to wait before it sends
// more. What gets no memory is read all the same where it is a step or calls of several,
// and forgotten as it comes, so that the others go on.
//
// Until then a stream holds its window (windowBytes), which it has taken when it began.

const (
	// windowBytes and connWindowBytes are what gRPC receives on a call, and on a
	// connection, before it is asked. They do not grow.
	windowBytes     = 128 << 10
	connWindowBytes = 1 << 20
	// streamBytes is what a call is counted with: its window, what gRPC takes to
	// send (64 KiB), and its goroutines.
	streamBytes = windowBytes + 96<<10
	// smallMessage is the length up to which a message is part of what its call was
	// counted with.
	smallMessage = 32 << 10
	// memoryTimeout is how long a call waits for memory that others of its user
	// have. Somewhat arbitrary.
	memoryTimeout = 5 * time.Second
	// decodedCost is what an operation takes beside its bytes until it is counted with
	// its transaction (opCost).
	decodedCost = 384
)

// wire is the stream beneath a call, which gRPC has in its context.
type wire interface {
	// ReadMessageHeader reads the five bytes before a message.
	ReadMessageHeader(header []byte) error
	body
	// RecvCompress is the name of the compression of the request's messages; "" for none.
	RecvCompress() string
}

// body is where the bytes of a message are read from.
type body interface {
	// Read reads n bytes.
	Read(n int) (mem.BufferSlice, error)
}

// receiver receives the messages of a call. One goroutine at a time does so.
type receiver struct {
	ctx     context.Context
	wire    wire
	account *memory.Account
	// timeout is how long a message may take to come whole, limit its greatest
	// length.
	timeout time.Duration
	limit   int
	// many: the client may send more than one message.
	many   bool
	first  bool
	timer  *time.Timer
	header [5]byte
	// body is where the current message is read from: the wire, or a decompressor.
	body body

	// mu guards what follows: the call may end while another goroutine receives.
	mu sync.Mutex
	// held is what was taken for the last message.
	held   int64
	closed bool
}

// open begins to count a call. The caller closes the receiver.
func (s *service) open(ctx context.Context, many bool, limit int) (*receiver, error) {
	w, ok := grpc.ServerTransportStreamFromContext(ctx).(wire)
	if !ok {
		return nil, status.Errorf(codes.Internal, "messages cannot be read from a stream of type %T",
			grpc.ServerTransportStreamFromContext(ctx))
	}
	r := &receiver{ctx: ctx, wire: w, account: guard.AccountOf(ctx), timeout: kv.MaxTxnAge, limit: limit,
		many: many, first: true}
	if err := r.account.Take(memory.Streams, streamBytes); err != nil {
		guard.Slow(ctx)
		return nil, statusOf(err, kv.TxnID{})
	}
	return r, nil
}

func (r *receiver) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.give()
	r.account.Give(memory.Streams, streamBytes)
}

// give gives back what was taken for a message.
func (r *receiver) give() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.account.Give(memory.Requests, r.held)
	r.held = 0
}

// take takes n bytes for a message, and waits for them.
func (r *receiver) take(n int64, timeout time.Duration) *kv.Error {
	r.mu.Lock()
	all := r.held + n
	r.mu.Unlock()
	if err := r.account.Never(memory.Requests, all); err != nil {
		return err
	}
	if err := r.account.Wait(r.ctx, memory.Requests, n, timeout); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		r.account.Give(memory.Requests, n)
		return nil
	}
	r.held += n
	return nil
}

// receive receives a message into m. At the end it is io.EOF.
func (r *receiver) receive(m any) error {
	r.give()
	defer r.release()
	n, err := r.length(m)
	if err != nil {
		return r.explained(err)
	}
	if err := r.room(n, m); err != nil {
		guard.Slow(r.ctx)
		return r.refused(n, m, err)
	}
	data, err := r.read(n)
	if err != nil {
		return r.explained(err)
	}
	defer data.Free()
	if err := r.decode(data, m); err != nil {
		guard.Slow(r.ctx)
		return err
	}
	if _, ok := m.(*decoder); ok {
		r.give() // its calls have been counted
	}
	if r.many {
		return nil
	}
	// What is but one message has to be followed by the end, and soon.
	defer r.within()()
	switch err := r.wire.ReadMessageHeader(r.header[:]); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return r.explained(err)
	}
	return status.Error(codes.Internal, "the client sent more than one message")
}

// length reads the head of a message, and all of it if it is compressed. It returns the uncompressed
// length.
func (r *receiver) length(m any) (int64, error) {
	if err := r.wire.ReadMessageHeader(r.header[:]); err != nil {
		if errors.Is(err, io.EOF) && r.first && !r.many {
			return 0, status.Error(codes.Internal, "the client sent no message")
		}
		return 0, err
	}
	r.first = false
	r.body = r.wire
	n := int64(uint32(r.header[1])<<24 | uint32(r.header[2])<<16 | uint32(r.header[3])<<8 | uint32(r.header[4]))
	if err := r.tooLong(n); err != nil {
		return 0, err
	}
	if r.header[0] == 0 {
		return n, nil
	}
	if _, ok := m.(*decoder); ok {
		return r.inflate(n, r.timeout)
	}
	return r.inflate(n, memoryTimeout)
}

// tooLong is the error for a message of n bytes, nil if it may have as many.
func (r *receiver) tooLong(n int64) error {
	if n <= int64(r.limit) {
		return nil
	}
	return statusOf(&kv.Error{Kind: kv.KindInvalid, Op: -1, Text: fmt.Sprintf("the message has %d bytes; the limit is %d",
		n, r.limit),
		Hint: fmt.Sprintf("the keys and values of a transaction may have %d bytes; split the transaction", kv.MaxTxnBytes)},
		kv.TxnID{})
}

// room takes memory for a message of n bytes. A pipeline waits for it as long as a message
// may take to come: others' calls are on it.
func (r *receiver) room(n int64, m any) *kv.Error {
	if n <= smallMessage {
		return nil
	}
	// Twice: what was received, and what is made of it.
	if _, ok := m.(*decoder); !ok {
		return r.take(2*n, memoryTimeout)
	}
	if err := r.account.Never(memory.Requests, 2*n); err != nil {
		return err
	}
	return r.take(n, r.timeout) // its calls are counted when they are decoded
}

// read reads n bytes.
func (r *receiver) read(n int64) (mem.BufferSlice, error) {
	defer r.within()()
	return r.body.Read(int(n))
}

// refusedMessage is why a message was not received, or not decoded. The next one may be.
type refusedMessage struct{ why *kv.Error }

func (e *refusedMessage) Error() string { return e.why.Error() }

// GRPCStatus implements what gRPC asks errors for.
func (e *refusedMessage) GRPCStatus() *status.Status {
	st, _ := status.FromError(statusOf(e.why, kv.TxnID{}))
	return st
}

// refused ends a call by itself. Of a stream it reads the message and forgets it: what is
// refused are the calls that it has, or the step that it is.
func (r *receiver) refused(n int64, m any, why *kv.Error) error {
	if !r.many {
		return statusOf(why, kv.TxnID{})
	}
	defer r.within()()
	rest := &skimmer{body: r.body, left: n}
	d, ok := m.(*decoder)
	if !ok {
		if err := rest.skip(uint64(n)); err != nil {
			return r.explained(err)
		}
		return &refusedMessage{why}
	}
	err := rest.calls(func(number uint64) bool {
		d.stopped = !d.refuse(number, why)
		return !d.stopped
	})
	if err != nil {
		return r.explained(err)
	}
	return nil
}

// slowMessage is why a call was ended of which a message did not come whole.
type slowMessage struct{ after time.Duration }

func (e *slowMessage) Error() string {
	return fmt.Sprintf("the client did not send the whole message within %v", e.after)
}

// within ends the call if what is read now takes too long; it gives what ends the
// time.
func (r *receiver) within() func() {
	if r.timer == nil {
		r.timer = time.AfterFunc(r.timeout, func() { guard.End(r.ctx, &slowMessage{r.timeout}) })
	} else {
		r.timer.Reset(r.timeout)
	}
	return func() { r.timer.Stop() }
}

// explained is why nothing more could be read.
func (r *receiver) explained(err error) error {
	slow := (*slowMessage)(nil)
	switch {
	case errors.Is(err, io.EOF):
		return err
	case errors.As(context.Cause(r.ctx), &slow):
		return statusOf(&kv.Error{Kind: kv.KindResourceExhausted, Op: -1, Text: slow.Error(),
			Hint: "send smaller messages, or use a faster network"}, kv.TxnID{})
	case errors.Is(err, io.ErrUnexpectedEOF):
		return status.Error(codes.Internal, err.Error())
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.Unavailable, err.Error())
}

// decode reads m from data. What does not decode is the caller's fault, and answered
// Invalid, with a detail.
func (r *receiver) decode(data mem.BufferSlice, m any) error {
	ops, err := operationsIn(data, m)
	if err == nil && ops*decodedCost > smallMessage {
		if why := r.take(int64(ops)*decodedCost, memoryTimeout); why != nil {
			if r.many {
				return &refusedMessage{why}
			}
			return statusOf(why, kv.TxnID{})
		}
	}
	if err == nil {
		err = codec.New().Unmarshal(data, m)
	}
	if err == nil {
		return nil
	}
	e := (*kv.Error)(nil)
	if !errors.As(err, &e) {
		e = invalid("the request cannot be decoded: "+err.Error(),
			"check the request against the .proto files; a txn_id has 16 bytes")
	}
	return statusOf(e, kv.TxnID{})
}

// operationsIn counts the operations of a message of which the generated decoders make many
// times its bytes, and refuses too many.
func operationsIn(data mem.BufferSlice, m any) (n int, _ error) {
	_, execute := m.(*pb.ExecuteRequest)
	_, step := m.(*pb.TransactRequest)
	if !execute && !step || data.Len()/2*decodedCost <= smallMessage {
		return 0, nil // each takes two bytes
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	count := func(b []byte) error {
		return fields(b, func(num protowire.Number, raw []byte, _ uint64) error {
			if num == 1 && raw != nil {
				n++
			}
			if n <= kv.MaxTxnOps {
				return nil
			}
			return new(budget).count(n)
		})
	}
	if execute {
		return n, count(buf.ReadOnlyData())
	}
	return n, fields(buf.ReadOnlyData(), func(_ protowire.Number, raw []byte, _ uint64) error { return count(raw) })
}

// counter counts responses in an account; nil if there is none.
func counter(a *memory.Account) func(int) {
	if a == nil {
		return nil
	}
	return func(n int) {
		if n < 0 {
			a.Give(memory.Answers, int64(-n))
			return
		}
		a.Add(memory.Answers, int64(n))
	}
}

// readable gives desc with unary methods whose messages are received here.
func (s *service) readable(desc grpc.ServiceDesc) *grpc.ServiceDesc {
	methods := make([]grpc.MethodDesc, len(desc.Methods))
	for i, m := range desc.Methods {
		handle := m.Handler
		m.Handler = func(srv any, ctx context.Context, _ func(any) error, next grpc.UnaryServerInterceptor) (any, error) {
			if errors.Is(ctx.Err(), context.Canceled) { // it was given up before it could begin
				guard.Slow(ctx)
				return nil, status.FromContextError(ctx.Err()).Err()
			}
			r, err := s.open(ctx, false, s.longest(desc.ServiceName))
			if err != nil {
				return nil, err
			}
			defer r.close()
			out, err := handle(srv, ctx, r.receive, next)
			if c, ok := out.(codec.Message); ok && err == nil {
				return &codec.Counted{Message: c, Count: counter(r.account)}, nil
			}
			return out, err
		}
		methods[i] = m
	}
	desc.Methods = methods
	return &desc
}

// registrar registers services that are readable.
type registrar struct {
	*grpc.Server
	service *service
}

// RegisterService implements grpc.ServiceRegistrar.
func (r registrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	r.Server.RegisterService(r.service.readable(*desc), impl)
}

// readableStream is a stream whose messages are received and counted here.
type readableStream struct {
	grpc.ServerStream
	*receiver
	out codec.Counted
}

func (s *readableStream) RecvMsg(m any) error { return s.receive(m) }

func (s *readableStream) SendMsg(m any) error {
	c, ok := m.(codec.Message)
	if !ok || s.out.Count == nil {
		return s.ServerStream.SendMsg(m)
	}
	s.out.Message = c
	return s.ServerStream.SendMsg(&s.out)
}
