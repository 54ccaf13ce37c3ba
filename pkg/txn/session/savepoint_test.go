package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// TestWhatIsRolledBackTakesNoRoom: a transaction may write and go back to a
// savepoint again and again, for as long as it lives.
func TestWhatIsRolledBackTakesNoRoom(t *testing.T) {
	s := New()
	s.push(msg.Op{Kind: msg.OpPut, Key: []byte("b"), Seq: 0})
	for seq := uint32(1); seq < 100; seq += 2 {
		s.rows[seq] = &mvcc.RangeRows{Rows: make([]mvcc.RangeRow, 10)}
		s.after[finding{seq, "b"}], s.after[finding{seq, "c"}] = entry.Value{}, entry.Value{}
		s.push(msg.Op{Kind: msg.OpDeleteRange, Key: []byte("a"), End: []byte("d"), Seq: seq})
		s.after[finding{seq + 1, "b"}] = entry.Value{}
		s.push(msg.Op{Kind: msg.OpPut, Key: []byte("b"), Seq: seq + 1})
		s.cut(1)
		require.Empty(t, s.rows)
		require.Empty(t, s.after)
		require.Empty(t, s.ranged)
		require.Equal(t, map[string][]int{"b": {0}}, s.byKey)
	}
}
