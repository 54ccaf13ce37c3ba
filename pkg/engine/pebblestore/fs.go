package pebblestore

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// walCategory is how pebble labels the files of its log.
const walCategory = "pebble-wal"

// failures are those of flushes and compactions. pebble tries again at once,
// some hundred times a second where the disk is full, and tells of each: so
// that a node with a full disk would be busy with nothing else, and fill the
// disk of its log. It is told of the first, and then from time to time; and
// while there are failures, a new table has to wait a moment.
type failures struct {
	mu           sync.Mutex
	last, logged time.Time
}

// Both are somewhat arbitrary.
const (
	pauseAfterFailure = 100 * time.Millisecond
	failureLogEvery   = 10 * time.Second
)

// note notes a failure, and reports whether to tell of it.
func (f *failures) note(now time.Time, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(err, syscall.ENOSPC) {
		f.last = now
	}
	if now.Sub(f.logged) < failureLogEvery && !f.logged.IsZero() {
		return false
	}
	f.logged = now
	return true
}

// pause waits if the disk has just been full.
func (f *failures) pause(now time.Time) {
	f.mu.Lock()
	recent := !f.last.IsZero() && now.Sub(f.last) < 2*pauseAfterFailure
	f.mu.Unlock()
	if recent {
		time.Sleep(pauseAfterFailure)
	}
}

// walFS counts the log's fsyncs, and makes them slower if asked to, so that a
// disk with expensive fsyncs can be measured on one with cheap ones.
type walFS struct {
	vfs.FS
	delay time.Duration
	syncs *atomic.Uint64
	// failures slow new tables down.
	failures *failures
}

func (fs *walFS) wrap(f vfs.File, err error, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err != nil || category != walCategory {
		return f, err
	}
	return &walFile{File: f, fs: fs}, nil
}

// Create opens a new file.
func (fs *walFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if category != walCategory {
		fs.failures.pause(time.Now())
	}
	f, err := fs.FS.Create(name, category)
	return fs.wrap(f, err, category)
}

// ReuseForWrite makes an old file of the log a new one.
func (fs *walFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.ReuseForWrite(oldname, newname, category)
	return fs.wrap(f, err, category)
}

// Unwrap gives the filesystem below.
func (fs *walFS) Unwrap() vfs.FS { return fs.FS }

// walFile is a file of the log.
type walFile struct {
	vfs.File
	fs *walFS
}

func (f *walFile) synced(err error) error {
	if err != nil {
		return err
	}
	if f.fs.delay > 0 {
		time.Sleep(f.fs.delay)
	}
	f.fs.syncs.Add(1)
	return nil
}

// Sync makes content and metadata durable.
func (f *walFile) Sync() error { return f.synced(f.File.Sync()) }

// SyncData makes the content durable.
func (f *walFile) SyncData() error { return f.synced(f.File.SyncData()) }
