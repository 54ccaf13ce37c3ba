package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/enginetest"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
)

// testOptions make a store that is small and whose failures fail the test.
func testOptions(t require.TestingT, fs vfs.FS) Options {
	o := Small()
	o.MemTableBytes = 256 << 10
	o.CacheBytes = 1 << 20
	o.FS = fs
	o.OnFatal = func(err error) { t.Errorf("the store failed: %v", err) }
	return o
}

func opener(t require.TestingT, dir string, o Options) enginetest.Open {
	return func() engine.Engine {
		s, err := Open(dir, o)
		require.NoError(t, err)
		return s
	}
}

func TestContract(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Open { return opener(t, "store", testOptions(t, vfs.NewMem())) })
}

func TestContractOnDisk(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Open { return opener(t, t.TempDir(), testOptions(t, nil)) })
}

func TestContractWithoutSync(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Open {
		o := testOptions(t, vfs.NewMem())
		o.NoSync = true
		return opener(t, "store", o)
	})
}

func TestContractWithoutLog(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Open {
		return opener(t, "store", unlogged(testOptions(t, vfs.NewMem())))
	})
}

func unlogged(o Options) Options {
	o.Unlogged = true
	return o
}

// TestTwins holds this store against the one in memory on random operations.
// Flushes and compactions move its rows through every part of the database.
// Turns and gaps of single rows change nothing of what is read.
func TestTwins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		twin := memstore.New()
		first := true
		openTwin := func() engine.Engine {
			if !first {
				twin.Crash(twin.Last())
			}
			first = false
			return twin
		}
		open := opener(t, "store", testOptions(t, vfs.NewMem()))
		small := func() engine.Engine {
			s := open()
			s.(*Store).gaps.least = 1
			return s
		}
		enginetest.Compare(t, small, openTwin, func(e engine.Engine) {
			s := e.(*Store)
			require.NoError(t, s.db.Flush())
			require.NoError(t, s.db.Compact(t.Context(), []byte{0, 0, 0, 0}, []byte{0xff, 0xff, 0xff, 0}, false))
		})
	})
}
