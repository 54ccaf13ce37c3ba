package entry

import (
	"encoding/binary"
	"errors"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// The entries of a replicated shard travel in the log of its group as bytes:
//
//	the shard's CSN after the entries (8 bytes) | for each: action and table | key | CSN | value
//
// Other numbers are varints, keys and values follow their lengths.

// ErrEncoding is the error of bytes that AppendGroup has not made.
var ErrEncoding = errors.New("the entries of a replica group cannot be decoded")

// AppendGroup appends entries to an encoded group, which is empty at first. csn is the shard's CSN after them.
func AppendGroup(b []byte, csn kv.CSN, entries []Entry) []byte {
	if len(b) == 0 {
		b = append(b, make([]byte, groupHeader)...)
	}
	binary.BigEndian.PutUint64(b, uint64(csn))
	for i := range entries {
		e := &entries[i]
		b = append(b, byte(e.Action)<<6|byte(e.Table))
		b = binary.AppendUvarint(b, uint64(len(e.Key)))
		b = append(b, e.Key...)
		b = binary.AppendUvarint(b, uint64(e.CSN))
		b = binary.AppendUvarint(b, uint64(len(e.Value)))
		b = append(b, e.Value...)
	}
	return b
}

const groupHeader = 8

// DecodeGroup appends the entries of an encoded group to a slice. They share the memory of b.
func DecodeGroup(b []byte, to []Entry) (kv.CSN, []Entry, error) {
	if len(b) < groupHeader {
		return 0, nil, ErrEncoding
	}
	d := kv.Decoder{Rest: b[groupHeader:]}
	for len(d.Rest) > 0 {
		kind := d.Byte()
		e := Entry{Action: Action(kind >> 6), Table: Table(kind & 63), Key: d.Bytes(), CSN: kv.CSN(d.Uint()),
			Value: d.Bytes()}
		d.Failed = d.Failed || e.Action > DeleteBelow || e.Table == 0 || e.Table > LastTable
		to = append(to, e)
		if d.Failed {
			return 0, nil, ErrEncoding
		}
	}
	return kv.CSN(binary.BigEndian.Uint64(b)), to, nil
}
