package integration

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// requireRejected starts a node that must reject its directory with an exit code, words of the reason, and
// a hint.
func requireRejected(t *testing.T, n *proc.Node, code int, words ...string) {
	t.Helper()
	got, output := n.RequireStartFails(t)
	require.Equal(t, code, got, output)
	for _, w := range words {
		require.Contains(t, output, w)
	}
	require.Contains(t, output, "hint: ")
	require.NotContains(t, output, "goroutine ")
}

// newStore creates a store with the keys of proc.Keys(n), whose node was stopped or killed.
func newStore(t *testing.T, n int, clean bool) (dir string, keys []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	node := proc.NewSingle(t, dir)
	node.Start(t)
	db := proc.Open(t, []string{node.Addr})
	keys = proc.Keys(n)
	for _, k := range keys {
		require.NoError(t, db.Put(proc.Context(t), k, []byte("value of "+k)))
	}
	if clean {
		require.Equal(t, cli.ExitOK, node.Stop(t))
	} else {
		node.Kill()
	}
	return dir, keys
}

// TestUnusableStoresAreRejected: the error names the directory, and has a hint.
func TestUnusableStoresAreRejected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// prepare returns the path of the store.
		prepare func(t *testing.T) string
		code    int
		word    string
	}{
		"in use": {func(t *testing.T) string {
			dir := t.TempDir()
			proc.NewSingle(t, dir).Start(t)
			return dir
		}, cli.ExitUnavailable, "in use"},
		"a file": {func(t *testing.T) string {
			file := filepath.Join(t.TempDir(), "letter.txt")
			require.NoError(t, os.WriteFile(file, []byte("Dear all"), 0o600))
			return file
		}, cli.ExitUsage, ""},
		"uncreatable": {func(t *testing.T) string {
			if _, err := os.Stat("/proc/self"); err != nil {
				t.Skip("needs /proc, in which no directory can be created")
			}
			return "/proc/linchpin"
		}, cli.ExitUsage, ""},
		"read-only": {readOnlyStore, cli.ExitUsage, ""},
		"newer":     {newerStore, cli.ExitUsage, "newer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := c.prepare(t)
			n := proc.NewSingle(t, path)
			if name == "read-only" && os.Geteuid() == 0 {
				n.UID = 65534 // root can always write
			}
			requireRejected(t, n, c.code, path, c.word)
		})
	}
}

// readOnlyStore returns a store that any user can read, but not write.
func readOnlyStore(t *testing.T) string {
	t.Helper()
	src, _ := newStore(t, 3, true)
	parent, err := os.MkdirTemp("", "linchpin-read-only-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(parent)) })
	require.NoError(t, os.Chmod(parent, 0o755))
	dir := filepath.Join(parent, "store")
	require.NoError(t, os.CopyFS(dir, os.DirFS(src)))
	protect := func(dirMode, fileMode os.FileMode) {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				return os.Chmod(path, dirMode)
			}
			return os.Chmod(path, fileMode)
		}))
	}
	protect(0o555, 0o444)
	t.Cleanup(func() { protect(0o755, 0o644) })
	return dir
}

// newerStore returns a store with the format version of a later program.
func newerStore(t *testing.T) string {
	t.Helper()
	dir, _ := newStore(t, 3, true)
	changed := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), "marker.format-version.") {
			changed++
			return os.Rename(path, filepath.Join(filepath.Dir(path), "marker.format-version.999999.999"))
		}
		return err
	}))
	require.Equal(t, 1, changed)
	// The checksums of a clean shutdown would detect the change first.
	require.NoError(t, os.Remove(filepath.Join(dir, "data", "linchpin.closed")))
	return dir
}

// TestFlippedBitIsDetected flips a bit in the middle of every file of a store, one file at a time. The node
// either rejects the store with a reason, or returns the written values or an error. It never returns other
// values and never panics.
func TestFlippedBitIsDetected(t *testing.T) {
	t.Parallel()
	for _, clean := range []bool{true, false} {
		t.Run(map[bool]string{true: "stopped", false: "killed"}[clean], func(t *testing.T) {
			dir, keys := newStore(t, 50, clean)
			var files []string
			require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					if info, ierr := d.Info(); ierr == nil && info.Size() > 0 {
						rel, rerr := filepath.Rel(dir, path)
						require.NoError(t, rerr)
						files = append(files, rel)
					}
				}
				return err
			}))
			require.Greater(t, len(files), 3)
			rejections := 0
			for _, f := range files {
				if startOnFlippedBit(t, dir, f, keys) {
					rejections++
				}
			}
			require.NotZero(t, rejections)
			t.Logf("the damage of %d of %d files was detected at the start", rejections, len(files))
		})
	}
}

// startOnFlippedBit copies a store, flips a bit in one file and starts a node on it. It reports whether the
// node rejected the store.
func startOnFlippedBit(t *testing.T, dir, file string, keys []string) (rejected bool) {
	t.Helper()
	damaged := filepath.Join(t.TempDir(), "damaged")
	require.NoError(t, os.CopyFS(damaged, os.DirFS(dir)))
	path := filepath.Join(damaged, file)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	at := len(raw) / 2
	// Files are preallocated: choose a byte that was written.
	for i := 0; raw[at] == 0 && i < len(raw); i++ {
		at = (at + len(raw) - 1) % len(raw)
	}
	raw[at] ^= 0x10
	require.NoError(t, os.WriteFile(path, raw, 0o600))

	n := proc.NewSingle(t, damaged)
	n.Launch(t)
	if !n.AwaitServingOrExit(t) {
		code, output := n.Wait(t), n.Output.String()
		require.NotEqual(t, cli.ExitOK, code, "%s: %s", file, output)
		require.Contains(t, output, "linchpin: ", file)
		require.Contains(t, output, "hint: ", file)
		return true
	}
	db := proc.Open(t, []string{n.Addr}).With(client.NoRetry())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, k := range keys {
		value, _, err := db.Get(ctx, k)
		if err != nil {
			require.ErrorIs(t, err, client.ErrCorrupt, file)
			continue
		}
		require.Equal(t, "value of "+k, string(value), "%s: wrong value", file)
	}
	require.Equal(t, cli.ExitOK, n.Stop(t), "%s: %s", file, n.Output)
	return false
}
