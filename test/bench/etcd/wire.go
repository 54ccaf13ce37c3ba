package etcd

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of etcd's messages (etcdserverpb.KV, mvccpb.KeyValue).
const (
	rangeKey = 1
	rangeKVs = 2

	kvModRevision = 3
	kvValue       = 5

	putKey   = 1
	putValue = 2

	txnCompare   = 1
	txnSuccess   = 2
	txnSucceeded = 2

	compareTarget = 2
	compareKey    = 3
	compareMod    = 6
	targetMod     = 2

	opPut = 2
)

// message is an encoded message, for codec.Codec.
type message struct{ bytes []byte }

func (m *message) Size() int { return len(m.bytes) }

func (m *message) MarshalToSizedBuffer(b []byte) (int, error) { return copy(b, m.bytes), nil }

func (m *message) Unmarshal(b []byte) error {
	m.bytes = append(m.bytes, b...)
	return nil
}

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

func appendVarint(b []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), value)
}

func encodeRange(key string) []byte { return appendBytes(nil, rangeKey, []byte(key)) }

func encodePut(key string, value []byte) []byte {
	return appendBytes(appendBytes(nil, putKey, []byte(key)), putValue, value)
}

// encodePutIf encodes a transaction: compare the revision, equal being 0 and left out; put.
func encodePutIf(key string, value []byte, revision int64) []byte {
	compare := appendVarint(nil, compareTarget, targetMod)
	compare = appendBytes(compare, compareKey, []byte(key))
	compare = appendVarint(compare, compareMod, uint64(revision))
	put := appendBytes(nil, opPut, encodePut(key, value))
	return appendBytes(appendBytes(nil, txnCompare, compare), txnSuccess, put)
}

// field is a field of a message: a number, or what has a length.
type field struct {
	number protowire.Number
	varint uint64
	bytes  []byte
}

// fields calls f for each field.
func fields(b []byte, f func(field) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		x := field{number: number}
		switch kind {
		case protowire.VarintType:
			x.varint, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			x.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

// decodeRange returns the first value of a response, with its revision.
func decodeRange(b []byte) (value []byte, revision int64, err error) {
	err = fields(b, func(x field) error {
		if x.number != rangeKVs || revision != 0 {
			return nil
		}
		return fields(x.bytes, func(x field) error {
			switch x.number {
			case kvModRevision:
				revision = int64(x.varint)
			case kvValue:
				value = x.bytes
			}
			return nil
		})
	})
	return value, revision, err
}

// decodeSucceeded reports whether the comparisons of a transaction held.
func decodeSucceeded(b []byte) (succeeded bool, err error) {
	err = fields(b, func(x field) error {
		if x.number == txnSucceeded {
			succeeded = x.varint != 0
		}
		return nil
	})
	return succeeded, err
}
