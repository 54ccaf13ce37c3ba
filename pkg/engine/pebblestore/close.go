package pebblestore

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Close waits until everything appended is durable, writes it into tables so that the next start replays
// nothing, and unlocks the directory. A second Close is an error.
//
// If the disk has no space for tables, Close omits them, because the log has the same rows: the store is then
// as after a crash, and the next start replays the log. That is logged (Options.Logf), and is not an error.
func (s *Store) Close() error {
	s.scouts.end() // which may be at work with the store
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return errClosed
	}
	s.closed = true
	s.mu.Lock()
	s.draining = true
	s.moved.Broadcast()
	s.mu.Unlock()
	s.syncer.Wait()

	failed := s.failure()
	noRoom := false
	if failed == nil {
		noRoom, failed = s.roomFor(s.flush)
	}
	if s.opts.Unlogged && failed == nil && !noRoom {
		s.becomeDurable(engine.Position(s.last.Load()))
	}
	err := s.db.Close()
	if failed == nil {
		// A failed write of the log may show only now.
		failed = s.failure()
	}
	if failed == nil && err != nil && !(noRoom && errors.Is(err, syscall.ENOSPC)) {
		failed = s.closeError(err)
	}
	if failed == nil && !noRoom {
		noRoom, failed = s.roomFor(func() error { return writeClosed(s.opts.FS, s.dir) })
	}
	if failed == nil && noRoom {
		s.opts.Logf("store %s closed without a flush: the disk is full; no data is lost: the next start replays the log",
			s.dir)
	}
	if err := s.lock.Close(); failed == nil && err != nil {
		failed = fmt.Errorf("pebblestore: unlocking %s: %w", s.dir, err)
	}
	return failed
}

func (s *Store) closeError(err error) error {
	var known *kv.Error
	if errors.As(err, &known) {
		return known
	}
	return &kv.Error{Kind: kv.KindInternal, Op: -1, Text: fmt.Sprintf("the store at %s cannot be closed: %v", s.dir, err),
		Hint: "its log is complete; start the node again"}
}

// roomFor calls do and distinguishes a full disk from other errors.
func (s *Store) roomFor(do func() error) (noRoom bool, failed error) {
	err := do()
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return true, nil
	}
	return false, s.closeError(err)
}

// spareForFlush is what a flush needs beside what memtables hold: for the next log
// and the list of tables. Somewhat arbitrary.
const spareForFlush = 1 << 20

// flush writes memtables into tables, and gives up at the first failure, where
// pebble goes on trying for ever. It does not begin where there is no room: for a
// flush pebble begins another log, and to find no room for that is the end of the
// process.
func (s *Store) flush() error {
	free, err := s.FreeBytes()
	if err == nil && free < s.db.Metrics().MemTable.Size+spareForFlush {
		return syscall.ENOSPC
	}
	select {
	case <-s.hindered: // of before
	default:
	}
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return err
	}
	select {
	case <-flushed:
		return nil
	case err := <-s.hindered:
		return err
	}
}
