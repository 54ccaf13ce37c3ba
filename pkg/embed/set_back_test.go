package embed_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// A node that is started on an older copy of its whole directory would undo what was
// acknowledged since. The other members know better, and it serves nothing.
func TestAnOlderCopyOfAStoreIsRefused(t *testing.T) {
	t.Parallel()
	c := startRestartable(t)
	key := c.away(1)[0]
	i := c.of(1)
	c.do(i, putOf(key, "old"))
	dir, older := c.dirs[i], filepath.Join(t.TempDir(), "copy")
	c.restart(i, func() { require.NoError(t, os.CopyFS(older, os.DirFS(dir))) })
	c.do(i, putOf(key, "new"))
	c.stop(i)

	for range 3 { // as a supervisor does it
		_, err := c.startOn(i, older)
		require.ErrorContains(t, err, "its store is an older copy: "+c.addrs[1-i]+" has seen a later state of it")
		require.ErrorContains(t, err, "start the node on its latest directory")
		require.Equal(t, kv.KindInvalid, kv.KindOf(err))
	}
	require.Contains(t, c.logs[1-i].String(), "its store is an older copy", "the other node tells as well")

	c.start(i)
	require.False(t, t.Failed())
	require.Eventually(t, func() bool {
		r := c.nodes[i].Node().Gateway().Execute(soon(t), gateway.Request{Ops: []msg.Op{{Kind: msg.OpGet, Key: key}}})
		return r.Err == nil && string(r.Results[0].Value) == "new"
	}, 20*time.Second, 10*time.Millisecond)
}

// TestAStoreThatIsOlderThanItsCatalogIsRefused: a node alone, whose store was put back and
// whose catalog was not, detects it by itself.
func TestAStoreThatIsOlderThanItsCatalogIsRefused(t *testing.T) {
	dir, older := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	begin := func() (*embed.Instance, error) {
		return embed.Start(soon(t), embed.Options{Dir: dir, Listen: "127.0.0.1:0", Shards: 1, CacheBytes: 16 << 20})
	}
	for run := range 2 {
		i, err := begin()
		require.NoError(t, err)
		require.NoError(t, i.Stop())
		if run == 0 {
			require.NoError(t, os.CopyFS(older, os.DirFS(filepath.Join(dir, "data"))))
		}
	}
	newer := filepath.Join(t.TempDir(), "newer")
	require.NoError(t, os.Rename(filepath.Join(dir, "data"), newer))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "data"), os.DirFS(older)))
	_, err := begin()
	require.ErrorContains(t, err, "replaced by an old copy")
	require.Equal(t, kv.KindCorrupt, kv.KindOf(err))

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "data")))
	require.NoError(t, os.Rename(newer, filepath.Join(dir, "data")))
	i, err := begin()
	require.NoError(t, err, "the newer one is taken")
	require.NoError(t, i.Stop())
}
