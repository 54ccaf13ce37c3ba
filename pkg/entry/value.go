package entry

import (
	"encoding/binary"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Type is a data type's number in stored values; package adt owns the list.
type Type uint8

const (
	// TypeDeleted marks a tombstone: the key was removed at that version.
	TypeDeleted Type = 255
	// TypeMoved marks a key that lives on another shard; the payload names it.
	TypeMoved Type = 254
)

// Value is what a version holds. The zero Value is a key that never was.
type Value struct {
	Type    Type
	Version kv.Version
	// Payload is in the data type's own encoding. It may be nil where State is
	// not: adt.Payload makes it.
	Payload []byte
	// State is the payload decoded, nil if nobody has needed it yet. It is never
	// changed, only replaced.
	State any
}

// Exists reports whether v is a value rather than a tombstone, a mark or
// nothing.
func (v Value) Exists() bool { return !v.Version.IsZero() && v.Type < TypeMoved }

// MovedTo is the shard that a mark names; ok is false if v is not a mark.
func (v Value) MovedTo() (to kv.ShardID, ok bool) {
	if v.Type != TypeMoved || len(v.Payload) != 2 {
		return 0, false
	}
	return kv.ShardID(binary.BigEndian.Uint16(v.Payload)), true
}

// MovedPayload is the payload of a mark.
func MovedPayload(to kv.ShardID) []byte { return binary.BigEndian.AppendUint16(nil, uint16(to)) }

// valueFormat is the first byte of every stored value; a later layout takes
// another number.
const (
	valueFormat = 1
	// deltaFormat is that of a change: of the row before it, and with the header
	// of the value that it makes. Readers that do not know it refuse it.
	deltaFormat = 2
)

const valueHeader = 2 + 14

// Encode gives the stored form: format, type, identity, payload.
func (v Value) Encode() []byte {
	b := make([]byte, v.EncodedSize())
	v.EncodeTo(b)
	return b
}

// EncodedSize is the length of the stored form.
func (v Value) EncodedSize() int { return valueHeader + len(v.Payload) }

// EncodeTo writes the stored form to b, which has its length.
func (v Value) EncodeTo(b []byte) {
	b[0], b[1] = valueFormat, byte(v.Type)
	if _, err := v.Version.MarshalTo(b[2:]); err != nil {
		panic(err) // a fixed-size encoding into enough room
	}
	copy(b[valueHeader:], v.Payload)
}

// DecodeValue reads what Encode wrote. The payload aliases b. A delta is no
// value: whoever may meet one calls DecodeHead.
func DecodeValue(b []byte) (Value, error) {
	v, delta, err := DecodeHead(b)
	if delta {
		return Value{}, corrupt("", "a stored row is a change, where the whole value should be")
	}
	return v, err
}

// DecodeHead reads the type and the identity that a row of the version table
// has, and the payload if it is a whole value, which aliases b. If it is a
// delta, what the value holds is not known from it alone.
func DecodeHead(b []byte) (v Value, delta bool, err error) {
	if len(b) < valueHeader {
		return v, false, corrupt("", "a stored value of %d bytes is too short", len(b))
	}
	if b[0] != valueFormat && b[0] != deltaFormat {
		return v, false, corrupt("it may have been written by a newer linchpin", "a stored value has the unknown format %d", b[0])
	}
	v.Type, delta = Type(b[1]), IsDelta(b)
	if err := v.Version.Unmarshal(b[2:valueHeader]); err != nil {
		return v, delta, err
	}
	if !delta {
		v.Payload = b[valueHeader:]
	} else if !v.Exists() {
		return Value{}, false, corrupt("", "a stored change has the type %d, which has no changes, or no identity", v.Type)
	}
	return v, delta, nil
}

func corrupt(hint, format string, args ...any) error {
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Text: fmt.Sprintf(format, args...), Hint: hint}
}

// IsMark reports whether an encoded value says that the key lives elsewhere.
func IsMark(b []byte) bool { return len(b) >= 2 && Type(b[1]) == TypeMoved }

// IsTombstone reports whether an encoded value is a tombstone. One of which nothing
// older is left says what nothing says: it need not be kept.
func IsTombstone(b []byte) bool { return len(b) >= 2 && Type(b[1]) == TypeDeleted }
