package adt

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt/tree"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// MaxMemberBytes bounds a member of a set or scored set, and a field of a dict.
// They may be empty. They are keys of trees, and compared often, so that they are
// bound to be shorter than values.
const MaxMemberBytes = 64 << 10

// collectionForm is the first byte of the stored form of a set, dict, scored set
// or list. A later layout takes another number.
const collectionForm = 1

// fitMembers tells which of the arguments is too long for a member: of every so
// many, the one at a place.
func fitMembers(a Args, every, place int, what string) error {
	for i := place; i < len(a); i += every {
		if n := len(a[i].Bytes); n > MaxMemberBytes {
			return Errorf(kv.KindInvalid, "a %s has %d bytes, and at most %d are allowed", what, n, MaxMemberBytes)
		}
	}
	return nil
}

// eachPart has every argument of so many, from the first on, as a part of its
// own; the others say what is to be done with it.
func eachPart(every, place int) func(Args) [][]byte {
	return func(a Args) [][]byte {
		out := make([][]byte, 0, len(a)/every)
		for i := place; i < len(a); i += every {
			out = append(out, a[i].Bytes)
		}
		return out
	}
}

// firstPart has the first argument as the part, whatever comes after it.
func firstPart(a Args) [][]byte { return [][]byte{a[0].Bytes} }

// inARow makes one call of two that do what they do for each of their arguments,
// in order. It is never one of more than fewParts: that would be locked as a whole,
// as seen by readers.
func inARow(every int) func(first, then Args) (Args, bool) {
	return func(first, then Args) (Args, bool) {
		if len(first)+len(then) > every*fewParts {
			return nil, false
		}
		return append(append(make(Args, 0, len(first)+len(then)), first...), then...), true
	}
}

// span gives positions from first to last, last included, as a slice of n has
// them: from i up to j, without j. Negative ones count from the end, and those
// that there are not are left out (Redis' LRANGE).
func span(first, last int64, n int) (i, j int) {
	if first < 0 {
		first += int64(n)
	}
	if last < 0 {
		last += int64(n)
	}
	first, last = max(first, 0), min(last, int64(n)-1)
	if first > last {
		return 0, 0
	}
	return int(first), int(last) + 1
}

// unsignedBytes is the length of an unsigned number as it is stored.
func unsignedBytes(u uint64) int { return (bits.Len64(u|1) + 6) / 7 }

func lengthBytes(n int) int { return unsignedBytes(uint64(n)) }

// textBytes is the length of bytes as they are stored, behind their length.
func textBytes(s string) int { return lengthBytes(len(s)) + len(s) }

// zigzag has small numbers of both signs be small unsigned ones.
func zigzag(n int64) uint64 { return uint64(n)<<1 ^ uint64(n>>63) }

func appendText(b []byte, s string) []byte { return append(appendLength(b, len(s)), s...) }

func appendNumber(b []byte, n int64) []byte { return binary.AppendUvarint(b, zigzag(n)) }

func appendLength(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

var (
	errShort  = errors.New("it ends too early")
	errNumber = errors.New("a number is not as it is written")
	errCount  = errors.New("it promises more elements than it has bytes for")
	errRest   = errors.New("there are bytes after its end")
	errNone   = errors.New("it has no elements, and would not have been kept")
)

// stored reads a stored form. What it gives are parts of one copy of it.
type stored struct{ rest string }

// openStored reads the version of a collection's form, and how many elements of
// at least so many bytes follow. Forms that promise more than they can hold are
// refused before memory is taken for them.
func openStored(payload []byte, least int) (stored, int, error) {
	if len(payload) == 0 || payload[0] != collectionForm {
		return stored{}, 0, errors.New("its version is not known; it may have been written by a newer linchpin")
	}
	s := stored{string(payload[1:])}
	n, err := s.length()
	switch {
	case err != nil:
		return s, 0, err
	case n == 0:
		return s, 0, errNone
	case n > len(s.rest)/least:
		return s, 0, errCount
	}
	return s, n, nil
}

// length reads what appendLength wrote, and nothing else.
func (s *stored) length() (int, error) {
	u, err := s.unsigned()
	if err == nil && u > math.MaxInt {
		err = errCount
	}
	return int(u), err
}

// number reads what appendNumber wrote.
func (s *stored) number() (int64, error) {
	u, err := s.unsigned()
	return int64(u>>1) ^ -int64(u&1), err
}

// unsigned reads a number of 7 bits a byte, the least first, in as few bytes as
// there can be.
func (s *stored) unsigned() (u uint64, err error) {
	for i := range min(len(s.rest), 10) {
		c := s.rest[i]
		if i == 9 && c > 1 {
			return 0, errNumber
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c >= 0x80 {
			continue
		}
		if c == 0 && i > 0 {
			return 0, errNumber
		}
		s.rest = s.rest[i+1:]
		return u, nil
	}
	return 0, errShort
}

// text reads what appendText wrote.
func (s *stored) text() (string, error) {
	n, err := s.length()
	if err != nil {
		return "", err
	}
	if n > len(s.rest) {
		return "", errShort
	}
	out := s.rest[:n]
	s.rest = s.rest[n:]
	return out, nil
}

// end tells whether all was read.
func (s *stored) end() error {
	if s.rest != "" {
		return errRest
	}
	return nil
}

// byText orders members and fields by their bytes.
func byText[V any](bytes func(string, V) int) *tree.Order[string, V] {
	return &tree.Order[string, V]{Compare: strings.Compare, Bytes: bytes}
}

// refused fails a call.
func refused(err error) Plan { return Plan{Err: err} }

// nothing is the plan of a call that changes nothing as things are, which is kept
// true by a lock.
func nothing(need Kind, answer ...msg.Datum) Plan { return Plan{Need: need, Answer: answer} }
