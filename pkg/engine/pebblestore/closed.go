package pebblestore

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Tables have a checksum in every block, so reads of a damaged one fail. What
// else a store has is small and read whole when it is opened, and there pebble
// takes much damage for the torn end that a crash leaves. chunks.go is about
// that. This file is about stores that were closed properly: they have nothing
// in their log, and closedFile has the sums of all other small files, which
// are compared before anything else is done.

// summed reports whether closedFile covers a file.
func summed(name string) bool {
	return name != lockFile && name != closedFile && !strings.HasSuffix(name, tempSuffix) &&
		!strings.HasSuffix(name, tableSuffix) && !strings.HasSuffix(name, logSuffix)
}

func sums(fsys vfs.FS, dir string) (string, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	var text strings.Builder
	for _, n := range names {
		if !summed(n) {
			continue
		}
		b, err := readFile(fsys, dir, n)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%08x %d %s\n", crc32.Checksum(b, castagnoli), len(b), n)
	}
	return text.String(), nil
}

// writeClosed notes the sums of a store that was just closed.
func writeClosed(fsys vfs.FS, dir string) error {
	text, err := sums(fsys, dir)
	if err == nil {
		err = writeSummed(fsys, dir, closedFile, text)
	}
	if err != nil {
		return kv.Errorf(kv.KindInternal, "the store at %s cannot be closed: %v", dir, err)
	}
	return nil
}

// checkClosed compares the sums of a store that was closed, and forgets them,
// since the files are about to change.
func checkClosed(fsys vfs.FS, dir string) error {
	want, err := readSummed(fsys, dir, closedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	got, err := sums(fsys, dir)
	if err != nil {
		return err
	}
	if got != want {
		return kv.Errorf(kv.KindCorrupt,
			"the file %s is damaged or missing: it differs from its state when the store was closed",
			firstDifference(want, got))
	}
	if err := fsys.Remove(fsys.PathJoin(dir, closedFile)); err != nil {
		return err
	}
	return syncDir(fsys, dir)
}

// firstDifference names the first file on which two lists of sums disagree.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		switch {
		case i >= len(w) || w[i] == "":
			return nameOf(g[i])
		case i >= len(g) || w[i] != g[i]:
			return nameOf(w[i])
		}
	}
	return ""
}

func nameOf(line string) string { return line[strings.LastIndexByte(line, ' ')+1:] }
