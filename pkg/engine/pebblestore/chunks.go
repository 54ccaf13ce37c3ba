package pebblestore

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// The manifest (the list of tables) and the log are files of records, and
// records consist of chunks:
//
//	sum (4) | length (2) | kind (1) | in the log: log number (4), synced (8) | bytes
//
// After a crash such a file can end in the middle. pebble reads up to the
// first chunk that does not check and takes the rest for torn, unless a later
// block (32 KiB) proves it wrong. So a flipped bit in the manifest can bring
// back an older list of tables, upon which the others are deleted; one in the
// last block of the log can hide all acknowledged batches behind it. Hence a
// look at these files before pebble sees them:
//
//   - Manifest: it is synced with each record, so a torn record is the last.
//     A bad chunk with a good one behind it is damage. So is a bad chunk that
//     is there in full, where a torn one would end with the file or in zeros.
//   - Log: a crash can leave a good chunk behind a bad one, as what was not
//     synced reaches the disk in any order. So every batch contains its position
//     and the newest position known to be durable (note). A batch that cannot be
//     read, and is durable according to one that can, is damage.
//
// Missing log files are detected by LogNotes. Not detected, after a crash only: damage in the last batches, whose
// durability no later batch confirms, and in the length of the manifest's last record. It looks exactly like a torn
// write.

const (
	recordBlock = 32 << 10
	// The kinds of chunks. Each comes whole, first, middle or last; those of
	// the log are synced but in a store's very first log, which pebble begins
	// before it has raised the format.
	kindManifest = 1
	kindLog      = 5
	kindSynced   = 9
	kindEnd      = 13

	manifestHeader = 7
	logHeader      = manifestHeader + 4
	syncedHeader   = logHeader + 8
)

// chunkFormat is the kind of file that chunks are in: a log, or the manifest.
type chunkFormat struct {
	log bool
	num uint32
}

// header gives the size of a chunk's header, or 0 if the file has no chunks
// of that kind.
func (f chunkFormat) header(kind byte) int {
	switch {
	case kind >= kindManifest && kind < kindLog && !f.log:
		return manifestHeader
	case kind >= kindLog && kind < kindSynced && f.log:
		return logHeader
	case kind >= kindSynced && kind < kindEnd && f.log:
		return syncedHeader
	}
	return 0
}

// largestHeader is how much room a block must have left for another chunk to
// be begun in it.
func (f chunkFormat) largestHeader() int {
	if f.log {
		return syncedHeader
	}
	return manifestHeader
}

// chunk checks the chunk at the front of b, which ends with its block or with
// the file. It returns its size, or 0 if there is none.
func (f chunkFormat) chunk(b []byte) int {
	if len(b) < manifestHeader {
		return 0
	}
	h := f.header(b[6])
	n := h + int(binary.LittleEndian.Uint16(b[4:]))
	if h == 0 || n > len(b) || f.log && binary.LittleEndian.Uint32(b[7:]) != f.num {
		return 0
	}
	if maskedSum(b[6:n]) != binary.LittleEndian.Uint32(b) { // over kind and all behind it
		return 0
	}
	return n
}

// block is what is left of the block that offset at lies in.
func block(b []byte, at int) []byte {
	return b[at:min(len(b), at-at%recordBlock+recordBlock)]
}

// walk visits the chunks from the front of b and returns where they end.
func (f chunkFormat) walk(b []byte, visit func(chunk []byte)) (end int) {
	for end < len(b) {
		rest := block(b, end)
		if n := f.chunk(rest); n > 0 {
			visit(rest[:n])
			end += n
			continue
		}
		// A block's end without room for a chunk is zeros.
		if recordBlock-end%recordBlock >= f.largestHeader() || !zeros(rest) {
			return end
		}
		end += len(rest)
	}
	return end
}

// search visits every chunk behind from, wherever it begins.
func (f chunkFormat) search(b []byte, from int, visit func(chunk []byte)) {
	for at := from + 1; at < len(b); at++ {
		rest := block(b, at)
		if n := f.chunk(rest); n > 0 {
			visit(rest[:n])
		}
	}
}

