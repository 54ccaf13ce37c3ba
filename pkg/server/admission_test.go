package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	places "github.com/linchpindb/linchpin/pkg/txn/admission"
)

// TestAStreamOutlastsAKey: a gateway refuses the clients of one key long before
// they have filled a stream, so that there is room for other calls of the same
// client.
func TestAStreamOutlastsAKey(t *testing.T) {
	ops := []msg.Op{{Kind: msg.OpPut, Key: []byte("wanted")}}
	taken := 0
	p := places.New(places.Options{Shards: 9, Slots: kv.DefaultMaxInFlight}, func(yield func(places.Claim)) {
		for range taken {
			yield(places.Claim{Ops: ops})
		}
	})
	for p.CheckKeys(0, 0, ops) == nil {
		var ticket places.Ticket
		p.Occupy(0, &ticket, false, places.Claim{Ops: ops})
		p.AddShard(0, &ticket, 0)
		taken++
	}
	require.LessOrEqual(t, taken, Options{}.withDefaults().MaxInFlight/4)
	require.GreaterOrEqual(t, taken, 512)
}
