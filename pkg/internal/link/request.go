package link

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// requestState is how far a request has come. It is guarded by the mutex of its pipeline.
type requestState uint8

const (
	// requestListed: on the list of a pipeline; no byte of it has left.
	requestListed requestState = iota
	// requestSent: taken by the sender. It may have been applied.
	requestSent
	// requestDone: the caller has been given the response, or the end of the pipeline.
	requestDone
	// requestLeft: its caller has left before that.
	requestLeft
)

// Request is a one-shot transaction in flight. Requests are pooled: one is returned when it has ended,
// because nothing else refers to it then. A request whose caller leaves early is left to the garbage
// collector.
type Request struct {
	id    kv.TxnID
	state requestState
	// place is that of its key among the hints of leaders.
	place place
	// number names the request on its pipeline, once it is sent.
	number uint64
	// frame is the encoded pb.Call, made in the caller's goroutine, so that the sender only copies
	// and nothing refers to the caller's bytes when the call returns.
	frame []byte
	// done receives one element when response and lost are set.
	done     chan struct{}
	response pb.CallResponse
	// lost is nil if there is a response, else errNotSent or errNoAnswer.
	lost error
}

// The ways in which a request ends without a response.
var (
	errNotSent    = errors.New("the stream ended before the request was sent")
	errNoAnswer   = errors.New("the stream ended before the response arrived")
	errNotListed  = errors.New("the context ended while too many requests were in flight")
	errLeftListed = errors.New("the context ended before the request was sent")
	errLeftSent   = errors.New("the context ended before the response arrived")
)

var requests = sync.Pool{New: func() any { return &Request{done: make(chan struct{}, 1)} }}

// keepFrame is how large a buffer may be to be worth keeping in the pool.
const keepFrame = 64 << 10

// NewRequest encodes a call, for one [Call.Execute]. key is that of its only operation, nil if there are several. The
// request refers to neither. The handle and the timeout are set later: see setNumber and setTimeout.
func (l *Link) NewRequest(c *pb.Call, key []byte) *Request {
	r := requests.Get().(*Request)
	r.place = l.leaders.place(key)
	r.id, r.state, r.lost, r.response = c.Request.TxnId, requestListed, nil, pb.CallResponse{}
	c.Handle, c.TimeoutMs = 0, 0
	size := c.Size()
	if cap(r.frame) < size+tailLength {
		r.frame = make([]byte, size+tailLength)
	}
	r.frame = r.frame[:size+tailLength]
	n, err := c.MarshalToSizedBuffer(r.frame[:size])
	if err != nil || n != size {
		panic("link: encoding a request does not do what it announced")
	}
	return r
}

// A frame ends in the timeout and the number of the request, as fields that the encoding proper has left
// out: the pipeline knows the number, and the timeout depends on how long the request has waited to be
// sent. In protobuf the last occurrence of a field counts. Each is a varint padded to its full length.
const (
	numberTag     = 1 << 3 // field 1, varint
	numberLength  = 1 + binary.MaxVarintLen64
	timeoutTag    = 2 << 3 // field 2, varint
	timeoutLength = 1 + binary.MaxVarintLen32
	tailLength    = timeoutLength + numberLength
)

// setNumber writes the number behind the encoding.
func (r *Request) setNumber(n uint64) {
	putPadded(r.frame[len(r.frame)-numberLength:], numberTag, n)
}

// setTimeout writes how long the node has behind the encoding.
func (r *Request) setTimeout(d time.Duration) {
	tail := r.frame[len(r.frame)-tailLength:]
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

// release returns the request to the pool. It must have ended.
func (r *Request) release() {
	if cap(r.frame) > keepFrame {
		r.frame = nil
	}
	r.response = pb.CallResponse{}
	requests.Put(r)
}

// timeoutMs rounds up, because 0 means the greatest.
func timeoutMs(d time.Duration) uint32 {
	if d <= 0 || d > kv.MaxTxnAge {
		return 0
	}
	return uint32((d + time.Millisecond - 1) / time.Millisecond)
}

// frames is a pb.PipelineRequest that is put together from encoded ones.
type frames struct{ requests []*Request }

const callsTag = 1<<3 | 2 // PipelineRequest.calls: field 1, length-delimited

// Size implements codec.Message.
func (f frames) Size() int {
	n := 0
	for _, r := range f.requests {
		n += 1 + uvarintLen(len(r.frame)) + len(r.frame)
	}
	return n
}

// MarshalToSizedBuffer implements codec.Message.
func (f frames) MarshalToSizedBuffer(b []byte) (int, error) {
	out := b[:0]
	for _, r := range f.requests {
		out = append(out, callsTag)
		out = binary.AppendUvarint(out, uint64(len(r.frame)))
		out = append(out, r.frame...)
	}
	return len(out), nil
}

// Unmarshal implements codec.Message; requests are never received.
func (f frames) Unmarshal([]byte) error { return errors.New("link: frames are for sending only") }

func uvarintLen(n int) int {
	l := 1
	for ; n >= 0x80; n >>= 7 {
		l++
	}
	return l
}
