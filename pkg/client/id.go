package client

import (
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// TxID is the id of a transaction. The client makes it; it has the time at which the transaction
// began, in nanoseconds since 1970, and 64 random bits, both big-endian. Its text form has 32
// hexadecimal digits. The zero TxID is that of no transaction.
type TxID [16]byte

// ParseTxID parses what [TxID.String] returns.
func ParseTxID(s string) (TxID, error) {
	id, err := kv.ParseTxnID(s)
	if err != nil {
		return TxID{}, errorf(KindInvalid, nil, "%q is not the id of a transaction: want 32 hexadecimal digits", s)
	}
	return txID(id), nil
}

// String returns 32 hexadecimal digits.
func (id TxID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether id is the zero TxID.
func (id TxID) IsZero() bool { return id == TxID{} }

// Time returns when the transaction began, by the clock of the node that the client was connected to.
func (id TxID) Time() time.Time { return time.Unix(0, id.stored().Time) }

// MarshalText implements [encoding.TextMarshaler].
func (id TxID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *TxID) UnmarshalText(text []byte) error {
	parsed, err := ParseTxID(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

func txID(id kv.TxnID) (out TxID) {
	binary.BigEndian.PutUint64(out[:8], uint64(id.Time))
	binary.BigEndian.PutUint64(out[8:], id.Rand)
	return out
}

func (id TxID) stored() kv.TxnID {
	return kv.TxnID{Time: int64(binary.BigEndian.Uint64(id[:8])), Rand: binary.BigEndian.Uint64(id[8:])}
}

// Version identifies one write of one key, for ever. Two reads of a key that return the same
// version return the same value. The zero Version is that of no write.
type Version struct{ v kv.Version }

// ParseVersion parses what [Version.String] returns.
func ParseVersion(s string) (Version, error) {
	v, err := kv.ParseVersion(s)
	if err != nil {
		return Version{}, errorf(KindInvalid, nil, "%q is not a version: want three numbers, as in 0.3.1742", s)
	}
	return Version{v}, nil
}

// String returns three numbers with dots between them.
func (v Version) String() string { return v.v.String() }

// IsZero reports whether v is the zero Version.
func (v Version) IsZero() bool { return v.v.IsZero() }

// Compare returns a negative number if v is older than o, 0 if they are the same write and a
// positive number if v is newer. Both must be versions of one key.
func (v Version) Compare(o Version) int { return v.v.Compare(o.v) }

// MarshalText implements [encoding.TextMarshaler].
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (v *Version) UnmarshalText(text []byte) error {
	parsed, err := ParseVersion(string(text))
	if err == nil {
		*v = parsed
	}
	return err
}

// CausalityToken stands for a state of the store. A read with [After] returns no state older than
// that. A token can be passed on to other clients, as opaque bytes.
type CausalityToken []byte
