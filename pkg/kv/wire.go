package kv

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// The methods below make the identifiers custom types of the generated messages (gogoproto.customtype): fixed-size
// big-endian bytes in a protobuf bytes field, so stored ids sort by age. A zero value is written as zero bytes, and
// an empty field is read as zero.

func wrongSize(what string, got, want int) error {
	return fmt.Errorf("kv: %s of %d bytes, want %d", what, got, want)
}

// Size is the encoded size in bytes.
func (id TxnID) Size() int { return txnIDSize }

// Marshal returns the encoding.
func (id TxnID) Marshal() ([]byte, error) {
	b := make([]byte, txnIDSize)
	id.put(b)
	return b, nil
}

// MarshalTo encodes into b, which has at least Size bytes.
func (id TxnID) MarshalTo(b []byte) (int, error) {
	id.put(b)
	return txnIDSize, nil
}

// Unmarshal decodes the result of Marshal.
func (id *TxnID) Unmarshal(b []byte) error {
	if len(b) == 0 {
		*id = TxnID{}
		return nil
	}
	if len(b) != txnIDSize {
		return wrongSize("transaction id", len(b), txnIDSize)
	}
	id.get(b)
	return nil
}

// MarshalText returns the result of String, which is the id in JSON; of the zero id, nothing.
func (id TxnID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, nil
	}
	return []byte(id.String()), nil
}

// UnmarshalText decodes the result of MarshalText.
func (id *TxnID) UnmarshalText(text []byte) (err error) {
	*id = TxnID{}
	if len(text) > 0 {
		*id, err = ParseTxnID(string(text))
	}
	return err
}

// MarshalText returns the result of String.
func (r TxnRef) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Size is the encoded size in bytes.
func (r TxnRef) Size() int { return txnRefSize }

// Marshal returns the encoding.
func (r TxnRef) Marshal() ([]byte, error) {
	b := make([]byte, txnRefSize)
	_, err := r.MarshalTo(b)
	return b, err
}

// MarshalTo encodes into b, which has at least Size bytes.
func (r TxnRef) MarshalTo(b []byte) (int, error) {
	r.TxnID.put(b)
	binary.BigEndian.PutUint32(b[txnIDSize:], r.Attempt)
	return txnRefSize, nil
}

// Unmarshal decodes the result of Marshal.
func (r *TxnRef) Unmarshal(b []byte) error {
	if len(b) == 0 {
		*r = TxnRef{}
		return nil
	}
	if len(b) != txnRefSize {
		return wrongSize("transaction attempt", len(b), txnRefSize)
	}
	r.TxnID.get(b)
	r.Attempt = binary.BigEndian.Uint32(b[txnIDSize:])
	return nil
}

// Size is the encoded size in bytes. Unlike other names a CommitID is three varints: it is in
// each message about a commit, and its numbers are small.
func (c CommitID) Size() int {
	return uvarintSize(uint64(c.Gateway)) + uvarintSize(uint64(c.Incarnation)) + uvarintSize(c.Number)
}

func uvarintSize(x uint64) int { return (bits.Len64(x|1) + 6) / 7 }

// Marshal returns the encoding.
func (c CommitID) Marshal() ([]byte, error) {
	b := make([]byte, c.Size())
	_, err := c.MarshalTo(b)
	return b, err
}

// MarshalTo encodes into b, which has at least Size bytes.
func (c CommitID) MarshalTo(b []byte) (int, error) {
	n := binary.PutUvarint(b, uint64(c.Gateway))
	n += binary.PutUvarint(b[n:], uint64(c.Incarnation))
	return n + binary.PutUvarint(b[n:], c.Number), nil
}

// Unmarshal decodes the result of Marshal.
func (c *CommitID) Unmarshal(b []byte) error {
	*c = CommitID{}
	if len(b) == 0 {
		return nil
	}
	d := Decoder{Rest: b}
	gateway, incarnation, number := d.Uint(), d.Uint(), d.Uint()
	if d.Failed || len(d.Rest) > 0 || gateway > math.MaxUint16 || incarnation > math.MaxUint32 {
		return fmt.Errorf("kv: %x is not the name of a commit", b)
	}
	id := CommitID{Gateway: NodeID(gateway), Incarnation: uint32(incarnation), Number: number}
	if id.Size() != len(b) {
		return wrongSize("the name of a commit", len(b), id.Size())
	}
	*c = id
	return nil
}

// Size is the encoded size in bytes.
func (v Version) Size() int { return versionSize }

// Marshal returns the encoding.
func (v Version) Marshal() ([]byte, error) {
	b := make([]byte, versionSize)
	_, err := v.MarshalTo(b)
	return b, err
}

// MarshalTo encodes into b, which has at least Size bytes.
func (v Version) MarshalTo(b []byte) (int, error) {
	binary.BigEndian.PutUint32(b, v.Moves)
	binary.BigEndian.PutUint16(b[4:], uint16(v.Shard))
	binary.BigEndian.PutUint64(b[6:], v.Write)
	return versionSize, nil
}

// Unmarshal decodes the result of Marshal.
func (v *Version) Unmarshal(b []byte) error {
	if len(b) == 0 {
		*v = Version{}
		return nil
	}
	if len(b) != versionSize {
		return wrongSize("version", len(b), versionSize)
	}
	v.Moves = binary.BigEndian.Uint32(b)
	v.Shard = ShardID(binary.BigEndian.Uint16(b[4:]))
	v.Write = binary.BigEndian.Uint64(b[6:])
	return nil
}

// Size is the encoded size in bytes.
func (e Epoch) Size() int { return epochSize }

// Marshal returns the encoding.
func (e Epoch) Marshal() ([]byte, error) {
	b := make([]byte, epochSize)
	_, err := e.MarshalTo(b)
	return b, err
}

// MarshalTo encodes into b, which has at least Size bytes.
func (e Epoch) MarshalTo(b []byte) (int, error) {
	binary.BigEndian.PutUint64(b, uint64(e.Incarnation))
	binary.BigEndian.PutUint64(b[8:], e.Count)
	return epochSize, nil
}

// Unmarshal decodes the result of Marshal.
func (e *Epoch) Unmarshal(b []byte) error {
	if len(b) == 0 {
		*e = Epoch{}
		return nil
	}
	if len(b) != epochSize {
		return wrongSize("epoch", len(b), epochSize)
	}
	e.Incarnation = Incarnation(binary.BigEndian.Uint64(b))
	e.Count = binary.BigEndian.Uint64(b[8:])
	return nil
}
