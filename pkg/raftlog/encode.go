package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Rows:
//
//	log        length, big-endian position        sum | term | type | data
//	log-state  (none)                             sum | format | replica | flags | begin | last | term | vote | commit
//
// Sums are CRC-32C, 4 bytes, over the group, the table, the key and what follows. Numbers are uvarints, and begin and
// last are a position and a term. The key of an entry has no leading zeros, as the engine stores a zero as two bytes.

const (
	sumSize     = 4
	stateFormat = 1
	// destroyed is the flag of a log whose replica is destroyed.
	destroyed = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entryKey is the key of an entry. Keys sort as positions do.
func entryKey(p consensus.Position) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(p))
	n := 0
	for n < len(b) && b[n] == 0 {
		n++
	}
	return append([]byte{byte(len(b) - n)}, b[n:]...)
}

// sum is the checksum of a row without its first bytes.
func sum(shard kv.ShardID, table entry.Table, key, content []byte) uint32 {
	s := crc32.Update(0, castagnoli, []byte{byte(shard >> 8), byte(shard), byte(table)})
	return crc32.Update(crc32.Update(s, castagnoli, key), castagnoli, content)
}

// sealed completes a row that begins with room for the sum.
func sealed(shard kv.ShardID, table entry.Table, key, row []byte) entry.Entry {
	binary.LittleEndian.PutUint32(row, sum(shard, table, key, row[sumSize:]))
	return entry.Entry{Table: table, Key: key, Value: row}
}

var errSum = errors.New("its checksum is wrong")

// opened verifies a row and returns its content.
func opened(shard kv.ShardID, table entry.Table, key, row []byte) ([]byte, error) {
	if len(row) < sumSize || binary.LittleEndian.Uint32(row) != sum(shard, table, key, row[sumSize:]) {
		return nil, errSum
	}
	return row[sumSize:], nil
}

// entryRow encodes an entry.
func entryRow(shard kv.ShardID, e *raftpb.Entry) entry.Entry {
	row := make([]byte, sumSize, sumSize+binary.MaxVarintLen64+1+len(e.Data))
	row = append(binary.AppendUvarint(row, e.Term), byte(e.Type))
	return sealed(shard, entry.TableLog, entryKey(consensus.Position(e.Index)), append(row, e.Data...))
}

// decodeEntry decodes the row at a position. The entry shares its bytes.
func (u rules) decodeEntry(shard kv.ShardID, at consensus.Position, row []byte) (e raftpb.Entry, err error) {
	content, err := opened(shard, entry.TableLog, entryKey(at), row)
	if err != nil {
		if u.verifies() || len(row) < sumSize {
			return e, err
		}
		content = row[sumSize:]
	}
	term, n := binary.Uvarint(content)
	if n <= 0 || n == len(content) {
		return e, errors.New("it is too short")
	}
	e = raftpb.Entry{Index: uint64(at), Term: term, Type: raftpb.EntryType(content[n])}
	if data := content[n+1:]; len(data) > 0 {
		e.Data = data
	}
	return e, nil
}

// entryID is a position of a log and the term of its entry.
type entryID struct {
	position consensus.Position
	term     consensus.Term
}

// state is the row of a group.
type state struct {
	// replica is the greatest number of a replica of this group that the node has had (R7.17), and destroyed reports
	// that the node has it no more.
	replica   consensus.ReplicaID
	destroyed bool
	// begin is the entry before the first one, and last the last one. They are equal if there are no entries.
	begin, last entryID
	hard        raftpb.HardState
}

func (s *state) row(shard kv.ShardID) entry.Entry {
	row := append(make([]byte, sumSize, 64), stateFormat)
	flags := uint64(0)
	if s.destroyed {
		flags = destroyed
	}
	for _, v := range []uint64{uint64(s.replica), flags, uint64(s.begin.position), uint64(s.begin.term),
		uint64(s.last.position), uint64(s.last.term), s.hard.Term, s.hard.Vote, s.hard.Commit} {
		row = binary.AppendUvarint(row, v)
	}
	return sealed(shard, entry.TableLogState, nil, row)
}

func decodeState(shard kv.ShardID, row []byte) (s state, err error) {
	content, err := opened(shard, entry.TableLogState, nil, row)
	if err != nil {
		return s, err
	}
	if len(content) == 0 || content[0] != stateFormat {
		return s, fmt.Errorf("its format is unknown")
	}
	content = content[1:]
	var v [9]uint64
	for i := range v {
		var n int
		v[i], n = binary.Uvarint(content)
		if n <= 0 {
			return s, errors.New("it is too short")
		}
		content = content[n:]
	}
	return state{replica: consensus.ReplicaID(v[0]), destroyed: v[1]&destroyed != 0,
		begin: entryID{consensus.Position(v[2]), consensus.Term(v[3])},
		last:  entryID{consensus.Position(v[4]), consensus.Term(v[5])},
		hard:  raftpb.HardState{Term: v[6], Vote: v[7], Commit: v[8]}}, nil
}
