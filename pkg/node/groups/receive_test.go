package groups

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// TestTruncatedRowsAreRefused: a stream of rows that ends early is its sender's error. Nothing of it reaches the
// replica: to swap it in would fail, and end the node.
func TestTruncatedRowsAreRefused(t *testing.T) {
	r := &replica{}
	s := &Set{opt: Options{Engine: memstore.NewAutoSync()}, replicas: []*replica{r}}
	s.turns = newTurns(nil, nil)
	r.set = s
	var c engine.ChunkEncoder
	c.Add(&engine.ShardRow{Table: entry.TableReplica})
	rows := [][]byte{c.Chunk(), c.Chunk()}
	for n := range len(rows) + 1 {
		left := rows[:n]
		err := s.ReceiveSnapshot(context.Background(), 2, &consensus.Message{}, func() (chunk []byte, err error) {
			if len(left) > 0 {
				chunk, left = left[0], left[1:]
			}
			return chunk, nil
		})
		messages, _ := r.in.take()
		if n < len(rows) {
			require.ErrorContains(t, err, "is missing")
			require.Empty(t, messages)
		} else {
			require.NoError(t, err)
			require.Len(t, messages, 1)
		}
	}
}
