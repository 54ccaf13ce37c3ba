package adt

import (
	"encoding/binary"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

const (
	// Value is the type of byte strings of up to kv.MaxValueBytes.
	Value entry.Type = 0
	// Counter is the type of signed 64-bit integers.
	Counter entry.Type = 1
)

// TypeName returns the type's name in messages and on the command line.
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

// EncodeCounter encodes a counter: 8 bytes, big-endian two's complement.
func EncodeCounter(n int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(n))
}

// DecodeCounter decodes a counter.
func DecodeCounter(payload []byte) (int64, error) {
	if len(payload) != 8 {
		return 0, kv.Errorf(kv.KindCorrupt, "a counter of %d bytes, want 8", len(payload))
	}
	return int64(binary.BigEndian.Uint64(payload)), nil
}

// Sum adds without wrapping; ok is false if the sum exceeds 64 bits.
//
// Counters never wrap. An increment that would fails the transaction with OutOfRange: a wrapped sum would depend on
// the order of increments beyond the limit, and two adds would not commute.
func Sum(a, b int64) (sum int64, ok bool) {
	sum = a + b
	return sum, (sum > a) == (b > 0)
}
