// Package vclock is vector clocks: one index per shard, which together name a
// consistent state of the store (docs/protocol.md, section 1). Answers carry
// one as a token; pins and snapshots are one.
package vclock

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Clock holds an index for each shard it mentions, in the order of shards.
// A shard that it does not mention stands at zero. The zero Clock is ready.
type Clock struct {
	entries []Entry
}

// Entry is one shard's index.
type Entry struct {
	Shard kv.ShardID
	Index kv.Index
}

func (c *Clock) find(s kv.ShardID) (int, bool) {
	return slices.BinarySearchFunc(c.entries, s, func(e Entry, s kv.ShardID) int { return int(e.Shard) - int(s) })
}

// At is the shard's index.
func (c *Clock) At(s kv.ShardID) kv.Index {
	if i, ok := c.find(s); ok {
		return c.entries[i].Index
	}
	return 0
}

// Raise sets the shard's index if it is higher than before.
func (c *Clock) Raise(s kv.ShardID, to kv.Index) {
	i, ok := c.find(s)
	switch {
	case ok:
		c.entries[i].Index = max(c.entries[i].Index, to)
	case to > 0:
		c.entries = slices.Insert(c.entries, i, Entry{s, to})
	}
}

// Merge raises every entry to the other clock's.
func (c *Clock) Merge(o *Clock) {
	for _, e := range o.entries {
		c.Raise(e.Shard, e.Index)
	}
}

// Covers reports whether no entry of o is higher than c's.
func (c *Clock) Covers(o *Clock) bool {
	for _, e := range o.entries {
		if c.At(e.Shard) < e.Index {
			return false
		}
	}
	return true
}

// Entries lists the entries in the order of shards. It is not to be changed.
func (c *Clock) Entries() []Entry { return c.entries }

// Clone is an independent copy.
func (c *Clock) Clone() *Clock { return &Clock{entries: slices.Clone(c.entries)} }

func (c *Clock) String() string {
	parts := make([]string, len(c.entries))
	for i, e := range c.entries {
		parts[i] = fmt.Sprintf("%v:%d", e.Shard, e.Index)
	}
	return "<" + strings.Join(parts, " ") + ">"
}

const format = 1

// Encode gives the clock as bytes: a format byte, then for each entry the
// distance to the shard before and the index, as varints.
func (c *Clock) Encode() []byte {
	b := []byte{format}
	last := uint64(0)
	for _, e := range c.entries {
		b = binary.AppendUvarint(b, uint64(e.Shard)-last)
		b = binary.AppendUvarint(b, uint64(e.Index))
		last = uint64(e.Shard)
	}
	return b
}

// EncodeOne is Encode for a clock of one entry, which is not zero.
func EncodeOne(e Entry) []byte {
	b := make([]byte, 1, 12)
	b[0] = format
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(e.Shard)), uint64(e.Index))
}

// uvarint reads a number in the one way in which it is written: no longer
// than it need be, so that equal clocks are equal bytes.
func uvarint(b []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

// Decode reads what Encode wrote; no bytes are the zero clock.
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
		c.entries = append(c.entries, Entry{kv.ShardID(shard), kv.Index(idx)})
	}
	return c, nil
}
