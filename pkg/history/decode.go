package history

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// ErrTruncated is returned for a history without an end record, as after a crash of the recorder. Everything returned
// before it is valid; what the recorder had in memory at that time is missing.
var ErrTruncated = errors.New("history: the file was cut off before its end; " +
	"its whole records can be checked as an incomplete history")

// CorruptError is returned for a file that no recorder has written.
type CorruptError struct {
	// Offset is the start of the damaged record, in bytes.
	Offset int64
	// Text describes the damage.
	Text string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("history: corrupt at byte %d: %s", e.Offset, e.Text)
}

// Reader reads a history one transaction at a time.
type Reader struct {
	r      *bufio.Reader
	offset int64 // of the next record
	at     int64 // of the record being read
	meta   Meta
	count  uint64
	ended  bool
}

// NewReader checks the magic and reads the meta.
func NewReader(r io.Reader) (*Reader, error) {
	rd := &Reader{r: bufio.NewReaderSize(r, 1<<20)}
	got := make([]byte, len(magic))
	if n, err := io.ReadFull(rd.r, got); err != nil && !isEOF(err) {
		return nil, err
	} else if string(got[:n]) != string(magic) {
		return nil, &CorruptError{Text: "it does not begin as a linchpin history of version 1"}
	}
	rd.offset = int64(len(magic))
	payload, err := rd.record()
	if err != nil {
		return nil, err
	}
	c := cursor{b: payload}
	if c.byte() != recordMeta {
		return nil, rd.corrupt("the first record is not the meta")
	}
	flags := c.uvarint()
	rd.meta = Meta{Note: c.str(), InitialUnknown: flags&flagInitialUnknown != 0}
	if c.bad || flags&^flagInitialUnknown != 0 || c.remaining() > 0 {
		return nil, rd.corrupt("the meta cannot be read")
	}
	return rd, nil
}

// Meta returns the metadata of the history.
func (r *Reader) Meta() Meta { return r.meta }

// Next returns the next transaction. It returns io.EOF at the end of a complete history, ErrTruncated at the end of a
// truncated one, and a *CorruptError for damage.
func (r *Reader) Next() (Txn, error) {
	var t Txn
	if r.ended {
		return t, io.EOF
	}
	payload, err := r.record()
	if err != nil {
		return t, err
	}
	c := cursor{b: payload}
	switch c.byte() {
	case recordTxn:
		if !c.txn(&t) {
			return Txn{}, r.corrupt("a transaction cannot be read")
		}
		r.count++
		return t, nil
	case recordEnd:
		return t, r.finish(&c)
	}
	return t, r.corrupt("a record of unknown type")
}

func (r *Reader) finish(c *cursor) error {
	n := c.uvarint()
	if c.bad || c.remaining() > 0 || n != r.count {
		return r.corrupt(fmt.Sprintf("the end record has %d transactions, and the file %d", n, r.count))
	}
	if _, err := r.r.ReadByte(); err == nil {
		r.at = r.offset
		return r.corrupt("there is something behind the end record")
	} else if err != io.EOF {
		return err
	}
	r.ended = true
	return io.EOF
}

func (r *Reader) corrupt(text string) error { return &CorruptError{Offset: r.at, Text: text} }

// record reads one record and checks its sum.
func (r *Reader) record() (string, error) {
	r.at = r.offset
	n, size, err := r.length()
	if isEOF(err) {
		return "", ErrTruncated
	} else if err != nil {
		return "", err
	}
	b, err := readN(r.r, int(n)+4)
	if isEOF(err) {
		return "", ErrTruncated
	} else if err != nil {
		return "", err
	}
	payload := b[:n]
	if binary.LittleEndian.Uint32(b[n:]) != crc32.Checksum(payload, castagnoli) {
		return "", r.corrupt("the checksum does not match")
	}
	r.offset += int64(size) + int64(n) + 4
	return string(payload), nil
}

// length reads the length of a record, and returns also the number of bytes that it took.
func (r *Reader) length() (n uint64, size int, err error) {
	for shift := 0; shift < 35; shift += 7 {
		b, err := r.r.ReadByte()
		if err != nil {
			return 0, size, err
		}
		size++
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if n > maxRecordBytes {
				break
			}
			return n, size, nil
		}
	}
	return 0, size, r.corrupt(fmt.Sprintf("a record longer than %d bytes, more than any transaction has", maxRecordBytes))
}

// readN reads n bytes. It allocates as the bytes arrive, since a large n may be damage.
func readN(r io.Reader, n int) ([]byte, error) {
	const believed = 1 << 20
	b := make([]byte, min(n, believed))
	for have := 0; ; {
		m, err := io.ReadFull(r, b[have:])
		have += m
		if err != nil {
			return nil, err
		}
		if have == n {
			return b, nil
		}
		b = append(b, make([]byte, min(n-have, len(b)))...)
	}
}

func isEOF(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

// Load reads a whole file. A truncated file is an Incomplete history, and no error.
func Load(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

// ReadAll is Load for any source.
func ReadAll(src io.Reader) (*History, error) {
	r, err := NewReader(src)
	if err != nil {
		return nil, err
	}
	h := &History{Meta: r.Meta()}
	for {
		t, err := r.Next()
		switch err {
		case nil:
			h.Txns = append(h.Txns, t)
		case io.EOF:
			return h, nil
		case ErrTruncated:
			h.Incomplete = true
			return h, nil
		default:
			return nil, err
		}
	}
}
