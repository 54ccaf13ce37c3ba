// Package vclock is vector clocks: one CSN per shard, which together name a consistent state of the store
// (docs/protocol.md, section 1). Responses carry one as a causality token, and each snapshot is one.
//
// For example, a client writes k on shard 1 and receives the token <s1:18>. A read with this token at another gateway
// uses only snapshots whose clock covers it, that is, with at least CSN 18 of shard 1.
//
// Clients store tokens, so every later version must decode the encodings of this one.
package vclock

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Clock has a CSN for each of its shards, in the order of shards. The CSN of other shards is 0. The zero
// Clock is empty.
type Clock struct {
	entries []Entry
}

// Entry is the CSN of one shard.
type Entry struct {
	Shard kv.ShardID
	CSN   kv.CSN
}

func (c *Clock) find(s kv.ShardID) (int, bool) {
	return slices.BinarySearchFunc(c.entries, s, func(e Entry, s kv.ShardID) int { return int(e.Shard) - int(s) })
}

// At returns the CSN of a shard.
func (c *Clock) At(s kv.ShardID) kv.CSN {
	if i, ok := c.find(s); ok {
		return c.entries[i].CSN
	}
	return 0
}

// Raise sets the CSN of a shard if it is higher than the present one.
func (c *Clock) Raise(s kv.ShardID, to kv.CSN) {
	i, ok := c.find(s)
	switch {
	case ok:
		c.entries[i].CSN = max(c.entries[i].CSN, to)
	case to > 0:
		c.entries = slices.Insert(c.entries, i, Entry{s, to})
	}
}

// Merge raises each entry to that of the other clock.
func (c *Clock) Merge(o *Clock) {
	for _, e := range o.entries {
		c.Raise(e.Shard, e.CSN)
	}
}

// Covers reports whether no entry of o is higher than that of c.
func (c *Clock) Covers(o *Clock) bool {
	for _, e := range o.entries {
		if c.At(e.Shard) < e.CSN {
			return false
		}
	}
	return true
}

// Entries returns the entries in the order of shards. The caller must not change them.
func (c *Clock) Entries() []Entry { return c.entries }

// Clone returns an independent copy.
func (c *Clock) Clone() *Clock { return &Clock{entries: slices.Clone(c.entries)} }

func (c *Clock) String() string {
	parts := make([]string, len(c.entries))
	for i, e := range c.entries {
		parts[i] = fmt.Sprintf("%v:%d", e.Shard, e.CSN)
	}
	return "<" + strings.Join(parts, " ") + ">"
}

const format = 1

// Encode returns the encoding: a format byte, then for each entry the distance to the preceding shard and the CSN, as
// varints.
func (c *Clock) Encode() []byte {
	b := []byte{format}
	last := uint64(0)
	for _, e := range c.entries {
		b = binary.AppendUvarint(b, uint64(e.Shard)-last)
		b = binary.AppendUvarint(b, uint64(e.CSN))
		last = uint64(e.Shard)
	}
	return b
}

// EncodeOne is Encode for a clock of one entry with a CSN other than 0.
func EncodeOne(e Entry) []byte {
	b := make([]byte, 1, 12)
	b[0] = format
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(e.Shard)), uint64(e.CSN))
}

// uvarint decodes a number in its shortest encoding, the only valid one: so equal clocks have equal encodings.
func uvarint(b []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

// Decode decodes the output of Encode. No bytes are the zero clock.
func Decode(b []byte) (*Clock, error) {
	c := &Clock{}
	if len(b) == 0 {
		return c, nil
	}
	bad := kv.Errorf(kv.KindInvalid, "the token is not one that linchpin gave out")
	if b[0] != format {
		return nil, bad
	}
	b = b[1:]
	shard := uint64(0)
	for first := true; len(b) > 0; first = false {
		d, rest, ok := uvarint(b)
		if !ok || d == 0 && !first {
			return nil, bad
		}
		idx, rest, ok := uvarint(rest)
		if !ok || idx == 0 {
			return nil, bad
		}
		b = rest
		shard += d
		if shard > 0xffff || d > 0xffff {
			return nil, bad
		}
		c.entries = append(c.entries, Entry{kv.ShardID(shard), kv.CSN(idx)})
	}
	return c, nil
}
