package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Writer writes a backup.
type Writer struct {
	to    io.Writer
	hash  hash.Hash
	zstd  *zstd.Encoder
	chunk []byte
	last  []byte
	keys  uint64
	bytes uint64
	types map[uint32]bool
	frame []byte
}

// NewWriter begins a backup.
func NewWriter(to io.Writer, h Header) (*Writer, error) {
	w, err := newWriter(to)
	if err != nil {
		return nil, err
	}
	if err := w.write([]byte(Magic)); err != nil {
		return nil, err
	}
	return w, w.object(frameHeader, h)
}

func newWriter(to io.Writer) (*Writer, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	return &Writer{to: to, hash: sha256.New(), zstd: z, types: map[uint32]bool{}}, err
}

// after has the writer go on behind what a reader has read.
func (w *Writer) after(r *Reader) {
	w.hash, w.last, w.keys, w.bytes, w.types = r.hash, r.last, r.keys, r.bytes, r.types
}

// Add appends a key, which must come after the one before. It is not kept.
func (w *Writer) Add(r Record) error {
	if w.last != nil && bytes.Compare(r.Key, w.last) <= 0 {
		return fmt.Errorf("backup: the key %q comes after %q", r.Key, w.last)
	}
	w.last = append(w.last[:0], r.Key...)
	w.keys++
	w.bytes += uint64(len(r.Key) + len(r.Value))
	w.types[r.Type] = true
	w.chunk = appendRecord(w.chunk, &r)
	if len(w.chunk) < chunkBytes {
		return nil
	}
	return w.Flush()
}

// Flush writes what there is as a frame.
func (w *Writer) Flush() error {
	if len(w.chunk) == 0 {
		return nil
	}
	w.frame = w.zstd.EncodeAll(w.chunk, w.frame[:0])
	w.chunk = w.chunk[:0]
	return w.put(frameKeys, w.frame)
}

// Close writes the footer and returns it. name gives the names of data types, and
// "" of one that it does not know.
func (w *Writer) Close(name func(uint32) string) (Footer, error) {
	if err := w.Flush(); err != nil {
		return Footer{}, err
	}
	f := Footer{Keys: w.keys, Bytes: w.bytes, Types: map[uint32]string{}, SHA256: hex.EncodeToString(w.hash.Sum(nil))}
	for t := range w.types {
		f.Types[t] = name(t)
		if f.Types[t] == "" {
			return f, fmt.Errorf("backup: data type %d has no name", t)
		}
	}
	return f, errors.Join(w.object(frameFooter, f), w.zstd.Close())
}

func (w *Writer) object(kind byte, x any) error {
	b, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return w.put(kind, b)
}

func (w *Writer) put(kind byte, body []byte) error {
	if err := w.write(head(kind, body)); err != nil {
		return err
	}
	return w.write(body)
}

func (w *Writer) write(b []byte) error {
	w.hash.Write(b)
	_, err := w.to.Write(b)
	return err
}
