package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// walCategory is how pebble labels the files of its log.
const walCategory = "pebble-wal"

// failures limits the rate at which failed flushes and compactions are retried and logged. pebble retries
// them at once, some hundred times a second if the disk is full, and reports each: the node would do nothing
// else, and fill the disk that its log file is on. The first failure is logged, and then one every
// failureLogEvery; after a failure, a new table is delayed by pauseAfterFailure.
type failures struct {
	mu           sync.Mutex
	last, logged time.Time
}

// Both are somewhat arbitrary.
const (
	pauseAfterFailure = 100 * time.Millisecond
	failureLogEvery   = 10 * time.Second
)

// note records a failure, and reports whether to log it.
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

// walFS counts the log's fsyncs, notes which logs are written to, and makes fsyncs
// slower if asked to, so that a disk with expensive ones can be measured on one with
// cheap ones.
type walFS struct {
	vfs.FS
	delay *atomic.Int64
	syncs *atomic.Uint64
	book  *logBook
	// failures slow new tables down.
	failures *failures
}

func (fs *walFS) wrap(f vfs.File, err error, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err != nil || category != walCategory {
		return f, err
	}
	log, ok := logNumber(fs.PathBase(name))
	if !ok {
		return nil, errors.Join(fmt.Errorf("pebblestore: %s is not the name of a log", name), f.Close())
	}
	return &walFile{File: f, fs: fs, log: log}, nil
}

// Create opens a new file.
func (fs *walFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if category != walCategory {
		fs.failures.pause(time.Now())
	}
	f, err := fs.FS.Create(name, category)
	return fs.wrap(f, err, name, category)
}

// ReuseForWrite makes an old file of the log a new one.
func (fs *walFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	fs.book.gone(fs.PathBase(oldname))
	f, err := fs.FS.ReuseForWrite(oldname, newname, category)
	return fs.wrap(f, err, newname, category)
}

// Remove deletes a file.
func (fs *walFS) Remove(name string) error {
	fs.book.gone(fs.PathBase(name))
	return fs.FS.Remove(name)
}

// Unwrap gives the filesystem below.
func (fs *walFS) Unwrap() vfs.FS { return fs.FS }

// walFile is a file of the log. One goroutine at a time writes and syncs it.
type walFile struct {
	vfs.File
	fs  *walFS
	log uint64
	// begun: its first bytes are written. full: they are of a batch, and not the end chunk of an empty log.
	begun, full bool
}

// Write appends whole chunks.
func (f *walFile) Write(p []byte) (int, error) {
	if !f.begun && len(p) > 0 {
		f.begun = true
		f.full = len(p) >= logHeader && binary.LittleEndian.Uint32(p[manifestHeader:]) == uint32(f.log)
	}
	return f.File.Write(p)
}

func (f *walFile) synced(err error) error {
	if err != nil {
		return err
	}
	if d := time.Duration(f.fs.delay.Load()); d > 0 {
		time.Sleep(d)
	}
	f.fs.syncs.Add(1)
	if f.full {
		return f.fs.book.begun(f.log)
	}
	return nil
}

// Sync makes content and metadata durable.
func (f *walFile) Sync() error { return f.synced(f.File.Sync()) }

// SyncData makes the content durable.
func (f *walFile) SyncData() error { return f.synced(f.File.SyncData()) }
