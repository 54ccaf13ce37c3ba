package faults

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestLostLog: a node is killed, and the newest file of its log is gone, or empty, when
// it is started again. It refuses and says what to do, each time; with the file it has
// all that was acknowledged.
func TestLostLog(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	n := single(t, dir)
	keys := keysOf(50)
	for run, lose := range []func(path string) error{os.Remove, func(path string) error { return os.Truncate(path, 0) }} {
		n.Start(t)
		db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
		value := []string{"first", "second"}[run]
		put(t, db, value, keys...)
		n.Kill()
		logs, err := filepath.Glob(filepath.Join(dir, "data", "*.log"))
		require.NoError(t, err)
		newest := slices.Max(logs)
		aside := filepath.Join(t.TempDir(), "aside")
		raw, err := os.ReadFile(newest)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(aside, raw, 0o600))
		require.NoError(t, lose(newest))

		for range 2 {
			code, said := n.RequireStartFails(t)
			require.NotZero(t, code)
			require.Contains(t, said, "the log "+filepath.Base(newest))
			require.Contains(t, said, "it contained acknowledged writes")
			require.Contains(t, said, "put the file back")
		}
		require.NoError(t, os.WriteFile(newest, raw, 0o600))
		n.Start(t)
		got(t, proc.Open(t, []string{n.Addr}), value, keys...)
		require.Zero(t, n.Stop(t))
	}
}
