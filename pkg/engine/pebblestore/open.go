package pebblestore

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Open opens the store in dir, which is created if it does not exist. What
// stands in the way is a *kv.Error that says what to do:
//
//   - Unavailable: another process has it open;
//   - Invalid: dir is not a store, is of a newer format, or cannot be written;
//     or opts are wrong;
//   - Corrupt: a file is not what was written, or is missing.
func Open(dir string, opts Options) (*Store, error) {
	if err := opts.Validate(); err != nil {
		return nil, &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "invalid options of the store: " + err.Error()}
	}
	s := &Store{dir: dir, opts: opts.withDefaults(), logs: logBook{notes: opts.Logs}, hindered: make(chan error, 1),
		gaps:   newGaps(),
		scouts: newScouts()}
	s.moved = sync.NewCond(&s.mu)
	if err := s.lockDir(); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	s.syncer.Add(1)
	go s.syncLoop()
	s.scouts.worker.Add(1)
	go s.scoutLoop()
	return s, nil
}

// lockDir makes sure that dir is a store or empty, before anything is written
// into it, and locks it.
func (s *Store) lockDir() error {
	if err := s.opts.FS.MkdirAll(s.dir, 0o755); err != nil {
		return s.openError(err)
	}
	names, err := s.opts.FS.List(s.dir)
	if err != nil {
		return s.openError(err)
	}
	if foreign := foreignFile(names); foreign != "" {
		return &kv.Error{Kind: kv.KindInvalid, Op: -1,
			Text: fmt.Sprintf("%s is not a linchpin store: it has no file %s but contains %s", s.dir, formatFile, foreign),
			Hint: "use the directory of a store, or an empty one"}
	}
	s.lock, err = pebble.LockDirectory(s.dir, s.opts.FS)
	if err != nil {
		return s.lockError(err)
	}
	return nil
}

// open does the rest under the lock.
//
//	read the format, which says whether there is a log; the state of a new store is "creating" first
//	if the store was closed cleanly: compare its small files with their sums
//	look for damage in the manifest and in the logs, and for logs that are gone
//	open pebble, which replays the log
//	the state of a new store becomes "ready": from now on a missing manifest is a loss;
//	the format of an older store becomes the present one
func (s *Store) open() error {
	st, format, err := readFormat(s.opts.FS, s.dir)
	if err != nil {
		return s.openError(err)
	}
	if err := errors.Join(s.opts.checkFormat(st, format), s.logs.checkNew(st)); err != nil {
		return s.openError(err)
	}
	if st == stateNone {
		if err := writeFormat(s.opts.FS, s.dir, s.opts.format(), stateCreating); err != nil {
			return s.openError(err)
		}
	}
	if err := removeIncoming(s.opts.FS, s.dir); err != nil {
		return s.openError(err)
	}
	if err := checkClosed(s.opts.FS, s.dir); err != nil {
		return s.openError(err)
	}
	manifest, err := checkManifest(s.opts.FS, s.dir)
	if err != nil {
		return s.openError(err)
	}
	if manifest != nil {
		if err := s.logs.check(s.opts.FS, s.dir, unflushedLog(manifest)); err != nil {
			return s.openError(err)
		}
	}
	if err := checkLogs(s.opts.FS, s.dir); err != nil {
		return s.openError(err)
	}
	if err := s.openPebble(st == stateReady); err != nil {
		return s.openError(err)
	}
	if st != stateReady || format < s.opts.format() {
		if err := writeFormat(s.opts.FS, s.dir, s.opts.format(), stateReady); err != nil {
			return s.openError(errors.Join(err, s.db.Close()))
		}
	}
	return nil
}

func (s *Store) openPebble(mustExist bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = kv.Errorf(kv.KindCorrupt, "%v", p)
		}
	}()
	tables := &checkedTables{&slowTables{s.opts.FS, &s.delays.reads}}
	s.delays.Syncs(s.opts.SyncDelay)
	fs := vfs.FS(&walFS{FS: tables, delay: &s.delays.syncs, syncs: &s.syncs, book: &s.logs, failures: &s.failures})
	db, err := pebble.Open(s.dir, s.pebbleOptions(fs, s.lock, mustExist))
	if err != nil {
		return err
	}
	if failed := s.failure(); failed != nil {
		return errors.Join(failed, db.Close())
	}
	s.db = db
	s.encoder = encoder{db: db, reclaims: &s.reclaims}
	return nil
}

// lockError distinguishes a directory in use from one that cannot be written.
func (s *Store) lockError(err error) error {
	var path *fs.PathError
	held := errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) && !errors.As(err, &path) ||
		strings.Contains(err.Error(), "lock held by current process")
	if !held {
		return s.openError(err)
	}
	return &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: fmt.Sprintf("another process uses the store at %s", s.dir),
		Hint: "stop that process, or use another directory"}
}

// openError gives an error met while opening its kind and says what to do.
// What is neither the operating system's nor known is damage: pebble was able
// to read its files and did not understand them.
func (s *Store) openError(err error) error {
	e := &kv.Error{Op: -1, Text: fmt.Sprintf("the store at %s cannot be opened: %v", s.dir, err)}
	var known *kv.Error
	var errno syscall.Errno
	switch text := err.Error(); {
	case errors.As(err, &known):
		e.Kind, e.Hint = known.Kind, known.Hint
		e.Text = fmt.Sprintf("the store at %s cannot be opened: %s", s.dir, known.Text)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Kind, e.Hint = kv.KindInvalid, "the directory must be writable for the user that runs the node"
	case strings.Contains(text, "unknown format major version"):
		e.Kind, e.Hint = kv.KindInvalid, hintNewer
	case strings.Contains(text, "comparer name from"):
		e.Kind, e.Hint = kv.KindInvalid, hintNewer
	case errors.Is(err, pebble.ErrDBDoesNotExist), errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Hint = kv.KindCorrupt, "a file of the store is missing; "+hintRestore
	case errors.Is(err, syscall.ENOSPC):
		e.Kind, e.Hint = kv.KindResourceExhausted, "free disk space"
	case errors.As(err, &errno) && !pebble.IsCorruptionError(err):
		e.Kind, e.Hint = kv.KindInternal, "check the disk"
	default:
		e.Kind, e.Hint = kv.KindCorrupt, hintRestore
	}
	if e.Hint == "" {
		e.Hint = hintRestore
	}
	return e
}

const hintNewer = "a newer release wrote it: use that release or a later one"