func zeros(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

// manifestWhole reports whether b is a manifest that at most a crash cut.
func manifestWhole(b []byte) bool {
	f := chunkFormat{}
	bad := f.walk(b, func([]byte) {})
	if bad == len(b) {
		return true
	}
	more := false
	f.search(b, bad, func([]byte) { more = true })
	return !more && tornManifestEnd(b, bad)
}

// tornManifestEnd reports whether the bad last chunk looks like one that was
// only partly written: cut off, or zeros from its begin or a sector's on.
func tornManifestEnd(b []byte, bad int) bool {
	const sector = 512
	rest := b[bad:]
	if len(rest) < manifestHeader || zeros(rest) {
		return true
	}
	n := manifestHeader + int(binary.LittleEndian.Uint16(rest[4:]))
	if bad%recordBlock+n > recordBlock {
		return false // no chunk crosses a block
	}
	for at := bad - bad%sector + sector; at < len(b); at += sector {
		if zeros(b[at:]) {
			return true
		}
	}
	return n > len(rest)
}

// checkManifest looks for damage in the current manifest, and gives it; nil if there
// is none.
func checkManifest(fsys vfs.FS, dir string) ([]byte, error) {
	desc, err := pebble.Peek(dir, fsys)
	if err != nil {
		return nil, err
	}
	if !desc.Exists || desc.ManifestFilename == "" {
		return nil, nil
	}
	name := fsys.PathBase(desc.ManifestFilename)
	b, err := readFile(fsys, dir, name)
	if err != nil {
		return nil, err
	}
	if !manifestWhole(b) {
		return nil, kv.Errorf(kv.KindCorrupt, "the file %s is damaged: a record has a wrong checksum", name)
	}
	return b, nil
}

// note is the position of a batch in the log, and the newest position that was durable when it was written.
type note struct {
	at, durable uint64
}

// A note is the first thing in its batch, written as pebble's log data: kind
// and length, then these bytes. Log data reaches no table.
const (
	noteMagic    = "lp1"
	noteSize     = len(noteMagic) + 16
	batchHeader  = 12
	batchLogData = 3
)

func (n note) append(dst []byte) []byte {
	dst = append(dst, noteMagic...)
	dst = binary.LittleEndian.AppendUint64(dst, n.at)
	return binary.LittleEndian.AppendUint64(dst, n.durable)
}

// Which part of its record a chunk is.
const (
	partWhole = iota
	partFirst
	partMiddle
	partLast
)

func partOf(chunk []byte) int { return int(chunk[6]-kindManifest) % 4 }

// noteOf finds the note in a chunk that begins a batch.
func noteOf(chunk []byte) (note, bool) {
	if p := partOf(chunk); p != partWhole && p != partFirst {
		return note{}, false
	}
	b := chunk[chunkFormat{log: true}.header(chunk[6]):]
	if len(b) < batchHeader+2+noteSize {
		return note{}, false
	}
	b = b[batchHeader:]
	if b[0] != batchLogData || int(b[1]) != noteSize || string(b[2:2+len(noteMagic)]) != noteMagic {
		return note{}, false
	}
	b = b[2+len(noteMagic):]
	return note{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}, true
}

// logWhole reports whether b, the log with number num, has all batches that
// it says are durable.
func logWhole(b []byte, num uint32) bool {
	f := chunkFormat{log: true, num: num}
	// begun is the last batch whose first chunk is readable, last the last that
	// is readable to its end, next the first behind the hole.
	var begun, last, next, durable uint64
	end := f.walk(b, func(chunk []byte) {
		if n, ok := noteOf(chunk); ok {
			begun = n.at
		}
		if p := partOf(chunk); p == partWhole || p == partLast {
			last = begun
		}
	})
	f.search(b, end, func(chunk []byte) {
		if n, ok := noteOf(chunk); ok {
			if next == 0 {
				next = n.at
			}
			durable = max(durable, n.durable)
		}
	})
	switch {
	case next == 0:
		return true // nothing readable behind the end
	case last > 0:
		return durable <= last
	default:
		// Nothing readable before it, so the batch just before next is the
		// only one known to have been in this log.
		return durable < next-1
	}
}

// checkLogs looks for damage in the logs, oldest first.
func checkLogs(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		num, ok := logNumber(name)
		if !ok {
			continue // not pebble's
		}
		b, err := readFile(fsys, dir, name)
		if err != nil {
			return err
		}
		if !logWhole(b, uint32(num)) {
			return kv.Errorf(kv.KindCorrupt, "the log %s is damaged: acknowledged batches are missing", name)
		}
	}
	return nil
}
