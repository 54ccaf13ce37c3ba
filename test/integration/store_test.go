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

// single prepares a cluster of one on a directory.
func single(t *testing.T, name, dir string, args ...string) *proc.Node {
	t.Helper()
	addr := proc.FreeAddr(t)
	n := proc.NewNode(t, name, dir, append([]string{"--listen", addr, "--shards", "2", "--cache-mb", "16"}, args...)...)
	n.Addr, n.Listen = addr, addr
	return n
}

// refused starts a node that must refuse its directory: with the code, words
// that tell why, and a hint.
func refused(t *testing.T, n *proc.Node, code int, words ...string) {
	t.Helper()
	got, said := n.RequireStartFails(t)
	require.Equal(t, code, got, said)
	for _, w := range words {
		require.Contains(t, said, w)
	}
	require.Contains(t, said, "hint: ")
	require.NotContains(t, said, "goroutine ")
}

// filled makes a store with the keys of keysOf(n), whose node was ended as
// told.
func filled(t *testing.T, n int, clean bool) (dir string, keys []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	node := single(t, "filler", dir)
	node.Start(t)
	db := proc.Open(t, []string{node.Addr})
	keys = keysOf(n)
	for _, k := range keys {
		require.NoError(t, db.Put(soon(t), k, []byte("value of "+k)))
	}
	if clean {
		require.Equal(t, cli.ExitOK, node.Stop(t))
	} else {
		node.Kill()
	}
	return dir, keys
}

func TestStoreInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	single(t, "owner", dir).Start(t)
	refused(t, single(t, "intruder", dir), cli.ExitUnavailable, "in use", dir)
}

func TestStoreIsSomethingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "letter.txt"), []byte("Dear all"), 0o600))
	file := filepath.Join(dir, "letter.txt")
	refused(t, single(t, "on a file", file), cli.ExitUsage, file)
}

func TestStoreCannotBeMade(t *testing.T) {
	t.Parallel()
	const nowhere = "/proc/linchpin"
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("there is no /proc, in which nobody can make directories")
	}
	refused(t, single(t, "on no disk", nowhere), cli.ExitUsage, nowhere)
}

// TestStoreIsReadOnly: the user that runs the node may read the store, and not
// write it. Root may always, so that for root the node runs as another user.
func TestStoreIsReadOnly(t *testing.T) {
	t.Parallel()
	src, _ := filled(t, 3, true)
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
	n := single(t, "reader", dir)
	if os.Geteuid() == 0 {
		n.UID = 65534
	}
	refused(t, n, cli.ExitUsage, dir)
}

// TestStoreIsNewer plays a directory that a later version has written.
func TestStoreIsNewer(t *testing.T) {
	t.Parallel()
	dir, _ := filled(t, 3, true)
	changed := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), "marker.format-version.") {
			changed++
			return os.Rename(path, filepath.Join(filepath.Dir(path), "marker.format-version.999999.999"))
		}
		return err
	}))
	require.Equal(t, 1, changed)
	// The sums of a clean stop would find the change first.
	sums := filepath.Join(dir, "data", "linchpin.closed")
	require.FileExists(t, sums)
	require.NoError(t, os.Remove(sums))
	refused(t, single(t, "older program", dir), cli.ExitUsage, dir, "newer")
}

// TestFlippedByte flips a bit in the middle of every file of a store, one file
// at a time. Either the node refuses the store and says why, or it serves what
// was written: never anything else, and never a panic.
func TestFlippedByte(t *testing.T) {
	t.Parallel()
	for _, clean := range []bool{true, false} {
		t.Run(map[bool]string{true: "stopped", false: "killed"}[clean], func(t *testing.T) {
			dir, keys := filled(t, 50, clean)
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
			refusals := 0
			for _, f := range files {
				if flipped(t, dir, f, keys) {
					refusals++
				}
			}
			require.NotZero(t, refusals)
			t.Logf("%d of %d files were found damaged at the start", refusals, len(files))
		})
	}
}

// flipped copies a store, flips a bit in one file and starts a node on it. It
// reports whether the node refused.
func flipped(t *testing.T, dir, file string, keys []string) (refusedToStart bool) {
	t.Helper()
	damaged := filepath.Join(t.TempDir(), "damaged")
	require.NoError(t, os.CopyFS(damaged, os.DirFS(dir)))
	path := filepath.Join(damaged, file)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	at := len(raw) / 2
	// Files are preallocated: take a byte that was written.
	for i := 0; raw[at] == 0 && i < len(raw); i++ {
		at = (at + len(raw) - 1) % len(raw)
	}
	raw[at] ^= 0x10
	require.NoError(t, os.WriteFile(path, raw, 0o600))

	n := single(t, "on a damaged "+file, damaged)
	n.Launch(t)
	if !n.AwaitServingOrExit(t) {
		code, said := n.Wait(t), n.Output.String()
		require.NotEqual(t, cli.ExitOK, code, "%s: %s", file, said)
		require.Contains(t, said, "linchpin: ", file)
		require.Contains(t, said, "hint: ", file)
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
		require.Equal(t, "value of "+k, string(value), "%s served something else", file)
	}
	require.Equal(t, cli.ExitOK, n.Stop(t), "%s: %s", file, n.Output)
	return false
}
