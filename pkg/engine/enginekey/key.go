// Package enginekey is the layout of stored keys.
//
//	shard (2) | table (1) | user key, escaped | 00 01 | sub-key | 00 | inverted CSN (8) | length (1)
//
// Numbers are big-endian. Compare orders keys by their prefixes (everything before the inverted CSN)
// bytewise, then by their suffixes. The result is the order (shard, table, user key bytewise, sub-key,
// newest CSN first):
//
//  1. A zero byte of the user key is encoded as 00 FF, and 00 01 terminates it. So no encoded user key is a
//     prefix of another, and a shorter one sorts first: it is followed by 00, the least byte, and 01 < FF.
//  2. The CSN is stored as its complement, so that the newest version of a key is first and a seek to (key,
//     CSN) finds the newest version at or below the CSN.
//  3. The last byte is the length of the suffix, including itself: 9 after a CSN. A row without a CSN (all
//     tables except version) ends with the 00 after its sub-key, which is also its length: no suffix. So
//     the end of any key's prefix is determined by its last byte.
//
// The sub-key is empty. It is reserved for rows that belong to a key besides its versions, and must not
// start with 00. (Deltas are versions.)
//
// The layout is part of the format on disk. A change needs a new name of the comparer (pebblestore) and a
// new format of the store.
package enginekey

import (
	"bytes"
	"encoding/binary"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

const (
	headerSize = 3
	indexSize  = 8
	// SuffixSize is the size of the suffix of a version: CSN and length.
	SuffixSize = indexSize + 1

	escape     = 0x00
	escaped    = 0xff
	terminator = 0x01
	sentinel   = 0x00
)

// AppendPrefix appends the key of a row without a CSN. It is also the common prefix of all versions of a
// key, and sorts before them.
func AppendPrefix(dst []byte, shard kv.ShardID, table entry.Table, key []byte) []byte {
	dst = append(dst, byte(shard>>8), byte(shard), byte(table))
	for {
		i := bytes.IndexByte(key, escape)
		if i < 0 {
			break
		}
		dst = append(dst, key[:i]...)
		dst = append(dst, escape, escaped)
		key = key[i+1:]
	}
	dst = append(dst, key...)
	return append(dst, escape, terminator, sentinel)
}

// AppendCSN turns a prefix into the key of one version.
func AppendCSN(dst []byte, csn kv.CSN) []byte {
	dst = binary.BigEndian.AppendUint64(dst, ^uint64(csn))
	return append(dst, SuffixSize)
}

// AppendVersion appends the key of one version of a user key.
func AppendVersion(dst []byte, shard kv.ShardID, key []byte, csn kv.CSN) []byte {
	return AppendCSN(AppendPrefix(dst, shard, entry.TableVersion, key), csn)
}

// AppendPrefixEnd appends the least key that sorts after every version of a user key: the immediate
// successor of its prefix.
func AppendPrefixEnd(dst []byte, shard kv.ShardID, table entry.Table, key []byte) []byte {
	return append(AppendPrefix(dst, shard, table, key), sentinel)
}

// AppendTableStart appends a key that sorts before all rows of a table and after all rows of the previous
// table.
func AppendTableStart(dst []byte, shard kv.ShardID, table entry.Table) []byte {
	return append(dst, byte(shard>>8), byte(shard), byte(table), sentinel)
}

// Bounds returns the half-open range of encoded keys of the rows of a table whose user keys are in span.
func Bounds(shard kv.ShardID, table entry.Table, span kv.Span) (lower, upper []byte) {
	lower = AppendPrefix(nil, shard, table, span.Start)
	switch {
	case span.IsPoint():
		upper = AppendPrefixEnd(nil, shard, table, span.Start)
	case len(span.End) == 0:
		upper = AppendTableStart(nil, shard, table+1)
	default:
		upper = AppendPrefix(nil, shard, table, span.End)
	}
	return lower, upper
}

// Split returns the length of a key's prefix: everything except the CSN and its length. It accepts any
// bytes; a key that does not end like a version is all prefix.
func Split(k []byte) int {
	n := len(k)
	if n < SuffixSize || k[n-1] != SuffixSize {
		return n
	}
	return n - SuffixSize
}

// Compare orders keys: by prefixes bytewise, then by suffixes, the empty one first. It accepts any bytes.
func Compare(a, b []byte) int {
	// Most comparisons are decided by bytes that can only be prefix, without the suffixes.
	if n := min(len(a), len(b)) - SuffixSize; n > 0 {
		if c := bytes.Compare(a[:n], b[:n]); c != 0 {
			return c
		}
	}
	an, bn := Split(a), Split(b)
	if c := bytes.Compare(a[:an], b[:bn]); c != 0 {
		return c
	}
	return bytes.Compare(a[an:], b[bn:])
}

// CSN returns the CSN of a key that ends like a version.
func CSN(k []byte) (kv.CSN, bool) {
	n := Split(k)
	if n == len(k) {
		return 0, false
	}
	return kv.CSN(^binary.BigEndian.Uint64(k[n:])), true
}
