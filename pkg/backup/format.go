package backup

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Magic is how a backup begins.
const Magic = "linchpin backup\n"

// Format is the version of the layout that is written here, and the only one that
// is read.
const Format = 1

const (
	frameHeader = 'H'
	frameKeys   = 'K'
	frameFooter = 'F'

	frameHead = 9
	// chunkBytes is about how much is compressed at a time.
	chunkBytes = 1 << 20
	// maxBody bounds a frame, before and after compression: a chunk and the
	// largest value.
	maxBody = chunkBytes + kv.MaxStateBytes + kv.MaxKeyBytes + 64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Record is a key with what it holds.
type Record struct {
	Key []byte
	// Type is the number of the value's data type.
	Type uint32
	// Value is the value in its stored form.
	Value []byte
	// Expires is when the key expires, in milliseconds since 1970; 0 if it does not.
	Expires int64
}

// Header says of what a backup is.
type Header struct {
	Format int `json:"format"`
	// Cluster is the cluster's id.
	Cluster string `json:"cluster"`
	// Snapshot is the id of the state, and Time when that was the present.
	Snapshot string    `json:"snapshot"`
	Time     time.Time `json:"time"`
	// Own is the name that the backup gave to the snapshot, which it drops at the
	// end; empty if it was there before.
	Own string `json:"own,omitempty"`
	// Program is the version of the program that made the file.
	Program string `json:"program"`
}

// Footer says what a whole backup has.
type Footer struct {
	Keys uint64 `json:"keys"`
	// Bytes is what keys and values come to together.
	Bytes uint64 `json:"bytes"`
	// Types are the data types that there are, by number; of linchpin's own as well.
	Types map[uint32]string `json:"types"`
	// SHA256 is that of all that is before the footer, in hexadecimal.
	SHA256 string `json:"sha256"`
}

// Damaged is the error of a file that is not what was written.
type Damaged struct {
	// Offset is where the frame begins that cannot be read.
	Offset int64
	Text   string
}

func (e *Damaged) Error() string {
	return fmt.Sprintf("the backup is damaged at byte %d: %s", e.Offset, e.Text)
}

// appendRecord appends a key to the body of a frame.
func appendRecord(b []byte, r *Record) []byte {
	b = binary.AppendUvarint(b, uint64(len(r.Key)))
	b = append(b, r.Key...)
	b = binary.AppendUvarint(b, uint64(r.Type))
	b = binary.AppendUvarint(b, uint64(r.Expires))
	b = binary.AppendUvarint(b, uint64(len(r.Value)))
	return append(b, r.Value...)
}

// body reads what appendRecord wrote.
type body struct{ rest []byte }

func (b *body) number(most uint64) (uint64, bool) {
	n, size := binary.Uvarint(b.rest)
	if size <= 0 || n > most {
		return 0, false
	}
	b.rest = b.rest[size:]
	return n, true
}

func (b *body) bytes(most int) ([]byte, bool) {
	n, ok := b.number(uint64(most))
	if !ok || n > uint64(len(b.rest)) {
		return nil, false
	}
	out := b.rest[:n:n]
	b.rest = b.rest[n:]
	return out, true
}

// record reads a key, and returns what is wrong with it.
func (b *body) record() (r Record, wrong string) {
	key, ok := b.bytes(kv.MaxKeyBytes)
	if !ok || len(key) == 0 {
		return r, "the length of a key is not 1 to 4096 bytes"
	}
	typ, ok := b.number(255)
	if !ok {
		return r, "a value's type is not a number up to 255"
	}
	expires, ok := b.number(1 << 62)
	switch {
	case !ok:
		return r, "a key is incomplete"
	case expires > kv.MaxExpires:
		return r, "a key has a field that this release does not know; use a newer release"
	}
	value, ok := b.bytes(kv.MaxStateBytes)
	if !ok {
		return r, "a value is incomplete or too long"
	}
	return Record{Key: key, Type: uint32(typ), Value: value, Expires: int64(expires)}, ""
}

// head is the beginning of a frame, with the checksum of all of it.
func head(kind byte, body []byte) []byte {
	b := make([]byte, frameHead)
	b[0] = kind
	binary.LittleEndian.PutUint32(b[1:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[5:], sum(b[:5], body))
	return b
}

func sum(head, body []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, head), castagnoli, body)
}
