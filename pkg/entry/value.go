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
	// Expires is when the key is deleted, in milliseconds since 1970 by the clock of
	// its shard; 0 if it does not expire, and for what does not exist.
	Expires int64
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
// another number. Others are in pages.go.
const (
	valueFormat = 1
	// deltaFormat is that of a change: of the row before it, and with the header
	// of the value that it makes. Readers that do not know it refuse it.
	deltaFormat = 2
	// expiring is set in the format of a row whose value expires: when follows the
	// header, in 8 bytes. Readers that do not know it refuse it.
	expiring = 0x80
)

const (
	plainHeader = 2 + 14
	expirySize  = 8
)

// header is the length of what v's rows of the version table begin with.
func (v *Value) header() int {
	if v.Expires != 0 {
		return plainHeader + expirySize
	}
	return plainHeader
}

// rest is what follows the header of a row, whose length has been checked.
func rest(b []byte) []byte {
	if b[0]&expiring != 0 {
		return b[plainHeader+expirySize:]
	}
	return b[plainHeader:]
}

// formatOf is the format of a row, whether its value expires or not; 0 of none.
func formatOf(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0] &^ expiring
}

// Encode gives the stored form: format, type, identity, payload.
func (v Value) Encode() []byte {
	b := make([]byte, v.EncodedSize())
	v.EncodeTo(b)
	return b
}

// EncodedSize is the length of the stored form.
func (v Value) EncodedSize() int { return v.header() + len(v.Payload) }

// EncodeTo writes the stored form to b, which has its length.
func (v Value) EncodeTo(b []byte) {
	v.encodeHeader(b, valueFormat)
	copy(b[v.header():], v.Payload)
}

// encodeHeader writes what all rows of the version table begin with.
func (v *Value) encodeHeader(b []byte, format byte) {
	b[0], b[1] = format, byte(v.Type)
	if _, err := v.Version.MarshalTo(b[2:]); err != nil {
		panic(err) // a fixed-size encoding into enough room
	}
	if v.Expires != 0 {
		b[0] |= expiring
		binary.BigEndian.PutUint64(b[plainHeader:], uint64(v.Expires))
	}
}

// DecodeValue reads what Encode wrote. The payload aliases b. A change is no
// value, and one in pages is not all of it: whoever may meet them calls DecodeHead.
func DecodeValue(b []byte) (Value, error) {
	v, partial, err := DecodeHead(b)
	switch {
	case err == nil && IsDirectory(b):
		return Value{}, corrupt("", "a stored row is a value in pages, not a whole value")
	case err == nil && partial:
		return Value{}, corrupt("", "a stored row is a change, not a whole value")
	}
	return v, err
}

// DecodeHead reads the type and the identity that a row of the version table
// has, and the payload if it is a whole value, which aliases b. If it is a change
// or in pages it is partial: what the value holds is not known from it alone.
func DecodeHead(b []byte) (v Value, partial bool, err error) {
	if len(b) < plainHeader {
		return v, false, corrupt("", "a stored value of %d bytes is too short", len(b))
	}
	format := formatOf(b)
	if format < valueFormat || format > patchFormat {
		return v, false, corrupt("a newer release may have written it", "a stored value has the unknown format %d", b[0])
	}
	v.Type, partial = Type(b[1]), format != valueFormat
	if err := v.Version.Unmarshal(b[2:plainHeader]); err != nil {
		return v, partial, err
	}
	if b[0]&expiring != 0 {
		if err := v.decodeExpiry(b[plainHeader:]); err != nil {
			return Value{}, false, err
		}
	}
	if !partial {
		v.Payload = rest(b)
	} else if !v.Exists() {
		return Value{}, false, corrupt("", "a stored change or page directory has the type %d, which has none, or no identity", v.Type)
	}
	return v, partial, nil
}

// decodeExpiry reads when a value expires. What does not exist does not.
func (v *Value) decodeExpiry(b []byte) error {
	if len(b) < expirySize {
		return corrupt("", "a stored value is too short to contain its expiry time")
	}
	v.Expires = int64(binary.BigEndian.Uint64(b))
	if v.Expires <= 0 || !v.Exists() {
		return corrupt("", "a stored value of type %d has the invalid expiry time %d", v.Type, v.Expires)
	}
	return nil
}

func corrupt(hint, format string, args ...any) error {
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Text: fmt.Sprintf(format, args...), Hint: hint}
}

// IsMark reports whether an encoded value says that the key lives elsewhere.
func IsMark(b []byte) bool { return len(b) >= 2 && Type(b[1]) == TypeMoved }

// IsTombstone reports whether an encoded value is a tombstone. One of which nothing
// older is left says what nothing says: it need not be kept.
func IsTombstone(b []byte) bool { return len(b) >= 2 && Type(b[1]) == TypeDeleted }
