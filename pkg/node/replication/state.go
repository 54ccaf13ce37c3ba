package replication

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Bootstrap returns the rows of a replica of a group that is formed with these voters, before its first entry. Its log
// begins at the same position: 1, in term 1.
func Bootstrap(voters []consensus.ReplicaID) ([]entry.Entry, consensus.State) {
	s := consensus.State{Position: 1, Term: 1}
	for _, v := range voters {
		s.Conf.Voters = append(s.Conf.Voters, uint64(v))
	}
	row, err := encodeState(&s, 0)
	if err != nil {
		panic(err) // generated code does not fail
	}
	return []entry.Entry{{Table: entry.TableReplica, Value: row}}, s
}

// State decodes the row of entry.TableReplica.
func State(row []byte) (consensus.State, error) {
	s, _, err := decodeState(row)
	return s, err
}

// encodeState encodes the row of entry.TableReplica.
func encodeState(s *consensus.State, csn kv.CSN) ([]byte, error) {
	conf, err := s.EncodeMembership()
	if err != nil {
		return nil, err
	}
	row := entry.Replica{Position: uint64(s.Position), Term: uint64(s.Term), CSN: csn, Window: s.Window, Conf: conf}
	return row.Marshal()
}

// decodeState decodes the row. Without a row, the replica has received nothing yet.
func decodeState(b []byte) (s consensus.State, csn kv.CSN, err error) {
	var row entry.Replica
	if err := row.Unmarshal(b); err != nil {
		return s, 0, fmt.Errorf("its row cannot be decoded: %w", err)
	}
	if err := s.DecodeMembership(row.Conf); err != nil {
		return s, 0, err
	}
	s.Position, s.Term, s.Window = consensus.Position(row.Position), consensus.Term(row.Term), row.Window
	return s, row.CSN, nil
}
