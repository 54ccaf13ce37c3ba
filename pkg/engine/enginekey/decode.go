package enginekey

import (
	"encoding/binary"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Key is a decoded key.
type Key struct {
	Shard kv.ShardID
	Table entry.Table
	// User is the user key, or the name of a row.
	User []byte
	// CSN is that of a version; 0 in the other tables.
	CSN kv.CSN
}

// Append encodes k. Only keys of the version table have a CSN.
func (k Key) Append(dst []byte) []byte {
	dst = AppendPrefix(dst, k.Shard, k.Table, k.User)
	if k.Table == entry.TableVersion {
		dst = AppendCSN(dst, k.CSN)
	}
	return dst
}

// Decode is the inverse of Append, and rejects everything else: decoding and encoding returns the same
// bytes. The user key overwrites buf, which may be nil, so that a scan needs one buffer only.
func Decode(b, buf []byte) (Key, error) {
	var k Key
	n := Split(b)
	if n < headerSize+3 {
		return k, corruptError(b, "is too short")
	}
	k.Shard = kv.ShardID(binary.BigEndian.Uint16(b))
	k.Table = entry.Table(b[2])
	csn, versioned := CSN(b)
	if versioned != (k.Table == entry.TableVersion) {
		return k, corruptError(b, "has the suffix of another table")
	}
	k.CSN = csn
	rest, ok := k.unescape(b[headerSize:n], buf)
	if !ok {
		return k, corruptError(b, "is not terminated")
	}
	if len(rest) != 1 || rest[0] != sentinel {
		return k, corruptError(b, "has an unknown sub-key")
	}
	return k, nil
}

// unescape decodes the user key at the front of b and returns what follows its terminator.
func (k *Key) unescape(b, buf []byte) (rest []byte, ok bool) {
	k.User = buf[:0]
	for i := 0; i < len(b); i++ {
		if b[i] != escape {
			k.User = append(k.User, b[i])
			continue
		}
		i++
		switch {
		case i == len(b):
			return nil, false
		case b[i] == terminator:
			return b[i+1:], true
		case b[i] == escaped:
			k.User = append(k.User, escape)
		default:
			return nil, false
		}
	}
	return nil, false
}

func corruptError(b []byte, what string) error {
	const most = 64
	shown := b[:min(len(b), most)]
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Text: fmt.Sprintf("a stored key of %d bytes %s: %x", len(b), what,
		shown),
		Hint: "restore the store from a backup"}
}
