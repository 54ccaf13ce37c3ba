package embed

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// leaseFile has until when the leases last that the node's shards have granted (node.Leases).
// It is in the machine's memory, so that it outlives the process, however that ends, and
// costs no fsync; it does not outlive a reboot, which is noticed.
//
//	32 bytes         hash of clock.Boot, by which its times count
//	16 bytes a shard incarnation, and when its last lease ends
//
// A file in the store's directory would not do: what was not synced is lost without a reboot
// if the disk is detached.
type leaseFile struct{ f *os.File }

// memoryDir is a file system in memory on all systems that linchpin runs on.
const memoryDir = "/dev/shm"

const (
	leaseHeader = sha256.Size
	leaseEntry  = 16
)

// openLeases opens the file of a store. The catalog's lock keeps a second process out. It
// fails where the times of the process before cannot be known; then the node waits for the
// whole leases after a crash.
func openLeases(dir string, cluster string, node kv.NodeID, shards int) (*leaseFile, error) {
	boot, err := clock.Boot()
	if err != nil {
		return nil, err
	}
	path, err := leasePath(dir, cluster, node)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	l := &leaseFile{f}
	err = errors.Join(l.isOwn(), l.prepare(sha256.Sum256([]byte(boot)), shards))
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// leasePath names the file after the store: its directory, and the node whose it is.
func leasePath(dir, cluster string, node kv.NodeID) (string, error) {
	var fs unix.Statfs_t
	err := unix.Statfs(memoryDir, &fs)
	if err != nil {
		return "", err
	}
	if fs.Type != unix.TMPFS_MAGIC {
		return "", fmt.Errorf("%s is not a tmpfs", memoryDir)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	var st unix.Stat_t
	err = unix.Stat(abs, &st)
	if err != nil {
		return "", err
	}
	name := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %s %d", abs, st.Dev, st.Ino, cluster, node))
	return filepath.Join(memoryDir, "linchpin-leases-"+hex.EncodeToString(name[:16])), nil
}

// isOwn refuses a file that another user may have made: all users may write to memoryDir.
func (l *leaseFile) isOwn() error {
	var st unix.Stat_t
	err := unix.Fstat(int(l.f.Fd()), &st)
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 || st.Nlink != 1 {
		return fmt.Errorf("%s is not owned by this user or is accessible to others", l.f.Name())
	}
	return nil
}

// prepare empties a file of another boot, and allocates what is missing: from then on a write
// cannot fail for want of memory.
func (l *leaseFile) prepare(boot [sha256.Size]byte, shards int) error {
	want := leaseHeader + shards*leaseEntry
	now, err := os.ReadFile(l.f.Name())
	if err != nil {
		return err
	}
	if len(now) == want && [sha256.Size]byte(now) == boot {
		return nil
	}
	err = l.f.Truncate(0)
	if err != nil {
		return err
	}
	_, err = l.f.WriteAt(append(boot[:], make([]byte, want-leaseHeader)...), 0)
	return err
}

// Load implements node.Leases.
func (l *leaseFile) Load(shard kv.ShardID, inc kv.Incarnation) (until int64, ok bool) {
	var b [leaseEntry]byte
	_, err := l.f.ReadAt(b[:], leaseHeader+int64(shard)*leaseEntry)
	if err != nil || kv.Incarnation(binary.LittleEndian.Uint64(b[:])) != inc {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(b[8:])), true
}

// Store implements node.Leases.
func (l *leaseFile) Store(shard kv.ShardID, inc kv.Incarnation, until int64) error {
	b := binary.LittleEndian.AppendUint64(nil, uint64(inc))
	_, err := l.f.WriteAt(binary.LittleEndian.AppendUint64(b, uint64(until)), leaseHeader+int64(shard)*leaseEntry)
	return err
}

// close gives the file up. After a clean stop it is removed: the next incarnations need it
// only after a crash.
func (l *leaseFile) close() error { return errors.Join(os.Remove(l.f.Name()), l.f.Close()) }
