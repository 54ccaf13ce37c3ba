// Package codec puts linchpin's messages on gRPC's wire with the marshallers
// that gogo/protobuf generates for them, which is two to five times faster
// than the reflection of the stock codec. Messages of other makers (health,
// reflection) are left to the stock codec, so one server can carry both.
//
// The codec is named "proto", as the one that it replaces, so nothing shows on
// the wire. It is given to servers and clients explicitly, and not registered
// for the whole process:
//
//	grpc.NewServer(codec.ServerOption())
//	grpc.NewClient(target, codec.DialOption())
//
// A message that is decoded into is added to, not reset first, so that its
// owner may keep slices over many messages. gRPC's generated code always
// hands in new messages.
package codec

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the stock codec, for all others
	"google.golang.org/grpc/mem"
)

// Name is the content-subtype, that of the stock codec.
const Name = "proto"

// Message is what gogo/protobuf's fast plugins generate.
type Message interface {
	// Size is the encoded size in bytes.
	Size() int
	// MarshalToSizedBuffer encodes into the end of b and returns the number
	// of bytes.
	MarshalToSizedBuffer(b []byte) (int, error)
	Decoder
}

// Decoder is what can be received. A receiver may hand in a decoder of its own
// for messages of which it does not want to have all fields in memory at once.
type Decoder interface {
	// Unmarshal adds what b encodes, and keeps no reference to it.
	Unmarshal(b []byte) error
}

// Counted is a message whose encoded bytes are counted for as long as gRPC has them:
// until the other side has taken them, or the call is over. Those that are below
// gRPC's threshold for pools, 1 KiB, are not.
type Counted struct {
	Message
	// Count is called with the change of the number of bytes, by any goroutine.
	Count func(bytes int)
}

// counting returns buffers to a pool, and counts them.
type counting struct {
	mem.BufferPool
	count func(int)
	size  int
}

// Put implements mem.BufferPool.
func (c *counting) Put(b *[]byte) {
	c.count(-c.size)
	c.BufferPool.Put(b)
}

// Codec is an encoding.CodecV2. It has no state.
type Codec struct{ stock encoding.CodecV2 }

// New makes the codec.
func New() Codec { return Codec{stock: encoding.GetCodecV2(Name)} }

// ServerOption makes a server use the codec for all of its calls.
func ServerOption() grpc.ServerOption { return grpc.ForceServerCodecV2(New()) }

// DialOption makes a client connection use the codec for all of its calls.
func DialOption() grpc.DialOption {
	return grpc.WithDefaultCallOptions(grpc.ForceCodecV2(New()))
}

// Name implements encoding.CodecV2.
func (Codec) Name() string { return Name }

// Marshal encodes v into one buffer, from gRPC's pool if it is large.
func (c Codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(Message)
	if !ok {
		return c.stock.Marshal(v)
	}
	size := m.Size()
	if mem.IsBelowBufferPoolingThreshold(size) {
		b := make([]byte, size)
		if err := fill(m, b); err != nil {
			return nil, err
		}
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	var pool mem.BufferPool = mem.DefaultBufferPool()
	b := pool.Get(size)
	if err := fill(m, (*b)[:size]); err != nil {
		pool.Put(b)
		return nil, err
	}
	if c, ok := v.(*Counted); ok && c.Count != nil {
		c.Count(size)
		pool = &counting{pool, c.Count, size}
	}
	return mem.BufferSlice{mem.NewBuffer(b, pool)}, nil
}

// fill encodes m into all of b. A different length means that m was changed
// by another goroutine between Size and now.
func fill(m Message, b []byte) error {
	n, err := m.MarshalToSizedBuffer(b)
	if err != nil {
		return fmt.Errorf("codec: cannot encode %T: %w", m, err)
	}
	if n != len(b) {
		return fmt.Errorf("codec: %T took %d bytes and had announced %d", m, n, len(b))
	}
	return nil
}

// Unmarshal decodes data into v.
func (c Codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(Decoder)
	if !ok {
		return c.stock.Unmarshal(data, v)
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	if err := m.Unmarshal(buf.ReadOnlyData()); err != nil {
		return fmt.Errorf("codec: cannot decode %T: %w", m, err)
	}
	return nil
}
