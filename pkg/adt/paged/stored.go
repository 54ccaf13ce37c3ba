package paged

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

// Errors of decoding.
var (
	ErrShort    = errors.New("it ends too early")
	ErrNumber   = errors.New("a number is not as it is written")
	ErrCount    = errors.New("it promises more elements than it has bytes for")
	ErrTrailing = errors.New("there are bytes after its end")
)

// UnsignedBytes returns the encoded length of an unsigned number.
func UnsignedBytes(u uint64) int { return (bits.Len64(u|1) + 6) / 7 }

// TextBytes returns the encoded length of bytes with their length.
func TextBytes(s string) int { return UnsignedBytes(uint64(len(s))) + len(s) }

// NumberBytes returns the encoded length of a signed number.
func NumberBytes(n int64) int { return UnsignedBytes(zigzag(n)) }

// zigzag maps small numbers of both signs to small unsigned numbers.
func zigzag(n int64) uint64 { return uint64(n)<<1 ^ uint64(n>>63) }

// AppendText appends the length of bytes, and the bytes.
func AppendText(b []byte, s string) []byte { return append(AppendLength(b, len(s)), s...) }

// AppendNumber appends a signed number.
func AppendNumber(b []byte, n int64) []byte { return binary.AppendUvarint(b, zigzag(n)) }

// AppendLength appends a number that is not negative.
func AppendLength(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

// Reader decodes a stored form from its start. The strings that it returns share memory with Rest.
//
// Forms are read strictly: a value has one stored form, so that equal values can be compared by their bytes, and what
// is damaged is found.
type Reader struct {
	// Rest is the part that has not been read.
	Rest string
}

// Count reads the number of elements, each of at least least bytes. A number that Rest cannot
// contain is rejected before memory is allocated for it.
func (r *Reader) Count(least int) (int, error) {
	n, err := r.Length()
	if err == nil && n > len(r.Rest)/least {
		err = ErrCount
	}
	return n, err
}

// Byte reads one byte.
func (r *Reader) Byte() (byte, error) {
	if r.Rest == "" {
		return 0, ErrShort
	}
	b := r.Rest[0]
	r.Rest = r.Rest[1:]
	return b, nil
}

// Length reads what AppendLength wrote.
func (r *Reader) Length() (int, error) {
	u, err := r.Unsigned()
	if err == nil && u > math.MaxInt {
		err = ErrCount
	}
	return int(u), err
}

// Number reads what AppendNumber wrote.
func (r *Reader) Number() (int64, error) {
	u, err := r.Unsigned()
	return int64(u>>1) ^ -int64(u&1), err
}

// Unsigned reads a number of 7 bits per byte, least significant first. Only the shortest encoding
// is accepted, so each value has one stored form.
//
//	0x05          5
//	0x85 0x00     rejected: 5 in two bytes
func (r *Reader) Unsigned() (u uint64, err error) {
	for i := range min(len(r.Rest), 10) {
		c := r.Rest[i]
		if i == 9 && c > 1 {
			return 0, ErrNumber
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c >= 0x80 {
			continue
		}
		if c == 0 && i > 0 {
			return 0, ErrNumber
		}
		r.Rest = r.Rest[i+1:]
		return u, nil
	}
	return 0, ErrShort
}

// Text reads what AppendText wrote.
func (r *Reader) Text() (string, error) {
	n, err := r.Length()
	if err != nil {
		return "", err
	}
	if n > len(r.Rest) {
		return "", ErrShort
	}
	out := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return out, nil
}

// End returns an error if Rest is not empty.
func (r *Reader) End() error {
	if r.Rest != "" {
		return ErrTrailing
	}
	return nil
}
