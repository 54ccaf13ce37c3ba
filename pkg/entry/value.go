package entry

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Type is a data type's number in stored values; package adt owns the list.
type Type uint8

// TypeDeleted marks a tombstone: the key was removed at that version.
const TypeDeleted Type = 255

// Value is what a version holds. The zero Value is a key that never was.
type Value struct {
	Type    Type
	Version kv.Version
	// Payload is in the data type's own encoding.
	Payload []byte
}

// Exists reports whether v is a value rather than a tombstone or nothing.
func (v Value) Exists() bool { return !v.Version.IsZero() && v.Type != TypeDeleted }

// valueFormat is the first byte of every stored value; a later layout takes
// another number.
const valueFormat = 1

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

// DecodeValue reads what Encode wrote. The payload aliases b.
func DecodeValue(b []byte) (Value, error) {
	var v Value
	if len(b) < valueHeader {
		return v, &kv.Error{Kind: kv.KindCorrupt, Op: -1, Text: fmt.Sprintf("a stored value of %d bytes is too short", len(b))}
	}
	if b[0] != valueFormat {
		return v, &kv.Error{Kind: kv.KindCorrupt, Op: -1, Text: fmt.Sprintf("a stored value has the unknown format %d", b[0]),
			Hint: "it may have been written by a newer linchpin"}
	}
	v.Type = Type(b[1])
	if err := v.Version.Unmarshal(b[2:valueHeader]); err != nil {
		return v, err
	}
	v.Payload = b[valueHeader:]
	return v, nil
}

// IsTombstone reports whether an encoded value is a tombstone.
func IsTombstone(b []byte) bool { return len(b) >= 2 && Type(b[1]) == TypeDeleted }
