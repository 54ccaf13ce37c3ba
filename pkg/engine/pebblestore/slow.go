package pebblestore

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// DelayReads delays each read of a table that is not in the cache by d, those of compactions included: it
// imitates a disk that reads slowly, or hangs. It is for measurements and tests. Any goroutine may call it; reads
// in flight are not affected.
func (s *Store) DelayReads(d time.Duration) { s.readDelay.Store(int64(d)) }

// DelaySyncs delays each fsync of the log by d from now on. It is for measurements and tests. Any goroutine may call it;
// fsyncs in flight are not affected.
func (s *Store) DelaySyncs(d time.Duration) { s.syncDelay.Store(int64(d)) }

// slowTables delays the reads of tables.
type slowTables struct {
	vfs.FS
	delay *atomic.Int64
}

// Open opens a file for reading.
func (fs *slowTables) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := fs.FS.Open(name, opts...)
	if err != nil || !strings.HasSuffix(name, tableSuffix) {
		return f, err
	}
	return &slowTable{f, fs.delay}, nil
}

// Unwrap gives the filesystem below.
func (fs *slowTables) Unwrap() vfs.FS { return fs.FS }

type slowTable struct {
	vfs.File
	delay *atomic.Int64
}

// ReadAt reads a block.
func (f *slowTable) ReadAt(p []byte, off int64) (int, error) {
	if d := time.Duration(f.delay.Load()); d > 0 {
		time.Sleep(d)
	}
	return f.File.ReadAt(p, off)
}
