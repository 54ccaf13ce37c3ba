package pebblestore

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ExitFatal is the exit code of a process whose store could not write its log
// (EX_IOERR of sysexits).
const ExitFatal = 74

// Options tune a store. The zero value is right for a server that has a
// machine to itself.
type Options struct {
	// CacheBytes is the memory for blocks and memtables together, in bytes;
	// default 256 MiB. What memtables hold is taken out of it.
	CacheBytes int64
	// MemTableBytes is the size of one memtable, in bytes, 64 KiB or more;
	// default an eighth of CacheBytes, but at least 1 MiB and at most 16: a cache
	// of 16 MiB would otherwise have no room for a single block. Up to eight exist
	// while the disk is behind. A log as long as those that are not on the disk is
	// replayed after a crash.
	MemTableBytes uint64
	// MaxOpenFiles bounds open files; default 1000.
	MaxOpenFiles int

	// NoSync takes every append for durable at once. A crash of the machine,
	// or a kill of the process, loses what was acknowledged. For measuring.
	NoSync bool
	// Unlogged writes no log: a batch is durable when its memtable is in a table, and WaitDurable sees to that. For rows
	// whose entries another log has.
	Unlogged bool
	// SyncDelay is added to each fsync of the log. For measuring.
	SyncDelay time.Duration

	// Logs remembers which logs contain batches, so that a missing or empty log is detected when the store is
	// opened. Default: none, and it is not detected.
	Logs LogNotes

	// FS is where the store lives; default the operating system's. Tests give
	// one that crashes or fails.
	FS vfs.FS
	// Logf gets what an operator should see: failed compactions, damaged
	// blocks. Default: nothing is logged.
	Logf func(format string, args ...any)
	// OnFatal is called once, by any goroutine, when the log could not be
	// written: what the disk holds is then unknown, and it must end the
	// process. It may be called with the store's locks held, so it must not
	// use the store. Default: a message on standard error and
	// os.Exit(ExitFatal). If it returns, as in tests, the store refuses
	// everything from then on.
	OnFatal func(error)
}

// Small is for several stores in one process, as in a demo: about 40 MiB each
// at most.
func Small() Options {
	return Options{CacheBytes: 32 << 20, MemTableBytes: 8 << 20, MaxOpenFiles: 200}
}

// ForLog is for the logs of a node's replicas: entries are written once, soon deleted in ranges, and hardly read. What
// is deleted before its memtable is full is in no table.
func ForLog() Options {
	return Options{CacheBytes: 24 << 20, MemTableBytes: 16 << 20, MaxOpenFiles: 200}
}

const minMemTableBytes = 64 << 10

