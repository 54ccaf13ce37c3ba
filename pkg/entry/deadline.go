package entry

import "encoding/binary"

// A value may expire (docs/decisions/0020): its key is deleted some time after its
// deadline, by a transaction of its own. For each key whose newest value expires
// there is a row in the deadline table, which is written and removed in one batch
// with the versions that say so: reading that table in order is finding what is
// due.

// DeadlineKey is the key of a deadline's row: when the key expires, in milliseconds
// since 1970, and the user key.
func DeadlineKey(expires int64, user []byte) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, expirySize+len(user)), uint64(expires)), user...)
}

// SplitDeadlineKey takes apart what DeadlineKey made; ok is false if it is not that.
func SplitDeadlineKey(key []byte) (expires int64, user []byte, ok bool) {
	if len(key) <= expirySize {
		return 0, nil, false
	}
	expires = int64(binary.BigEndian.Uint64(key))
	return expires, key[expirySize:], expires > 0
}
