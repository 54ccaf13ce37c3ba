package node_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestRequestsWithoutLeadersFail: two of three nodes stop (R10.2). Requests without a deadline end with the reason, and
// succeed when one of the two is back.
func TestRequestsWithoutLeadersFail(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 2)
	g.leader(0)
	g.leader(1)
	at := g.members[0]
	put := func(key string) *kv.Error {
		return at.Gateway().Execute(context.Background(), gateway.Request{Ops: []msg.Op{
			{Kind: msg.OpPut, Key: []byte(key), Value: []byte("v")}}}).Err
	}
	require.Nil(t, put("k"))
	g.stop(g.members[1])
	g.stop(g.members[2])
	require.Contains(t, []kv.Kind{kv.KindOutcomeUnknown, kv.KindUnavailable}, put("k").Kind)
	require.Eventually(t, func() bool {
		err := put("k")
		return err.Kind == kv.KindUnavailable && err.Down != nil && err.Down.Node == 0 && len(err.Down.Shards) == 3
	}, 10*time.Second, time.Millisecond, "each shard has lost its leader")
	g.start(g.members[1])
	require.Eventually(t, func() bool { return put("k") == nil }, 10*time.Second, 10*time.Millisecond)
}
