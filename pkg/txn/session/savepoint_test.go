package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// A transaction may write and roll back without a bound, so its memory must not grow.
func TestRollbackLeavesNoReads(t *testing.T) {
	s := New()
	s.push(msg.Op{Kind: msg.OpPut, Key: []byte("b"), Seq: 0})
	for seq := uint32(1); seq < 100; seq += 2 {
		s.rows[seq] = &mvcc.RangeRows{Rows: make([]mvcc.RangeRow, 10)}
		s.lookups[lookup{seq, "b"}], s.lookups[lookup{seq, "c"}] = entry.Value{}, entry.Value{}
		s.push(msg.Op{Kind: msg.OpDeleteRange, Key: []byte("a"), End: []byte("d"), Seq: seq})
		s.lookups[lookup{seq + 1, "b"}] = entry.Value{}
		s.push(msg.Op{Kind: msg.OpPut, Key: []byte("b"), Seq: seq + 1})
		s.truncate(1)
		require.Empty(t, s.rows)
		require.Empty(t, s.lookups)
		require.Empty(t, s.ranged)
		require.Equal(t, map[string][]int{"b": {0}}, s.byKey)
	}
}
