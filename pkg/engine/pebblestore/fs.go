package pebblestore

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// walCategory is how pebble labels the files of its log.
const walCategory = "pebble-wal"

// walFS counts the log's fsyncs, and makes them slower if asked to, so that a
// disk with expensive fsyncs can be measured on one with cheap ones.
type walFS struct {
	vfs.FS
	delay time.Duration
	syncs *atomic.Uint64
}

func (fs *walFS) wrap(f vfs.File, err error, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err != nil || category != walCategory {
		return f, err
	}
	return &walFile{File: f, fs: fs}, nil
}

// Create opens a new file.
func (fs *walFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
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
