package entry

import "encoding/binary"

// A key may expire (docs/decisions/0020): after its deadline, a transaction of the store deletes it. Each key whose
// newest version has a deadline has a row in the deadline table, which is written and deleted in one batch with the
// versions. A scan of that table finds the keys that are due, in the order of their deadlines.

// DeadlineKey is the key of a row of the deadline table: the deadline in milliseconds since 1970, then the
// user key.
func DeadlineKey(expires int64, user []byte) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, expirySize+len(user)), uint64(expires)), user...)
}

// SplitDeadlineKey splits a key made by DeadlineKey; ok is false for others.
func SplitDeadlineKey(key []byte) (expires int64, user []byte, ok bool) {
	if len(key) <= expirySize {
		return 0, nil, false
	}
	expires = int64(binary.BigEndian.Uint64(key))
	return expires, key[expirySize:], expires > 0
}
