package adt

import (
	"encoding/binary"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

const (
	// Value holds up to kv.MaxValueBytes bytes.
	Value entry.Type = 0
	// Counter holds a signed number of 64 bits.
	Counter entry.Type = 1
)

// TypeName is the type's name in messages and on the command line.
func TypeName(t entry.Type) string {
	switch t {
	case Value:
		return "value"
	case Counter:
		return "counter"
	case entry.TypeDeleted:
		return "deleted"
	}
	if d := Lookup(t); d != nil {
		return d.Name
	}
	return fmt.Sprintf("type %d", t)
}

// EncodeCounter is a counter's payload: 8 bytes, big-endian two's complement.
func EncodeCounter(n int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(n))
}

// DecodeCounter reads a counter's payload.
func DecodeCounter(payload []byte) (int64, error) {
	if len(payload) != 8 {
		return 0, kv.Errorf(kv.KindCorrupt, "a counter of %d bytes, want 8", len(payload))
	}
	return int64(binary.BigEndian.Uint64(payload)), nil
}

// Sum adds without wrapping; ok is false where the sum leaves 64 bits.
func Sum(a, b int64) (sum int64, ok bool) {
	sum = a + b
	return sum, (sum > a) == (b > 0)
}
