package embed

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// openTestLeases opens the file of a store, which the test removes.
func openTestLeases(t *testing.T, dir string) *leaseFile {
	t.Helper()
	l, err := openLeases(dir, "cluster", 1, 4)
	if l == nil {
		t.Skipf("nothing outlives a process here: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(l.f.Name()) })
	return l
}

// TestLeasesOutliveTheProcess: what was stored is loaded by the next process, for the
// incarnation that it is about, and for this store only.
func TestLeasesOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	l := openTestLeases(t, dir)
	_, ok := l.Load(2, 1)
	require.False(t, ok, "nothing was stored")
	require.NoError(t, l.Store(2, 7, 1234))
	require.NoError(t, l.f.Close()) // as at a crash
	next := openTestLeases(t, dir)
	until, ok := next.Load(2, 7)
	require.True(t, ok)
	require.EqualValues(t, 1234, until)
	for _, x := range []struct {
		shard kv.ShardID
		inc   kv.Incarnation
	}{{2, 6}, {2, 8}, {1, 7}, {100, 7}} {
		_, ok := next.Load(x.shard, x.inc)
		require.False(t, ok, "%v", x)
	}
	_, ok = openTestLeases(t, t.TempDir()).Load(2, 7)
	require.False(t, ok, "another store")
	require.NoError(t, next.close())
	_, ok = openTestLeases(t, dir).Load(2, 7)
	require.False(t, ok, "it was a clean stop")
}

// TestLeasesOfAnotherBootAreUnknown: so are those of a file that is damaged, or that another
// user can write to.
func TestLeasesOfAnotherBootAreUnknown(t *testing.T) {
	dir := t.TempDir()
	for name, damage := range map[string]func(path string) error{
		"another boot": func(path string) error {
			b, err := os.ReadFile(path)
			b[0]++
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		},
		"cut short": func(path string) error { return os.Truncate(path, leaseHeader+3*leaseEntry) },
	} {
		t.Run(name, func(t *testing.T) {
			l := openTestLeases(t, dir)
			require.NoError(t, l.Store(2, 7, 1234))
			require.NoError(t, damage(l.f.Name()))
			_, ok := openTestLeases(t, dir).Load(2, 7)
			require.False(t, ok)
		})
	}
	l := openTestLeases(t, dir)
	require.NoError(t, os.Chmod(l.f.Name(), 0o622))
	_, err := openLeases(dir, "cluster", 1, 4)
	require.ErrorContains(t, err, "not owned by this user")
	require.NoError(t, os.Remove(l.f.Name()))
	require.NoError(t, os.Symlink(dir, l.f.Name()))
	_, err = openLeases(dir, "cluster", 1, 4)
	require.Error(t, err)
}
