package pebblestore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// pebble checks the sum of each block that it reads, and where it is wrong looks
// for a bit that, flipped, would make it right: with the sum of the whole block
// for each bit of its first 40 KiB. That takes milliseconds for a block of a few
// KiB and half a minute for one of a MiB, as one large value makes it, while all
// who read that block wait. So the sum is looked at before, here, where a wrong
// one is an error of the read, which pebble passes on.
//
// A table is read in blocks, each with its trailer (kind, sum), and by its
// footer, which ends the file and has no trailer.
//
// A compaction that finds damage in the youngest tables fails, and pebble begins it again at once. So an
// iterator over a whole table, which compactions open for that, returns damage after a pause; the read of a
// row returns it at once.

const (
	blockTrailer = 5
	blockSum     = 4

	// pauseAfterDamage is the pause before an iterator over a table returns damage. Somewhat arbitrary: long
	// scans are delayed by it, too.
	pauseAfterDamage = 50 * time.Millisecond
)

// maskedSum is pebble's sum of bytes, in tables as in logs.
func maskedSum(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// blockWhole reports whether a block with its trailer is as it was written.
func blockWhole(b []byte) bool {
	if len(b) < blockTrailer {
		return false
	}
	at := len(b) - blockSum
	return maskedSum(b[:at]) == binary.LittleEndian.Uint32(b[at:])
}

// damagedBlock is a block that is not as it was written. To pebble it is like an
// error of its own.
type damagedBlock struct {
	file      string
	at, bytes int64
}

// Error names the file and the bytes.
func (e *damagedBlock) Error() string {
	return fmt.Sprintf("file %s: block of %d bytes at %d: checksum mismatch", e.file, e.bytes, e.at)
}

// Unwrap makes it damage for pebble.
func (e *damagedBlock) Unwrap() error { return pebble.ErrCorruption }

// checkedTables has blocks of tables checked as they are read.
type checkedTables struct{ vfs.FS }

// Open opens a file for reading.
func (fs *checkedTables) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := fs.FS.Open(name, opts...)
	if err != nil || !strings.HasSuffix(name, tableSuffix) {
		return f, err
	}
	name = strings.TrimSuffix(fs.PathBase(name), tableSuffix)
	return &checkedTable{f, name, slices.Contains(opts, vfs.SequentialReadsOption)}, nil
}

// Unwrap gives the filesystem below.
func (fs *checkedTables) Unwrap() vfs.FS { return fs.FS }

type checkedTable struct {
	vfs.File
	name string
	// walk: it was opened to be read from one end to the other.
	walk bool
}

// ReadAt reads a block or the footer.
func (f *checkedTable) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if err != nil || blockWhole(p) {
		return n, err
	}
	info, err := f.Stat()
	if err != nil {
		return n, err
	}
	if end := off + int64(len(p)); end == info.Size() {
		return n, nil // the footer, which pebble checks otherwise
	}
	if f.walk {
		time.Sleep(pauseAfterDamage)
	}
	return n, &damagedBlock{f.name, off, int64(len(p) - blockTrailer)}
}

// complaints are about damaged tables: each is named once in a while, however
// often it is read.
type complaints struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due reports whether to name a file now.
func (c *complaints) due(file string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.last[file]
	if ok && now.Sub(last) < failureLogEvery {
		return false
	}
	if c.last == nil {
		c.last = map[string]time.Time{}
	}
	c.last[file] = now
	return true
}
