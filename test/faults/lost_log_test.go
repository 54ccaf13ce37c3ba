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

// TestLostLogIsDetected: the newest log file of a killed node is deleted or truncated before the restart.
// The node exits each time, with a hint. With the file restored it has all acknowledged writes.
func TestLostLogIsDetected(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	n := proc.NewSingle(t, dir)
	keys := proc.Keys(50)
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
			code, output := n.RequireStartFails(t)
			require.NotZero(t, code)
			require.Contains(t, output, "the log "+filepath.Base(newest))
			require.Contains(t, output, "it contained acknowledged writes")
			require.Contains(t, output, "put the file back")
		}
		require.NoError(t, os.WriteFile(newest, raw, 0o600))
		n.Start(t)
		requireValues(t, proc.Open(t, []string{n.Addr}), value, keys...)
		require.Zero(t, n.Stop(t))
	}
}
