package sandbox

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// MountSmall mounts an in-memory file system with a size in bytes at dir until the test ends. It creates
// dir if necessary.
func MountSmall(t testing.TB, dir string, bytes int) {
	t.Helper()
	Need(t)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// Free returns the number of free bytes in the file system of dir.
func Free(t testing.TB, dir string) int64 {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * s.Bsize
}

// Ballast fills the file system of dir until only a number of bytes is free. remove frees the space again.
func Ballast(t testing.TB, dir string, leave int64) (remove func()) {
	t.Helper()
	f, err := os.CreateTemp(dir, "ballast")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// Other processes write at the same time, so repeat until the space is used.
	for size := int64(0); ; {
		more := Free(t, dir) - leave
		if more < 1<<12 {
			break
		}
		err := unix.Fallocate(int(f.Fd()), 0, size, more)
		if errors.Is(err, unix.ENOSPC) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		size += more
	}
	name := f.Name()
	return func() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}
