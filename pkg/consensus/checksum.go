package consensus

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
)

// Each entry ends with a checksum of its position, its term and its content (R6.13). Only the term entry of a new
// leader has none: it is empty. The checksum is verified when an append arrives, before the entry is acknowledged, and
// again before it is applied: in between it was on a disk.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumSize = 4

var errDamaged = errors.New("an entry is damaged")

// sum returns the checksum of an entry's content.
func sum(at Position, term Term, data []byte) uint32 {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(at))
	binary.BigEndian.PutUint64(id[8:], uint64(term))
	return crc32.Update(crc32.Checksum(id[:], castagnoli), castagnoli, data)
}

// encodeEntry makes the data of an entry.
func encodeEntry(at Position, term Term, kind byte, data []byte) []byte {
	b := make([]byte, 0, 1+len(data)+sumSize)
	b = append(append(b, kind), data...)
	return binary.BigEndian.AppendUint32(b, sum(at, term, b))
}

// sumConf adds the checksum to the context of a change of the configuration.
func sumConf(at Position, term Term, cc *raftpb.ConfChangeV2) error {
	b, err := cc.Marshal()
	cc.Context = binary.BigEndian.AppendUint32(cc.Context, sum(at, term, b))
	return err
}

// decodeConf decodes and verifies a change of the configuration. Its context is that of before sumConf.
func decodeConf(e *raftpb.Entry) (raftpb.ConfChangeV2, error) {
	var cc raftpb.ConfChangeV2
	err := cc.Unmarshal(e.Data)
	n := len(cc.Context) - sumSize
	if e.Type != raftpb.EntryConfChangeV2 || err != nil || n < 0 {
		return cc, errDamaged
	}
	want := binary.BigEndian.Uint32(cc.Context[n:])
	cc.Context = cc.Context[:n]
	b, err := cc.Marshal()
	if err != nil || sum(Position(e.Index), Term(e.Term), b) != want {
		return cc, errDamaged
	}
	return cc, nil
}

// isWhole reports whether an entry's content is what was proposed at its position.
func isWhole(e *raftpb.Entry) bool {
	if e.Type != raftpb.EntryNormal {
		_, err := decodeConf(e)
		return err == nil
	}
	n := len(e.Data) - sumSize
	if n < 1 {
		return len(e.Data) == 0
	}
	return sum(Position(e.Index), Term(e.Term), e.Data[:n]) == binary.BigEndian.Uint32(e.Data[n:])
}

// isWhole reports whether all entries of an append are whole. Another append is dropped, as if it were lost.
func (m *Message) isWhole() bool {
	return m.Raft.Type != raftpb.MsgApp || areWhole(m.Raft.Entries)
}

func areWhole(entries []raftpb.Entry) bool {
	return !slices.ContainsFunc(entries, func(e raftpb.Entry) bool { return !isWhole(&e) })
}
