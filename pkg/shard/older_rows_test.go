package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// TestRowsOfOlderFormatMatch: before format 3, a prepared row and a record had the gateway of their commit
// only. After an upgrade during a commit they still match.
func TestRowsOfOlderFormatMatch(t *testing.T) {
	f, x := newSteps(t, 3), nthTxn(1)
	f.hold = func(e *msg.Envelope) bool { return msg.Is[msg.Decision](e) }
	f.send(prepareMsg(x, firstCommit, 1, 0, msg.Piece{Ops: []msg.Op{addOp("gk", 0)}}),
		commitMsg(x, firstCommit, 0, []kv.ShardID{1}, msg.Piece{Ops: []msg.Op{addOp("j", 1)}}))
	require.True(t, f.answer().Committed)
	for i := range 2 {
		older := func(id *kv.CommitID, gateway *kv.NodeID) { *gateway, *id = id.Gateway, kv.CommitID{} }
		f.restartWith(i, func(rec *shard.Recovered) {
			for k := range rec.Prepared {
				older(&rec.Prepared[k].CommitID, &rec.Prepared[k].Gateway)
			}
			for k := range rec.Records {
				older(&rec.Records[k].CommitID, &rec.Records[k].Gateway)
			}
			require.Equal(t, 1, len(rec.Prepared)+len(rec.Records))
		})
	}
	f.hold = func(*msg.Envelope) bool { return false }
	f.tick(2 * time.Second)
	f.tick(4 * time.Second)
	require.EqualValues(t, 1, f.count(1, "gk"))
	var rec shard.Recovered
	require.NoError(t, f.shards[0].Store.Recover(0, rec.Add))
	require.Empty(t, rec.Records, "acknowledged")
}
