package embed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/catalog"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// placed is the placement of three nodes with some replicas of each shard.
func placed(replicas int) *kv.Placement {
	p := kv.FirstPlacement(17, 3)
	p.Replicas = replicas
	return &p
}

// TestLogOfReplicasHasAPartOfTheStore: of the memory and the files, so that no budget is exceeded.
func TestLogOfReplicasHasAPartOfTheStore(t *testing.T) {
	for _, c := range []struct {
		cache, log int64
		files, of  int
	}{{256 << 20, 24 << 20, 1000, 200}, {64 << 20, 16 << 20, 400, 100}, {16 << 20, 4 << 20, 64, 16}, {1 << 20, 256 << 10,
		16, 4}, {8 << 30, 24 << 20, 1, 1}} {
		o := pebblestore.Options{CacheBytes: c.cache, MaxOpenFiles: c.files, NoSync: true, SyncDelay: 1}
		rows, log := divide(o)
		require.NoError(t, rows.Validate())
		require.NoError(t, log.Validate())
		require.Equal(t, c.log, log.CacheBytes)
		require.Equal(t, c.cache, rows.CacheBytes+2*log.CacheBytes, "the newest entries of the logs have as much")
		require.LessOrEqual(t, int64(log.MemTableBytes), log.CacheBytes*2/3)
		require.Equal(t, c.of, log.MaxOpenFiles)
		require.Positive(t, rows.MaxOpenFiles)
		require.LessOrEqual(t, rows.MaxOpenFiles+log.MaxOpenFiles, c.files+1)
		require.True(t, log.NoSync && rows.Unlogged && !rows.NoSync, "the log is what is synced")
		require.True(t, log.SyncDelay == 1 && rows.SyncDelay == 0)
	}
}

// nodeDirs opens a catalog and the stores of a node.
func nodeDirs(t *testing.T, dir string, replicas int) (disks, *catalog.Catalog, error) {
	t.Helper()
	c, err := catalog.Open(dir)
	require.NoError(t, err)
	o := pebblestore.Small()
	o.Logs = c
	d, err := openDisks(filepath.Join(dir, rowsDir), filepath.Join(dir, logDir), o, placed(replicas))
	return d, c, err
}

func writeDurably(t *testing.T, s *pebblestore.Store) {
	t.Helper()
	p, err := s.Append([]entry.Group{{Shard: 1, Entries: []entry.Entry{{Table: entry.TableState, Value: []byte("x")}}}})
	require.NoError(t, err)
	require.NoError(t, s.WaitDurable(p))
}

// written makes the directory of a node whose stores have been written to.
func written(t *testing.T, replicas int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	d, c, err := nodeDirs(t, dir, replicas)
	require.NoError(t, err)
	require.Equal(t, replicas > 1, d.log != nil)
	writeDurably(t, d.rows)
	if d.log != nil {
		require.Zero(t, d.rows.Stats().Syncs, "rows have no log")
		writeDurably(t, d.log)
	}
	require.Positive(t, d.logStats().Syncs)
	require.NoError(t, d.close())
	require.NoError(t, c.Close())
	return dir
}

func TestStoresAreOpenedAgain(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		dir := written(t, replicas)
		d, c, err := nodeDirs(t, dir, replicas)
		require.NoError(t, err)
		require.NoError(t, d.close())
		require.NoError(t, c.Close())

		other := 4 - replicas
		d, c, err = nodeDirs(t, dir, other)
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), "written with %d replicas, opened with %d", replicas, other)
		require.ErrorContains(t, err, "use the directory of the node as a whole")
		require.NoError(t, d.close())
		require.NoError(t, c.Close())
	}
}

// TestDamageOfReplicasIsRepairedByTheOthers: the errors do not speak of backups, which would forget votes.
func TestDamageOfReplicasIsRepairedByTheOthers(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"the log is missing": func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, logDir))) },
		"the rows are damaged": func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, rowsDir, "linchpin.format"), []byte("x"), 0o600))
		},
		"the log is damaged": func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, logDir, "linchpin.format"), []byte("x"), 0o600))
		},
	} {
		dir := written(t, 3)
		spoil(t, dir)
		d, c, err := nodeDirs(t, dir, 3)
		require.Equal(t, kv.KindCorrupt, kv.KindOf(err), "%s: %v", name, err)
		require.ErrorContains(t, err, "empty the node's director", name)
		require.NotContains(t, err.Error(), "backup", name)
		require.NoError(t, d.close())
		require.NoError(t, c.Close())
	}
}

func TestStoresWithoutACatalogAreNotTaken(t *testing.T) {
	require.NoError(t, checkNew(t.TempDir(), placed(1)))
	require.NoError(t, checkNew(t.TempDir(), placed(3)))
	for _, c := range []struct {
		of, replicas int
		taken        bool
	}{{1, 1, true}, {1, 3, false}, {3, 1, false}, {3, 3, false}} {
		dir := written(t, c.of)
		require.NoError(t, os.Remove(filepath.Join(dir, catalog.FileName)))
		err := checkNew(dir, placed(c.replicas))
		if c.taken {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%+v", c)
		require.ErrorContains(t, err, "there is no catalog")
		require.ErrorContains(t, err, "empty the node's directory")
	}
}

func TestNumbersOfANewCluster(t *testing.T) {
	for _, c := range []struct{ replicas, shards, nodes, ofReplicas, ofShards int }{
		{1, 0, 3, 1, 9}, {3, 0, 3, 3, 17}, {3, 0, 5, 3, 21}, {5, 0, 3, 5, 17}, {3, 0, 1, 3, 9}, {3, 4, 3, 3, 5},
		{1, 16, 3, 1, 17}, {0, 0, 3, 3, 17}, {0, 0, 5, 3, 21}, {0, 0, 2, 1, 9}, {0, 0, 1, 1, 9}, {0, 4, 3, 3, 5},
	} {
		replicas, shards := formation(c.replicas, c.shards, c.nodes)
		require.Equal(t, c.ofReplicas, replicas, "%+v", c)
		require.Equal(t, c.ofShards, shards, "%+v", c)
	}
}