// Validate reports everything that is wrong at once.
func (o Options) Validate() error {
	var errs []error
	if o.CacheBytes < 0 {
		errs = append(errs, fmt.Errorf("CacheBytes is %d; it must not be negative", o.CacheBytes))
	}
	if o.MemTableBytes != 0 && (o.MemTableBytes < minMemTableBytes || o.MemTableBytes > 1<<30) {
		errs = append(errs, fmt.Errorf("MemTableBytes is %d; it must be 65536 to 1073741824", o.MemTableBytes))
	}
	if o.MaxOpenFiles < 0 {
		errs = append(errs, fmt.Errorf("MaxOpenFiles is %d; it must not be negative", o.MaxOpenFiles))
	}
	if o.Unlogged && (o.NoSync || o.Logs != nil) {
		errs = append(errs, errors.New("a store that is Unlogged has no log, so it takes neither NoSync nor Logs"))
	}
	if o.SyncDelay < 0 {
		errs = append(errs, fmt.Errorf("SyncDelay is %v; it must not be negative", o.SyncDelay))
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults() Options {
	if o.CacheBytes == 0 {
		o.CacheBytes = 256 << 20
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = min(max(uint64(o.CacheBytes)/8, 1<<20), 16<<20)
	}
	if o.MaxOpenFiles == 0 {
		o.MaxOpenFiles = 1000
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	if o.OnFatal == nil {
		o.OnFatal = func(err error) {
			fmt.Fprintf(os.Stderr, "linchpin: %v\n", err)
			os.Exit(ExitFatal)
		}
	}
	return o
}

// pebbleOptions are conventional values that ran well; no sweep was made
// beyond cache and block size, where small caches like small blocks, and the
// first two levels. An insertion into a memtable misses the processor's cache at each step, so smaller
// memtables are faster; and the more of them are merged at once into the base level, which is as large as all of
// them, the less is written. 16 of 16 MiB did 8 % more puts than four of 64 MiB (docs/decisions/0008). The cost:
// a scan merges up to 16 more files.
func (s *Store) pebbleOptions(fs vfs.FS, lock *pebble.Lock, mustExist bool) *pebble.Options {
	const merged = 16
	o := &pebble.Options{
		Comparer:                    comparer,
		DisableWAL:                  s.opts.Unlogged,
		BlockPropertyCollectors:     []func() pebble.BlockPropertyCollector{csnCollector},
		FormatMajorVersion:          pebble.FormatNewest,
		FS:                          fs,
		Lock:                        lock,
		ErrorIfNotExists:            mustExist,
		CacheSize:                   s.opts.CacheBytes,
		MemTableSize:                s.opts.MemTableBytes,
		MemTableStopWritesThreshold: 8,
		L0CompactionThreshold:       merged,
		L0StopWritesThreshold:       1000,
		LBaseMaxBytes:               merged * int64(s.opts.MemTableBytes),
		MaxManifestFileSize:         16 << 20,
		MaxOpenFiles:                s.opts.MaxOpenFiles,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		Logger:                      logger{s},
		EventListener:               s.listener(),
	}
	o.Experimental.L0CompactionConcurrency = 2 * merged // a second compaction at a time when they are behind
	for i := range o.Levels {
		l := &o.Levels[i]
		l.BlockSize = 8 << 10
		l.IndexBlockSize = 64 << 10
		l.FilterPolicy = bloom.FilterPolicy(10)
		l.FilterType = pebble.TableFilter
	}
	return o
}

// listener passes on what needs an operator's eye. Without it pebble would
// end the process on the first damaged block, while here only the reads of
// that block fail.
func (s *Store) listener() *pebble.EventListener {
	l := &pebble.EventListener{
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			s.corruptions.Add(1)
			if s.complaints.due(info.Path, time.Now()) {
				s.opts.Logf("the store at %s has a damaged file: %s, with keys in %v: %v", s.dir, info.Path, info.Bounds,
					info.Details)
			}
		},
		BackgroundError: func(err error) {
			if errors.Is(err, pebble.ErrCancelledCompaction) {
				return // a replacement of rows has cancelled a flush, which pebble begins again
			}
			if !pebble.IsCorruptionError(err) { // which flushes do not meet
				select {
				case s.hindered <- err:
				default:
				}
			}
			if s.failures.note(time.Now(), err) {
				s.opts.Logf("background work of the store at %s failed and is retried: %v", s.dir, err)
			}
		},
		FlushEnd: s.unflushed.onFlushEnd,
		DiskSlow: func(info pebble.DiskSlowInfo) {
			s.opts.Logf("slow disk of the store at %s: %v", s.dir, info)
		},
	}
	return l
}

// logger is pebble's: quiet, and fatal in our way.
type logger struct{ s *Store }

// Infof drops what only a developer of pebble wants.
func (logger) Infof(string, ...any) {}

// Errorf passes errors on.
func (l logger) Errorf(format string, args ...any) { l.s.opts.Logf(format, args...) }

// Fatalf is called by pebble when it cannot go on: the log or the manifest
// could not be written.
func (l logger) Fatalf(format string, args ...any) { l.s.fail(fmt.Errorf(format, args...)) }
