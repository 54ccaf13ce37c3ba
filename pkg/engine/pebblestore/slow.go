package pebblestore

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Delays make a store slow, for measurements and tests. Any goroutine may change them; what is in flight is not
// affected.
type Delays struct{ reads, syncs atomic.Int64 }

// Delays returns those of the store.
func (s *Store) Delays() *Delays { return &s.delays }

// Reads delays each read of a table that is not in the cache by d, those of compactions included: it imitates a disk
// that reads slowly, or hangs.
func (x *Delays) Reads(d time.Duration) { x.reads.Store(int64(d)) }

// Syncs delays each fsync of the log by d.
func (x *Delays) Syncs(d time.Duration) { x.syncs.Store(int64(d)) }

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
