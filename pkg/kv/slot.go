package kv

import (
	"bytes"

	"github.com/cespare/xxhash/v2"
)

// Tag returns the part of a key that determines its slot.
func Tag(key []byte) []byte {
	if i := bytes.IndexByte(key, '{'); i >= 0 {
		if n := bytes.IndexByte(key[i+1:], '}'); n > 0 {
			return key[i+1 : i+1+n]
		}
	}
	return key
}

// Slot returns the slot of a key, from 0 to Slots-1.
func Slot(key []byte) int { return int(xxhash.Sum64(Tag(key)) % Slots) }

// HomeShard returns the home shard of a key among a number of ordinary shards.
func HomeShard(key []byte, shards int) ShardID { return ShardID(Slot(key) * shards / Slots) }
