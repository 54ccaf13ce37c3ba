// Package enginekey is the layout of stored keys.
//
//	shard (2) | table (1) | user key, escaped | 00 01 | sub-key | 00 | inverted index (8) | length (1)
//
// Numbers are big-endian. The order of keys, Compare, is that of the prefixes
// (all before the inverted index) bytewise, then of the suffixes. It comes to
// (shard, table, user key bytewise, sub-key, newest index first):
//
//   - A zero byte of the user key is written as 00 FF, and 00 01 ends it. So
//     no encoded user key is a prefix of another, and one that is shorter
//     sorts first: what follows it, 00, is the least byte, and 01 < FF.
//   - The index is stored as its complement, so that the newest version of a
//     key comes first and a seek to (key, index) finds the newest one at or
//     below the index.
//   - The last byte counts the bytes of the suffix, itself included: 9 after
//     an index. A row without an index (all tables but version) ends with the
//     00 after its sub-key, which is thereby also its length: no suffix. A
//     store finds the end of any key's prefix from its last byte alone.
//
// The sub-key is empty today. It is the place for rows that belong to a key
// beside its versions; it must not begin with 00. (Deltas are versions.)
//
// The layout is part of what is on disk. A change takes a new name of the
// comparer (pebblestore) and a new format of the store.
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
	// SuffixSize is the size of the suffix of a version: index and length.
	SuffixSize = indexSize + 1

	escape     = 0x00
	escaped    = 0xff
	terminator = 0x01
	sentinel   = 0x00
)

// AppendPrefix appends the key of a row without an index. It is also what
// all versions of a key have in common, and sorts before them.
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

// AppendIndex makes a prefix the key of one version.
func AppendIndex(dst []byte, index kv.Index) []byte {
	dst = binary.BigEndian.AppendUint64(dst, ^uint64(index))
	return append(dst, SuffixSize)
}

// AppendVersion appends the key of one version of a user key.
func AppendVersion(dst []byte, shard kv.ShardID, key []byte, index kv.Index) []byte {
	return AppendIndex(AppendPrefix(dst, shard, entry.TableVersion, key), index)
}

// AppendPrefixEnd appends the least key that sorts after every version of a
// user key: the immediate successor of its prefix.
func AppendPrefixEnd(dst []byte, shard kv.ShardID, table entry.Table, key []byte) []byte {
	return append(AppendPrefix(dst, shard, table, key), sentinel)
}

// AppendTableStart appends a key that sorts before all rows of a table and
// after all rows of the one before it, so that it bounds both.
func AppendTableStart(dst []byte, shard kv.ShardID, table entry.Table) []byte {
	return append(dst, byte(shard>>8), byte(shard), byte(table), sentinel)
}

// Bounds gives the half-open range of encoded keys that holds the rows of a
// table whose user keys lie in span.
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

// Split gives the length of a key's prefix: all but the index and its length.
// It takes any bytes; what does not end like a version is all prefix.
func Split(k []byte) int {
	n := len(k)
	if n < SuffixSize || k[n-1] != SuffixSize {
		return n
	}
	return n - SuffixSize
}

// Compare is the order of keys: prefixes bytewise, then suffixes, the empty
// one first. It takes any bytes.
func Compare(a, b []byte) int {
	// What can only be prefix decides most often, without a look at the ends.
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

// Index gives the index of a key that ends like a version.
func Index(k []byte) (kv.Index, bool) {
	n := Split(k)
	if n == len(k) {
		return 0, false
	}
	return kv.Index(^binary.BigEndian.Uint64(k[n:])), true
}
