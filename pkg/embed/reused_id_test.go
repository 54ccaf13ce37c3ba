package embed_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestAnIDIsNotUsedForOtherOperations: an id that has committed is rejected with other operations by
// each shard that it has written, also after a restart; with the same ones it is answered as committed.
func TestAnIDIsNotUsedForOtherOperations(t *testing.T) {
	opt := embed.ClusterOptions{Nodes: 1, Shards: 4, NoSync: true, Dir: t.TempDir()}
	c, err := embed.StartCluster(opt)
	require.NoError(t, err)
	put := func(key, value string) msg.Op { return msg.Op{Kind: msg.OpPut, Key: []byte(key), Value: []byte(value)} }
	var keys []string                // one on each shard
	for n := 0; len(keys) < 3; n++ { // the fourth shard is the hot one
		key := strconv.Itoa(n)
		if int(c.Router().Shard([]byte(key))) == len(keys) {
			keys = append(keys, key)
		}
	}
	id := kv.TxnID{Time: time.Now().UnixNano(), Rand: 7}
	execute := func(id kv.TxnID, ops ...msg.Op) gateway.Response {
		return c.Node(1).Gateway().Execute(soon(t), gateway.Request{ID: id, Ops: ops})
	}
	require.Nil(t, execute(id, put(keys[0], "1"), put(keys[1], "2")).Err)
	check := func() {
		t.Helper()
		require.Nil(t, execute(id, put(keys[0], "1"), put(keys[1], "2")).Err, "the same operations")
		for name, ops := range map[string][]msg.Op{
			"another value": {put(keys[0], "1"), put(keys[1], "3")},
			"one less":      {put(keys[0], "1")},
			"the other":     {put(keys[1], "2")},
			"one more":      {put(keys[0], "1"), put(keys[1], "2"), put(keys[2], "3")},
			"another order": {put(keys[1], "2"), put(keys[0], "1")},
			"another kind":  {put(keys[0], "1"), {Kind: msg.OpDelete, Key: []byte(keys[1])}},
			"another keyword": {put(keys[0], "1"), {Kind: msg.OpPut, Key: []byte(keys[1]), Value: []byte("2"),
				Expect: msg.ExpectExists}},
		} {
			r := execute(id, ops...)
			require.NotNil(t, r.Err, name)
			require.Equal(t, kv.KindInvalid, r.Err.Kind, "%s: %v", name, r.Err)
			require.NotEmpty(t, r.Err.Hint)
		}
		r := execute(kv.TxnID{}, msg.Op{Kind: msg.OpGet, Key: []byte(keys[1])}, msg.Op{Kind: msg.OpGet, Key: []byte(keys[2])})
		require.Nil(t, r.Err)
		require.Equal(t, "2", string(r.Results[0].Value))
		require.False(t, r.Results[1].Found, "nothing of the others was applied")
	}
	check()
	require.NoError(t, c.Stop(soon(t)))
	c = start(t, opt)
	check()
}
