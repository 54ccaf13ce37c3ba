package client

import (
	"encoding/json"
	"strconv"
)

// Codec converts the elements of a data type to bytes and back. Equal elements must have equal
// bytes; elements are ordered by their bytes. A value that cannot be encoded fails the operation
// with [KindInvalid], bytes that cannot be decoded fail it with [KindWrongType].
type Codec[T any] interface {
	Encode(T) ([]byte, error)
	Decode([]byte) (T, error)
}

// The codecs of common types.
var (
	// String is the codec of strings, as they are.
	String Codec[string] = stringCodec{}
	// Bytes is the codec of bytes, as they are.
	Bytes Codec[[]byte] = bytesCodec{}
	// Int64 is the codec of whole numbers, in decimal, as the increments of a [Map] have them and
	// the command line shows them. Elements are ordered by their bytes: 10 is before 9.
	Int64 Codec[int64] = int64Codec{}
)

// JSON returns the codec of what package [encoding/json] can encode and decode.
func JSON[T any]() Codec[T] { return jsonCodec[T]{} }

type stringCodec struct{}

func (stringCodec) Encode(s string) ([]byte, error) { return []byte(s), nil }
func (stringCodec) Decode(b []byte) (string, error) { return string(b), nil }

type bytesCodec struct{}

func (bytesCodec) Encode(b []byte) ([]byte, error) { return b, nil }
func (bytesCodec) Decode(b []byte) ([]byte, error) { return b, nil }

type int64Codec struct{}

func (int64Codec) Encode(n int64) ([]byte, error) { return strconv.AppendInt(nil, n, 10), nil }
func (int64Codec) Decode(b []byte) (int64, error) { return strconv.ParseInt(string(b), 10, 64) }

type jsonCodec[T any] struct{}

func (jsonCodec[T]) Encode(v T) ([]byte, error) { return json.Marshal(v) }

func (jsonCodec[T]) Decode(b []byte) (v T, err error) { return v, json.Unmarshal(b, &v) }
