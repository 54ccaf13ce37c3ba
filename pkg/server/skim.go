package server

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// skimmer reads a message that there is no memory for, a piece at a time, and keeps
// nothing of it.
type skimmer struct {
	body body
	// left is what has not been looked at of the message, piece the part of it that has
	// been read.
	left  int64
	piece []byte
}

// ReadByte implements io.ByteReader.
func (s *skimmer) ReadByte() (byte, error) {
	if len(s.piece) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	b := s.piece[0]
	s.piece = s.piece[1:]
	s.left--
	return b, nil
}

// next reads a piece.
func (s *skimmer) next() error {
	if s.left <= 0 {
		return protowire.ParseError(-1) // the message ends within a field
	}
	data, err := s.body.Read(int(min(s.left, smallMessage)))
	if err != nil {
		return err
	}
	s.piece = data.Materialize()
	data.Free()
	return nil
}

// skip goes on by n bytes.
func (s *skimmer) skip(n uint64) error {
	for n > 0 {
		if len(s.piece) == 0 {
			if err := s.next(); err != nil {
				return err
			}
		}
		size := int(min(n, uint64(len(s.piece))))
		s.piece = s.piece[size:]
		s.left -= int64(size)
		n -= uint64(size)
	}
	return nil
}

// field reads a field: a varint's value, or the length of what follows.
func (s *skimmer) field() (num protowire.Number, typ protowire.Type, n uint64, _ error) {
	tag, err := binary.ReadUvarint(s)
	if err != nil {
		return 0, 0, 0, err
	}
	if tag > math.MaxUint32 {
		return 0, 0, 0, protowire.ParseError(-1)
	}
	num, typ = protowire.DecodeTag(tag)
	switch typ {
	case protowire.VarintType, protowire.BytesType:
		n, err = binary.ReadUvarint(s)
	case protowire.Fixed32Type:
		n = 4
	case protowire.Fixed64Type:
		n = 8
	default:
		err = protowire.ParseError(-1)
	}
	return num, typ, n, err
}

// calls yields the numbers of the calls of a pb.PipelineRequest, until each says no. Of the
// numbers of a call the last one counts, as everywhere.
func (s *skimmer) calls(each func(number uint64) bool) error {
	for s.left > 0 {
		num, typ, n, err := s.field()
		if err != nil {
			return err
		}
		if num == 1 && typ == protowire.BytesType {
			number, err := s.call(n)
			if err != nil {
				return err
			}
			if !each(number) {
				return nil
			}
			continue
		}
		if typ != protowire.VarintType {
			if err := s.skip(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// call gives the number of a call of n bytes.
func (s *skimmer) call(n uint64) (number uint64, _ error) {
	if n > uint64(s.left) {
		return 0, protowire.ParseError(-1)
	}
	for end := s.left - int64(n); s.left > end; {
		num, typ, n, err := s.field()
		if err == nil && typ != protowire.VarintType {
			err = s.skip(n)
		}
		if err != nil {
			return 0, err
		}
		if num == 1 && typ == protowire.VarintType {
			number = n
		}
	}
	return number, nil
}
