package engine

import (
	"encoding/binary"
	"hash/crc64"

	"github.com/linchpindb/linchpin/pkg/kv"
)

var crcTable = crc64.MakeTable(crc64.ECMA)

// Checksum returns a checksum of all rows in the view of a reader, which it reads to its end, to compare replicas with
// (R6.14). It excludes no table: the replicas of a shard have the same rows at the same position, also that of
// entry.TableReplica. It depends on the rows only, not on the chunks.
func Checksum(shard kv.ShardID, r ShardReader) (uint64, error) {
	var sum uint64
	var head []byte
	d := NewChunkDecoder(shard)
	for {
		chunk, err := r.Next()
		if chunk == nil || err != nil {
			return sum, err
		}
		err = d.Decode(chunk, func(row *ShardRow) error {
			head = append(head[:0], byte(row.Table))
			head = binary.AppendUvarint(head, uint64(len(row.Key)))
			head = binary.AppendUvarint(head, uint64(row.CSN))
			head = binary.AppendUvarint(head, uint64(len(row.Value)))
			for _, b := range [][]byte{head, row.Key, row.Value} {
				sum = crc64.Update(sum, crcTable, b)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
}
