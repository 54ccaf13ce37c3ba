package gateway

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// TestNewestStateOfAShardCounts, whatever the order is in which machines learn it.
func TestNewestStateOfAShardCounts(t *testing.T) {
	x := make(incarnations, 2)
	require.Zero(t, x.Known(1))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for inc := range kv.Incarnation(100) {
				x.Learn(1, kv.KnownState{Incarnation: inc, Aborts: uint64(i)})
			}
		})
	}
	all.Wait()
	require.Equal(t, kv.KnownState{Incarnation: 99, Aborts: 7}, x.Known(1))
	x.Learn(1, kv.KnownState{Incarnation: 98, Aborts: 9})
	require.Equal(t, kv.KnownState{Incarnation: 99, Aborts: 7}, x.Known(1))
	require.Zero(t, x.Known(0))
}
