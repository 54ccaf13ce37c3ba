package pebblestore

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Beside pebble's files a store has two of its own, both small texts whose
// last line is the sum of the lines before it.
//
// formatFile says that the directory is a store, and of which format. It is
// written before pebble's first file, so that a directory without it is
// either empty or not ours, and again when pebble's are complete, so that a
// directory without a manifest is never taken for a new store.
//
// closedFile exists while a store is closed that was closed properly.
const (
	formatFile = "linchpin.format"
	closedFile = "linchpin.closed"
	tempSuffix = ".tmp"
	lockFile   = "LOCK"

	// What pebble's files end with.
	tableSuffix = ".sst"
	logSuffix   = ".log"

	// formatLogged is that of what is written now: since 2, the shards' state rows say
	// for how long readers were registered, and since 3 promises and records name their
	// commit, which a program that does not know it would lose. A store of an older format
	// is read as it is, and gets the newer one when it is opened.
	formatLogged = 3
	// formatUnlogged is that of a store without a log, and the newest one (Options.Unlogged): what it lacks after a
	// crash is in the log of the replicas. A program that does not know it would serve without.
	formatUnlogged = 4
)

// format is that in which a store is written.
func (o *Options) format() int {
	if o.Unlogged {
		return formatUnlogged
	}
	return formatLogged
}

// checkFormat returns an error if a store that is complete has a log and is to have none, or the other way round.
func (o *Options) checkFormat(st state, format int) error {
	if st != stateReady || (format >= formatUnlogged) == o.Unlogged {
		return nil
	}
	e := kv.Errorf(kv.KindInvalid, "it has a log of its own, as without replicas, but the shards have replicas")
	if format >= formatUnlogged {
		e.Text = "it has no log of its own, as with replicas, but the shards have none"
	}
	e.Hint = "it belongs to another catalog: use the directory of the node as a whole"
	return e
}

// state is how far the creation of a store has come.
type state string

const (
	stateNone     state = ""
	stateCreating state = "creating"
	stateReady    state = "ready"
)

// foreignFile names a file that shows that a directory is not a store, or
// nothing.
func foreignFile(names []string) string {
	foreign := ""
	for _, n := range names {
		switch n {
		case formatFile:
			return ""
		case lockFile, formatFile + tempSuffix:
		default:
			if foreign == "" || n < foreign {
				foreign = n
			}
		}
	}
	return foreign
}

func writeFormat(fsys vfs.FS, dir string, format int, st state) error {
	return writeSummed(fsys, dir, formatFile, fmt.Sprintf("linchpin store\nformat %d\nstate %s\n", format, st))
}

// readFormat returns the state of a store's creation, and its format.
func readFormat(fsys vfs.FS, dir string) (st state, format int, err error) {
	text, err := readSummed(fsys, dir, formatFile)
	if errors.Is(err, fs.ErrNotExist) {
		return stateNone, 0, nil
	}
	if err != nil {
		return stateNone, 0, err
	}
	n, err := fmt.Sscanf(text, "linchpin store\nformat %d\n", &format)
	if err == nil && format > formatUnlogged {
		return stateNone, 0, &kv.Error{Kind: kv.KindInvalid, Op: -1,
			Text: fmt.Sprintf("its format is %d; this release knows formats up to %d", format, formatUnlogged),
			Hint: hintNewer}
	}
	if _, line, ok := strings.Cut(text, "\nstate "); n == 1 && ok {
		st = state(strings.TrimSuffix(line, "\n"))
	}
	if st != stateCreating && st != stateReady {
		return stateNone, 0, kv.Errorf(kv.KindCorrupt, "the file %s has unknown content", formatFile)
	}
	return st, format, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumPrefix = "crc32c "

// writeSummed writes a small file so that it is there whole or not at all.
func writeSummed(fsys vfs.FS, dir, name, text string) error {
	path := fsys.PathJoin(dir, name)
	f, err := fsys.Create(path+tempSuffix, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	text += fmt.Sprintf("%s%08x\n", sumPrefix, crc32.Checksum([]byte(text), castagnoli))
	_, err = f.Write([]byte(text))
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		return err
	}
	if err := fsys.Rename(path+tempSuffix, path); err != nil {
		return err
	}
	return syncDir(fsys, dir)
}

func syncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readSummed reads what writeSummed wrote, without the sum.
func readSummed(fsys vfs.FS, dir, name string) (string, error) {
	b, err := readFile(fsys, dir, name)
	if err != nil {
		return "", err
	}
	at := strings.LastIndex(string(b), sumPrefix)
	if at < 0 || string(b[at:]) != fmt.Sprintf("%s%08x\n", sumPrefix, crc32.Checksum(b[:at], castagnoli)) {
		return "", kv.Errorf(kv.KindCorrupt, "the file %s is damaged: its checksum is wrong", name)
	}
	return string(b[:at]), nil
}

func readFile(fsys vfs.FS, dir, name string) ([]byte, error) {
	f, err := fsys.Open(fsys.PathJoin(dir, name))
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}
