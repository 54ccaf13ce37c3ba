package embed_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestAnIDThatIsSentAgainCommitsOnce, also when one of its keys has moved, so that another
// shard would decide.
func TestAnIDThatIsSentAgainCommitsOnce(t *testing.T) {
	opt := embed.ClusterOptions{Nodes: 1, Shards: 4, NoSync: true, Hot: hotshard.ModePinned}
	c := start(t, opt)
	g := c.Node(1).Gateway()
	shard := c.Router().Shard
	a, b := []byte("a"), []byte("b")
	for shard(b) <= shard(a) && shard(a) < 3 || shard(a) == 3 && shard(b) == 3 {
		b[0]++
	}
	if shard(a) > shard(b) {
		a, b = b, a
	}
	id := kv.TxnID{Time: time.Now().UnixNano(), Rand: 7}
	send := func() gateway.Response {
		return g.Execute(soon(t), gateway.Request{ID: id, Ops: []msg.Op{{Kind: msg.OpAdd, Key: a, Delta: 1}, {Kind: msg.OpAdd, Key: b, Delta: 1}}})
	}
	once := func() {
		t.Helper()
		r := g.Execute(soon(t), gateway.Request{Ops: []msg.Op{{Kind: msg.OpGet, Key: a}, {Kind: msg.OpGet, Key: b}}})
		require.Nil(t, r.Err)
		for i := range r.Results {
			sum, err := adt.DecodeCounter(r.Results[i].Value)
			require.NoError(t, err)
			require.EqualValues(t, 1, sum)
		}
	}
	require.Nil(t, send().Err)
	require.Nil(t, send().Err, "at once: the answer is repeated")
	once()
	moves(t, g, string(a))
	r := send()
	require.Nil(t, r.Err)
	require.True(t, r.ResultsLost, "it has committed, and elsewhere")
	once()
	o, err := g.Outcome(soon(t), id, 0)
	require.NoError(t, err)
	require.True(t, o.Committed)
}
