package logtest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/raftlog/logtest"
)

// disk is a store on a file system in memory that can lose what was not synced.
type disk struct {
	*pebblestore.Store
	t  *testing.T
	fs *vfs.MemFS
}

func options(t *testing.T, fs vfs.FS) pebblestore.Options {
	return pebblestore.Options{CacheBytes: 4 << 20, MemTableBytes: 256 << 10, FS: fs,
		OnFatal: func(err error) { t.Errorf("the store ended: %v", err) }}
}

func newDisk(t *testing.T) *disk {
	d := &disk{t: t, fs: vfs.NewCrashableMem()}
	d.open()
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func (d *disk) open() {
	var err error
	d.Store, err = pebblestore.Open("log", options(d.t, d.fs))
	require.NoError(d.t, err)
}

func (d *disk) Rows() engine.Engine { return d.Store }

func (d *disk) Sync(p engine.Position) error { return d.WaitDurable(p) }

func (d *disk) Crash(r *rand.Rand) {
	left := d.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})
	require.NoError(d.t, d.Close())
	d.fs = left
	d.open()
}

func (d *disk) Reopen() {
	require.NoError(d.t, d.Close())
	d.open()
}

func TestOnDisk(t *testing.T) {
	logtest.Run(t, func(t *testing.T) logtest.Disk { return newDisk(t) })
}
