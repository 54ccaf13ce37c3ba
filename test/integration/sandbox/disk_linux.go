package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

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

// MountImage mounts a file system of its own, with a size in bytes, at dir until the test ends, so that Stick can stop
// its writes. It skips the test if that is not possible.
func MountImage(t testing.TB, dir string, bytes int64) {
	t.Helper()
	Need(t)
	image := filepath.Join(t.TempDir(), "image")
	err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(image, nil, 0o600), os.Truncate(image, bytes))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{{"mkfs.ext4", "-q", "-m", "0", "-F", image}, {"mount", "-o", "loop", image, dir},
		{"fsfreeze", "--version"}} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Skipf("a file system in a file needs %s: %v: %s", c[0], err, out)
		}
		if c[0] == "mount" {
			t.Cleanup(func() {
				if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Stick has the writes to the file system of dir, which MountImage has mounted, not end for a time. It returns when
// that has begun. wait returns when it is over. A process of its own ends it, also if the test ends before.
func Stick(t testing.TB, dir string, d time.Duration) (wait func()) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `fsfreeze -f "$0" && echo stuck; sleep "$1"; fsfreeze -u "$0"`, dir,
		fmt.Sprint(d.Seconds()))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = io.ReadFull(out, make([]byte, len("stuck")))
	}
	if err != nil {
		t.Fatalf("fsfreeze: %v", err)
	}
	return sync.OnceFunc(func() {
		if err := cmd.Wait(); err != nil {
			t.Errorf("fsfreeze: %v", err)
		}
	})
}
