package embed_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
)

// inFlight is how many transactions drive has in flight at a time.
const inFlight = 128

// benchKeys is the number of keys of single.
const benchKeys = 10_000

// single is a node without fsync that has all keys in memory.
func single(tb testing.TB) (server.Backend, [][]byte) {
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: tb.TempDir(), Nodes: 1, NoSync: true})
	require.NoError(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(tb, c.Stop(ctx))
	})
	b := c.Backend(1)
	keys := make([][]byte, benchKeys)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "bench/%010d", i)
	}
	drive(tb, b, len(keys), func(i int) msg.Op { return putOp(keys[i]) })
	return b, keys
}

func putOp(key []byte) msg.Op { return msg.Op{Kind: msg.OpPut, Key: key, Value: make([]byte, 128)} }

func getOp(key []byte) msg.Op { return msg.Op{Kind: msg.OpGet, Key: key} }

// drive runs n one-shots with one operation each.
func drive(tb testing.TB, b server.Backend, n int, op func(i int) msg.Op) {
	room := make(chan struct{}, inFlight)
	done := func(r gateway.Response) {
		if r.Err != nil {
			tb.Error(r.Err)
		}
		<-room
	}
	until := time.Now().Add(kv.MaxTxnAge)
	id := kv.TxnID{Time: time.Now().UnixNano()}
	for i := range n {
		room <- struct{}{}
		id.Rand++
		b.Submit(gateway.Request{ID: kv.TxnID{Time: id.Time + int64(i), Rand: id.Rand * 0x9e3779b97f4a7c15},
			Ops: []msg.Op{op(i)}, Deadline: until}, done)
	}
	for range inFlight {
		room <- struct{}{}
	}
}
