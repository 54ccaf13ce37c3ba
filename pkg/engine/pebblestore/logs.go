package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// A store whose newest log is gone, or empty, looks like one that was stopped
// before that log was written to: pebble replays the logs that are there. So it is
// noted outside of the store which logs hold batches.
//
//	the first fsync of a log that covers a batch:
//	    note the log, durably, and only then let the fsync have succeeded
//	when the store is opened:
//	    the manifest says from which log on there are batches that no table has
//	    each noted log from there on must be there and begin with a batch
//
// A log that was only created is not noted, so it may be empty or missing. One that
// is obsolete is forgotten with the next note, and until then passed over because of
// the manifest. So there is one note in the life of a log (16 MiB), and none in the
// way of a commit but that of the first batch.

// LogNotes remembers which logs of a store hold batches, outside of it.
type LogNotes interface {
	// Logs gives the numbers that SetLogs was last called with; nil at first.
	Logs() []uint64
	// SetLogs has made the numbers durable when it returns. There are some
	// twenty at most. An error ends the store.
	SetLogs(logs []uint64) error
}

// logBook is what a store knows of its notes.
type logBook struct {
	notes LogNotes // nil: nothing is noted

	mu sync.Mutex
	// logs are those that hold batches, sorted, but for those that are gone.
	logs []uint64
}

// begun notes that a log holds a batch.
func (l *logBook) begun(log uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, found := slices.BinarySearch(l.logs, log)
	if l.notes == nil || found {
		return nil
	}
	logs := slices.Insert(slices.Clone(l.logs), at, log)
	if err := l.notes.SetLogs(logs); err != nil {
		return fmt.Errorf("the log %s cannot be registered: %w", logName(log), err)
	}
	l.logs = logs
	return nil
}

// gone says that a file, which may be an obsolete log, is deleted or used again.
func (l *logBook) gone(name string) {
	log, ok := logNumber(name)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logs = slices.DeleteFunc(slices.Clone(l.logs), func(n uint64) bool { return n == log })
}

// check takes over the notes, and looks for the logs that they are about.
func (l *logBook) check(fsys vfs.FS, dir string, unflushed uint64) error {
	if l.notes == nil {
		return nil
	}
	for _, log := range l.notes.Logs() {
		if log < unflushed {
			continue
		}
		l.logs = append(l.logs, log)
		b, err := readFile(fsys, dir, logName(log))
		switch f := (chunkFormat{log: true, num: uint32(log)}); {
		case errors.Is(err, fs.ErrNotExist):
			return lostLog(log, "is missing")
		case err != nil:
			return err
		case f.chunk(block(b, 0)) == 0:
			return lostLog(log, "is empty, or its beginning is damaged")
		}
	}
	return nil
}

// checkNew returns an error if a store is to be created, although logs of it are noted: the whole store is lost.
func (l *logBook) checkNew(st state) error {
	if st == stateReady || l.notes == nil || len(l.notes.Logs()) == 0 {
		return nil
	}
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1,
		Text: "it is missing, but it contained acknowledged writes: it was deleted or moved",
		Hint: "put it back; otherwise restore a backup"}
}

func lostLog(log uint64, how string) error {
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1,
		Text: fmt.Sprintf("the log %s %s, but it contained acknowledged writes: "+
			"it was deleted, moved or truncated, or the store was replaced by an old copy", logName(log), how),
		Hint: "put the file back (a file system check may have moved it to lost+found), or the newer store; " +
			"otherwise restore a backup"}
}

func logName(log uint64) string { return fmt.Sprintf("%06d%s", log, logSuffix) }

// logNumber is the number of a log's file.
func logNumber(name string) (log uint64, ok bool) {
	_, err := fmt.Sscanf(name, "%d.log", &log)
	return log, err == nil && name == logName(log)
}

// unflushedLog returns the number of the first log with batches that no table has, according to a manifest.
// Each of its records may begin with the name of the comparer, followed by that number.
func unflushedLog(manifest []byte) (log uint64) {
	const (
		tagComparer = 1
		tagLog      = 2
	)
	var record []byte
	chunkFormat{}.walk(manifest, func(chunk []byte) {
		part := partOf(chunk)
		if part == partWhole || part == partFirst {
			record = record[:0]
		}
		record = append(record, chunk[manifestHeader:]...)
		if part != partWhole && part != partLast {
			return
		}
		rest := record
		if len(rest) > 0 && rest[0] == tagComparer {
			size, n := binary.Uvarint(rest[1:])
			if n <= 0 || size > uint64(len(rest)-1-n) {
				return
			}
			rest = rest[1+n+int(size):]
		}
		if len(rest) > 0 && rest[0] == tagLog {
			log, _ = binary.Uvarint(rest[1:])
		}
	})
	return log
}
