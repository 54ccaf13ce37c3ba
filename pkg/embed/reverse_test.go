package embed_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
)

// TestAScanFromTheLastKeyOn: the keys of several shards and several pages come in
// reverse, up to the limit.
func TestAScanFromTheLastKeyOn(t *testing.T) {
	c := start(t, embed.ClusterOptions{Nodes: 2, Shards: 4, NoSync: true, Listen: true})
	db := connect(t, c.Addrs()...)
	ctx := context.Background()
	var keys []string
	for i := 0; i < 2500; i += 100 {
		var ops []client.Op
		for j := range 100 {
			keys = append(keys, fmt.Sprintf("k%04d", i+j))
			ops = append(ops, client.PutOp(keys[i+j], []byte("v")))
		}
		require.NoError(t, db.Execute(ctx, ops...))
	}
	scan := func(start, end string, limit int) (got []string) {
		for e, err := range db.Scan(ctx, client.Range{Start: start, End: end}, client.Reverse(), client.Limit(limit)) {
			require.NoError(t, err)
			got = append(got, e.Key)
		}
		return got
	}
	slices.Reverse(keys)
	require.Equal(t, keys, scan("", "", 0))
	require.Equal(t, keys[:1200], scan("", "", 1200))
	require.Equal(t, keys[500:1500], scan("k1000", "k2000", 0))
	require.Empty(t, scan("x", "", 0))
}
