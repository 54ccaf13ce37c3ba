package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// Reader reads a backup, and makes sure that it is what was written.
type Reader struct {
	// Header is there from the start, Footer when Next has returned io.EOF.
	Header Header
	Footer Footer

	from *bufio.Reader
	zstd *zstd.Decoder
	hash hash.Hash
	at   int64
	// whole is where the last frame that could be read ends.
	whole int64
	room  []byte
	body  body
	last  []byte
	keys  uint64
	bytes uint64
	types map[uint32]bool
	ended bool
}

// errOpen: the file ends where the next frame would begin, without a footer.
var errOpen = errors.New("backup: no footer")

// NewReader reads how a backup begins. Its errors are *Damaged, or those of from.
func NewReader(from io.Reader) (*Reader, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBody))
	if err != nil {
		return nil, err
	}
	r := &Reader{from: bufio.NewReaderSize(from, 64<<10), zstd: z, hash: sha256.New(), types: map[uint32]bool{}}
	magic := make([]byte, len(Magic))
	if _, err := io.ReadFull(r.from, magic); err != nil && !cut(err) {
		return nil, err
	}
	if string(magic) != Magic {
		return nil, r.damaged("it is not a backup: it does not start with %q", Magic)
	}
	r.took(magic)
	kind, b, err := r.frame()
	switch {
	case err == errOpen || err == nil && kind != frameHeader:
		return nil, r.damaged("it has no header")
	case err != nil:
		return nil, err
	}
	if err := strict(b, &r.Header); err != nil {
		return nil, r.damaged("its header cannot be decoded: %v", err)
	}
	if r.Header.Format != Format {
		return nil, r.damaged("its format is %d; this release knows %d; use the release that wrote it, or a newer one",
			r.Header.Format, Format)
	}
	r.whole = r.at
	return r, nil
}

func cut(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

func strict(b []byte, x any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(x)
}

func (r *Reader) damaged(format string, args ...any) error {
	return &Damaged{Offset: r.whole, Text: fmt.Sprintf(format, args...)}
}

func (r *Reader) took(b []byte) {
	r.hash.Write(b)
	r.at += int64(len(b))
}

// Next returns the next key, which is valid until the call after, and io.EOF after
// the last one: then all of the file has been read and is as it was written. Other
// errors are *Damaged, or those of the file.
func (r *Reader) Next() (Record, error) {
	for len(r.body.rest) == 0 {
		if r.ended {
			return Record{}, io.EOF
		}
		if err := r.next(); err != nil {
			return Record{}, err
		}
	}
	x, wrong := r.body.record()
	if wrong == "" && r.last != nil && bytes.Compare(x.Key, r.last) <= 0 {
		wrong = "its keys are unsorted"
	}
	if wrong != "" {
		return Record{}, r.damaged("%s", wrong)
	}
	r.last = append(r.last[:0], x.Key...)
	r.keys++
	r.bytes += uint64(len(x.Key) + len(x.Value))
	r.types[x.Type] = true
	return x, nil
}

// next reads a frame of keys, or the footer.
func (r *Reader) next() error {
	r.whole = r.at
	before := r.hash.Sum(nil)
	kind, b, err := r.frame()
	if err == errOpen {
		return r.damaged("it ends without a footer: it is unfinished")
	}
	if err != nil {
		return err
	}
	switch kind {
	case frameKeys:
		r.body.rest, err = r.zstd.DecodeAll(b, r.body.rest[:0])
		if err != nil {
			return r.damaged("a frame cannot be decompressed: %v", err)
		}
		if len(r.body.rest) == 0 {
			return r.damaged("a frame has no keys")
		}
		return nil
	case frameFooter:
		return r.foot(b, hex.EncodeToString(before))
	}
	return r.damaged("a frame has the unknown kind %q; use a newer release", kind)
}

// foot compares what the footer says with what has been read.
func (r *Reader) foot(b []byte, sum string) error {
	if err := strict(b, &r.Footer); err != nil {
		return r.damaged("its footer cannot be decoded: %v", err)
	}
	f := &r.Footer
	switch _, err := r.from.ReadByte(); {
	case f.SHA256 != sum:
		return r.damaged("its checksum differs from its footer")
	case f.Keys != r.keys || f.Bytes != r.bytes || !slices.Equal(slices.Sorted(maps.Keys(f.Types)),
		slices.Sorted(maps.Keys(r.types))):
		return r.damaged("its footer lists %d keys, but it has %d", f.Keys, r.keys)
	case err == nil:
		return r.damaged("there is data after its footer")
	case err != io.EOF:
		return err
	}
	r.ended = true
	return nil
}

// frame reads a frame, whose body is valid until the next one.
func (r *Reader) frame() (kind byte, body []byte, err error) {
	var h [frameHead]byte
	switch n, err := io.ReadFull(r.from, h[:]); {
	case n == 0 && err == io.EOF:
		return 0, nil, errOpen
	case err != nil && cut(err):
		return 0, nil, r.damaged("it ends in the middle of a frame")
	case err != nil:
		return 0, nil, err
	}
	n := int(binary.LittleEndian.Uint32(h[1:]))
	if n > maxBody {
		return 0, nil, r.damaged("a frame of %d bytes exceeds the limit", n)
	}
	// Memory is taken as bytes come, not by what the length promises.
	r.room = r.room[:0]
	for len(r.room) < n {
		r.room = slices.Grow(r.room, min(n-len(r.room), 64<<10))
		b := r.room[len(r.room):min(n, cap(r.room))]
		if _, err := io.ReadFull(r.from, b); err != nil {
			if cut(err) {
				err = r.damaged("it ends in the middle of a frame")
			}
			return 0, nil, err
		}
		r.room = r.room[:len(r.room)+len(b)]
	}
	if sum(h[:5], r.room) != binary.LittleEndian.Uint32(h[5:]) {
		return 0, nil, r.damaged("the checksum of a frame is wrong")
	}
	r.took(h[:])
	r.took(r.room)
	return h[0], r.room, nil
}
