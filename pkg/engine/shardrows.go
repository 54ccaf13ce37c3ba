package engine

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// The rows of a shard travel in chunks (R6.8):
//
//	sum | number of the chunk | number of rows | rows: table | key | CSN | value
//
// The sum is CRC-32C, 4 bytes, over what follows; the others are uvarints, and keys and values begin with their
// lengths. Chunks are numbered from 0. The last one has no rows: a stream without it is not complete.

// ShardReader returns all rows of one shard, of all tables, from one consistent view of the store: that of the call
// that made it. Appends and replacements go on meanwhile. It is closed before the store.
type ShardReader interface {
	// Replica is the row of entry.TableReplica in that view, which says of which position the rows are; nil without one.
	Replica() []byte
	// Next returns the next chunk, of about 1 MiB and one row more, and nil after the last one.
	Next() ([]byte, error)
	Close() error
}

// ShardWriter replaces all rows of one shard, of all tables, by those of chunks (R6.10). Meanwhile nothing is appended
// to the shard. Readers see the rows of before or those of after, never both (R6.12), and a crash leaves either.
type ShardWriter interface {
	// Add takes the next chunk, in the order of ShardReader.Next. A damaged chunk, or one that does not follow the one
	// before, is KindCorrupt, and then nothing can be replaced any more.
	Add(chunk []byte) error
	// Replica is the row of entry.TableReplica in the chunks so far; nil without one.
	Replica() []byte
	// Complete is KindCorrupt if chunks are missing, or no row says of which position the rows are.
	Complete() error
	// Replace replaces the rows when all chunks are added. They are durable when WaitDurable has returned for its
	// position. An error is final, as that of Append; but if it is that of Complete, nothing has changed.
	Replace() (Position, error)
	// Close drops what has not replaced anything.
	Close() error
}

// chunkBytes is about the size of a chunk.
const chunkBytes = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ShardRow is a row of any table.
type ShardRow struct {
	Table entry.Table
	entry.Row
}

// ChunkEncoder makes chunks of rows.
type ChunkEncoder struct {
	next, rows uint64
	body       []byte
	ended      bool
}

// Add adds a row, and reports whether the chunk is full.
func (c *ChunkEncoder) Add(r *ShardRow) (full bool) {
	b := append(c.body, byte(r.Table))
	b = append(binary.AppendUvarint(b, uint64(len(r.Key))), r.Key...)
	b = binary.AppendUvarint(b, uint64(r.CSN))
	c.body = append(binary.AppendUvarint(b, uint64(len(r.Value))), r.Value...)
	c.rows++
	return len(c.body) >= chunkBytes
}

// Chunk returns a chunk of the rows since the last one: the last chunk if there are none, and after that nil.
func (c *ChunkEncoder) Chunk() []byte {
	if c.ended {
		return nil
	}
	c.ended = c.rows == 0
	b := make([]byte, 4, 4+2*binary.MaxVarintLen64+len(c.body))
	b = binary.AppendUvarint(binary.AppendUvarint(b, c.next), c.rows)
	b = append(b, c.body...)
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	c.next, c.rows, c.body = c.next+1, 0, c.body[:0]
	return b
}

// ChunkDecoder takes the rows out of chunks.
type ChunkDecoder struct {
	shard   kv.ShardID
	next    uint64
	ended   bool
	failed  error
	replica []byte
}

// NewChunkDecoder returns a decoder of the chunks of a shard.
func NewChunkDecoder(shard kv.ShardID) *ChunkDecoder { return &ChunkDecoder{shard: shard} }

// Decode verifies a chunk and visits its rows, which share its bytes. Every error is final.
func (c *ChunkDecoder) Decode(chunk []byte, visit func(*ShardRow) error) error {
	if c.failed == nil {
		c.failed = c.decode(chunk, visit)
	}
	return c.failed
}

func (c *ChunkDecoder) decode(chunk []byte, visit func(*ShardRow) error) error {
	if len(chunk) < 4 || binary.LittleEndian.Uint32(chunk) != crc32.Checksum(chunk[4:], castagnoli) {
		return c.damage("its checksum is wrong")
	}
	f := kv.Decoder{Rest: chunk[4:]}
	number, rows := f.Uint(), f.Uint()
	switch {
	case c.ended:
		return c.damage("it follows the last one")
	case f.Failed || number != c.next:
		return c.damage(fmt.Sprintf("it is chunk %d", number))
	}
	for range rows {
		r := decodeRow(&f)
		if f.Failed {
			return c.damage("it is too short")
		}
		if err := CheckEntry(&entry.Entry{Table: r.Table, Key: r.Key, CSN: r.CSN}); err != nil {
			return err
		}
		if r.Table == entry.TableReplica {
			c.replica = append([]byte{}, r.Value...)
		}
		if err := visit(&r); err != nil {
			return err
		}
	}
	if len(f.Rest) > 0 {
		return c.damage("it is too long")
	}
	c.next++
	c.ended = rows == 0
	return nil
}

// Replica is the row of entry.TableReplica that was decoded.
func (c *ChunkDecoder) Replica() []byte { return c.replica }

// Complete returns an error unless all chunks were decoded, with a row that says of which position the rows are.
func (c *ChunkDecoder) Complete() error {
	switch {
	case c.failed != nil:
		return c.failed
	case !c.ended:
		return c.damage("it is missing")
	case c.replica == nil:
		return c.damage("no row says of which position the rows are")
	}
	return nil
}

func (c *ChunkDecoder) damage(text string) error {
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1,
		Text: fmt.Sprintf("the rows received for %v cannot be used: chunk %d: %s", c.shard, c.next, text),
		Hint: "nothing was changed; the rows are requested again"}
}

func decodeRow(d *kv.Decoder) (r ShardRow) {
	r.Table = entry.Table(d.Byte())
	r.Key, r.CSN, r.Value = d.Bytes(), kv.CSN(d.Uint()), d.Bytes()
	return r
}
