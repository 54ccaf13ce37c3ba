package client

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// callState is how far a call has come. It is guarded by its session's mutex.
type callState uint8

const (
	// callListed: on the session's list; no byte of it has left.
	callListed callState = iota
	// callSent: taken by the sender. It may have been applied.
	callSent
	// callDone: the caller has been given the response, or the end of the session.
	callDone
	// callLeft: its caller has left before that.
	callLeft
)

// call is one request in flight. Calls are pooled: one is returned when it has ended, because nothing
// else refers to it then. A call whose caller leaves early is left to the garbage collector.
type call struct {
	state callState
	// number names the call on its session, once it is sent.
	number uint64
	// frame is the encoded pb.Call, made in the caller's goroutine, so that the sender only copies
	// and nothing refers to the caller's bytes when the call returns.
	frame []byte
	// wire and scratch are buffers to encode from.
	wire    pb.Call
	scratch []opScratch
	// done receives one element when response and lost are set.
	done     chan struct{}
	response pb.CallResponse
	// lost is nil if there is a response, else errNotSent or errNoAnswer.
	lost error
}

// The ways in which a call ends without a response.
var (
	errNotSent    = errors.New("the stream ended before the request was sent")
	errNoAnswer   = errors.New("the stream ended before the response arrived")
	errNotListed  = errors.New("the context ended while too many requests were in flight")
	errLeftListed = errors.New("the context ended before the request was sent")
	errLeftSent   = errors.New("the context ended before the response arrived")
)

var calls = sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}

// keepFrame is how large a buffer may be to be worth keeping in the pool.
const keepFrame = 64 << 10

// newCall encodes a request. The number and the timeout are set later: see setNumber and setTimeout.
func newCall(id kv.TxnID, ops []Op, h *how, traceparent string) *call {
	c := calls.Get().(*call)
	c.state, c.lost, c.response = callListed, nil, pb.CallResponse{}
	if cap(c.scratch) < len(ops) {
		c.scratch = make([]opScratch, len(ops))
	}
	c.scratch = c.scratch[:len(ops)]
	c.wire.Request.TxnId, c.wire.Traceparent = id, traceparent
	c.wire.Request.MaxResponseBytes = pb.MaxMessageBytes
	c.wire.Request.Ops = c.wire.Request.Ops[:0]
	for i, op := range ops {
		c.wire.Request.Ops = append(c.wire.Request.Ops, c.scratch[i].wire(op.part()))
	}
	c.wire.Request.At, c.wire.Request.CausalityToken, c.wire.Request.Plan = h.at, h.token, h.plan
	c.encode()
	c.wire.Request.At, c.wire.Request.CausalityToken, c.wire.Request.Plan = nil, nil, pb.ReadPlan_PLAN_ANY
	for i := range c.scratch {
		c.scratch[i].forget()
	}
	clear(c.wire.Request.Ops)
	return c
}

// A frame ends in the call's timeout and its number, as fields that the encoding
// proper has left out: the session knows the number, and the timeout depends on how
// long the call has waited to be sent. In protobuf the last occurrence of a field
// counts. Each is a varint padded to its full length.
const (
	numberTag     = 1 << 3 // field 1, varint
	numberLength  = 1 + binary.MaxVarintLen64
	timeoutTag    = 2 << 3 // field 2, varint
	timeoutLength = 1 + binary.MaxVarintLen32
	tailLength    = timeoutLength + numberLength
)

// encode fills frame from wire, with space behind it for the timeout and the number.
func (c *call) encode() {
	c.wire.Handle, c.wire.TimeoutMs = 0, 0
	size := c.wire.Size()
	if cap(c.frame) < size+tailLength {
		c.frame = make([]byte, size+tailLength)
	}
	c.frame = c.frame[:size+tailLength]
	if n, err := c.wire.MarshalToSizedBuffer(c.frame[:size]); err != nil || n != size {
		panic("client: encoding a request does not do what it announced")
	}
}

// setNumber writes the number behind the encoding.
func (c *call) setNumber(n uint64) {
	putPadded(c.frame[len(c.frame)-numberLength:], numberTag, n)
}

// setTimeout writes how long the node has behind the encoding.
func (c *call) setTimeout(d time.Duration) {
	tail := c.frame[len(c.frame)-tailLength:]
	putPadded(tail[:timeoutLength], timeoutTag, uint64(timeoutMs(d)))
}

// putPadded fills b with a tag of one byte and a varint.
func putPadded(b []byte, tag byte, n uint64) {
	b[0] = tag
	for i := 1; i < len(b)-1; i++ {
		b[i] = byte(n) | 0x80
		n >>= 7
	}
	b[len(b)-1] = byte(n)
}

// release returns the call to the pool. It must have ended.
func (c *call) release() {
	if cap(c.frame) > keepFrame || cap(c.scratch) > 64 {
		c.frame, c.scratch, c.wire = nil, nil, pb.Call{}
	}
	c.response = pb.CallResponse{}
	calls.Put(c)
}

// timeoutMs rounds up, because 0 means the greatest.
func timeoutMs(d time.Duration) uint32 {
	if d <= 0 || d > kv.MaxTxnAge {
		return 0
	}
	return uint32((d + time.Millisecond - 1) / time.Millisecond)
}

// frames is a pb.PipelineRequest that is put together from encoded calls.
type frames struct{ calls []*call }

const callsTag = 1<<3 | 2 // PipelineRequest.calls: field 1, length-delimited

// Size implements codec.Message.
func (f frames) Size() int {
	n := 0
	for _, c := range f.calls {
		n += 1 + uvarintLen(len(c.frame)) + len(c.frame)
	}
	return n
}

// MarshalToSizedBuffer implements codec.Message.
func (f frames) MarshalToSizedBuffer(b []byte) (int, error) {
	out := b[:0]
	for _, c := range f.calls {
		out = append(out, callsTag)
		out = binary.AppendUvarint(out, uint64(len(c.frame)))
		out = append(out, c.frame...)
	}
	return len(out), nil
}

// Unmarshal implements codec.Message; requests are never received.
func (f frames) Unmarshal([]byte) error { return errors.New("client: frames are for sending only") }

func uvarintLen(n int) int {
	l := 1
	for ; n >= 0x80; n >>= 7 {
		l++
	}
	return l
}
