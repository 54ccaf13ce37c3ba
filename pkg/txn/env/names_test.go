package env_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// The names are made by all state machines of several nodes over several restarts, with a changing number of state
// machines, and for equal affinities. Each name must also have the affinity of the state machine that made it.
func TestNamesAreUnique(t *testing.T) {
	const names = 20
	ids, readers := map[kv.TxnID]bool{}, map[kv.TxnRef]bool{}
	made := 0
	for _, node := range []kv.NodeID{1, 2, 4, 1 << 15} {
		for _, inc := range []uint32{1, 2, 3, 1 << 15, 1 << 16, 1<<16 + 1, 1 << 31} {
			stripes := 8 >> (inc % 4)
			for stripe := range stripes {
				e := env.New(env.Config{Node: node, Incarnation: inc, Machine: env.Machine{Stripe: stripe, Stripes: stripes}})
				for i := range uint64(names) {
					affinity := i/2*8 + uint64(stripe)
					id, reader := e.NewID(), e.NewReader(affinity)
					require.Equal(t, uint64(stripe), id.Affinity()%uint64(stripes))
					require.Equal(t, affinity, reader.TxnID.Affinity())
					require.False(t, id.Masked() || reader.Masked())
					ids[id], readers[reader] = true, true
					made++
				}
			}
		}
	}
	require.Len(t, ids, made)
	require.Len(t, readers, made)
}
