package entry

import (
	"encoding/binary"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Type is the number of a data type in stored values. Package adt defines the list.
type Type uint8

const (
	// TypeDeleted is a deletion tombstone: the key was deleted at that version.
	TypeDeleted Type = 255
	// TypeMoved is a move tombstone: the key is on another shard, which the payload names.
	TypeMoved Type = 254
)

// Value is the content of a version. The zero Value is a key that has never existed.
type Value struct {
	Type    Type
	Version kv.Version
	// Payload is in the encoding of the data type. It may be nil if State is not: adt.Payload makes it.
	Payload []byte
	// Expires is the deadline of the key, in milliseconds since 1970 by the clock of its shard; 0 if there is none, and
	// for tombstones.
	Expires int64
	// State is the decoded payload, nil if it has not been needed yet. It is immutable.
	State any
}

// Exists reports whether v is a value, not a tombstone or nothing.
func (v Value) Exists() bool { return !v.Version.IsZero() && v.Type < TypeMoved }

// MovedTo returns the shard in a move tombstone; ok is false if v is not one.
func (v Value) MovedTo() (to kv.ShardID, ok bool) {
	if v.Type != TypeMoved || len(v.Payload) != 2 {
		return 0, false
	}
	return kv.ShardID(binary.BigEndian.Uint16(v.Payload)), true
}

// MovedPayload is the payload of a move tombstone.
func MovedPayload(to kv.ShardID) []byte { return binary.BigEndian.AppendUint16(nil, uint16(to)) }

// valueFormat is the first byte of every stored value. Another layout has another number; see also pages.go.
const (
	valueFormat = 1
	// deltaFormat is the format of a delta: the header of the new value, and the calls that make it from that of the
	// preceding row. Versions that do not know it reject it.
	deltaFormat = 2
	// expiringFlag is added to the format of a row whose value expires: the deadline follows the header, in 8 bytes.
	// Versions that do not know it reject it.
	expiringFlag = 0x80
)

const (
	plainHeader = 2 + 14
	expirySize  = 8
)

// header is the length of the header of v's rows in the version table.
func (v *Value) header() int {
	if v.Expires != 0 {
		return plainHeader + expirySize
	}
	return plainHeader
}

// afterHeader is the content of a row after its header. The length has been checked.
func afterHeader(b []byte) []byte {
	if b[0]&expiringFlag != 0 {
		return b[plainHeader+expirySize:]
	}
	return b[plainHeader:]
}

// formatOf is the format of a row without expiringFlag; 0 of an empty row.
func formatOf(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0] &^ expiringFlag
}

// Encode returns the stored form: format, type, version, payload.
func (v Value) Encode() []byte {
	b := make([]byte, v.EncodedSize())
	v.EncodeTo(b)
	return b
}

// EncodedSize is the length of the stored form.
func (v Value) EncodedSize() int { return v.header() + len(v.Payload) }

// EncodeTo writes the stored form to b, which has the length of EncodedSize.
func (v Value) EncodeTo(b []byte) {
	v.encodeHeader(b, valueFormat)
	copy(b[v.header():], v.Payload)
}

// encodeHeader writes the header of a row of the version table.
func (v *Value) encodeHeader(b []byte, format byte) {
	b[0], b[1] = format, byte(v.Type)
	if _, err := v.Version.MarshalTo(b[2:]); err != nil {
		panic(err) // the encoding has a fixed size, which b has
	}
	if v.Expires != 0 {
		b[0] |= expiringFlag
		binary.BigEndian.PutUint64(b[plainHeader:], uint64(v.Expires))
	}
}

// DecodeValue decodes the output of Encode. The payload aliases b. It fails for deltas and for values in pages; use
// DecodeHead where these may occur.
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

// DecodeHead decodes the type and version in a row of the version table, and the payload of a whole value, which
// aliases b. partial: the row is a delta or in pages, and does not have the whole value.
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
	if b[0]&expiringFlag != 0 {
		if err := v.decodeExpiry(b[plainHeader:]); err != nil {
			return Value{}, false, err
		}
	}
	if !partial {
		v.Payload = afterHeader(b)
	} else if !v.Exists() {
		return Value{}, false, corrupt("",
			"a stored change or page directory has the type %d, which has none, or no identity", v.Type)
	}
	return v, partial, nil
}

// decodeExpiry decodes the deadline of a value. A tombstone with a deadline is invalid.
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

// IsMoveTombstone reports whether an encoded value is a move tombstone.
func IsMoveTombstone(b []byte) bool { return len(b) >= 2 && Type(b[1]) == TypeMoved }

// IsTombstone reports whether an encoded value is a deletion tombstone. If there is no older version, it can be
// deleted: absence means the same.
func IsTombstone(b []byte) bool { return len(b) >= 2 && Type(b[1]) == TypeDeleted }
