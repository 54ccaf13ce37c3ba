package embed_test

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// damage has a node of a cluster that is yet to start find a row it cannot read.
func damage(t *testing.T, dir string, nodes int, id kv.NodeID) {
	t.Helper()
	router, err := hotshard.NewRouter(8, nodes, nil)
	require.NoError(t, err)
	var s kv.ShardID
	for router.Node(s) != id {
		s++
	}
	store, err := pebblestore.Open(filepath.Join(dir, fmt.Sprintf("n%d", id)), pebblestore.Small())
	require.NoError(t, err)
	_, err = store.Append([]entry.Group{{Shard: s,
		Entries: []entry.Entry{{Table: entry.TableState, Value: []byte{0xff}}}}})
	require.NoError(t, err)
	require.NoError(t, store.Close())
}

// TestAClusterThatDoesNotStartLeavesNothing: whichever node fails, and however far it got,
// the directory can be used again.
func TestAClusterThatDoesNotStartLeavesNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for name, c := range map[string]struct {
		damaged kv.NodeID
		http    string
		want    string
	}{
		"the first store is damaged":     {damaged: 1, want: "cannot be recovered"},
		"the last store is damaged":      {damaged: 3, want: "cannot be recovered"},
		"the address for HTTP is taken":  {http: taken.Addr().String(), want: "cannot listen for HTTP"},
		"the address for HTTP is no one": {http: "nonsense", want: "nonsense"},
	} {
		t.Run(name, func(t *testing.T) {
			opt := embed.ClusterOptions{Dir: t.TempDir(), Listen: true, HTTP: c.http}
			if c.damaged != 0 {
				damage(t, opt.Dir, 3, c.damaged)
			}
			_, err := embed.StartCluster(opt)
			require.ErrorContains(t, err, c.want)
			for id := 1; id <= 3; id++ {
				store, err := pebblestore.Open(filepath.Join(opt.Dir, fmt.Sprintf("n%d", id)), pebblestore.Small())
				require.NoError(t, err)
				require.NoError(t, store.Close())
			}
		})
	}
}

// TestClusterServesWhenAllNodesHaveStarted: the first node's response lists all nodes, with their
// addresses.
func TestClusterServesWhenAllNodesHaveStarted(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, lis.Close())
	opt := embed.ClusterOptions{Listen: true, HTTP: lis.Addr().String()}
	ask := func() int {
		r, err := http.Get("http://" + opt.HTTP + "/console/api/v1/snapshot")
		if err != nil {
			return 0
		}
		defer r.Body.Close()
		return r.StatusCode
	}
	opt.Clock = func(kv.NodeID) clock.Clock { // each node is made one
		require.NotEqual(t, http.StatusOK, ask())
		clk, err := clock.NewReal()
		require.NoError(t, err)
		return clk
	}
	start(t, opt)
	require.Equal(t, http.StatusOK, ask())
}
