package server

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	// Registers gzip, so that gRPC passes compressed requests on.
	gzipencoding "google.golang.org/grpc/encoding/gzip"

	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// A compressed message states its uncompressed length in its last four bytes. The limit of a
// message and the memory budget apply to that length, before anything is decompressed; a message
// that has more or fewer bytes than it states is rejected. So a small message cannot become a large
// one, and nothing is decompressed twice.

const (
	// inflaterBytes is the memory of a decompressor: its window of 32 KiB and its tables.
	inflaterBytes = 48 << 10
	// gzipOverhead is the length of gzip's header and trailer, and maxGzipRatio the bound that the
	// format sets to the compression.
	gzipOverhead = 18
	maxGzipRatio = 1032
	// withoutGzip is the hint for a compressed message that is rejected.
	withoutGzip = "send uncompressed messages: do not set a compressor on the channel or the call"
)

// inflated reads the uncompressed bytes of a message.
type inflated struct {
	src  *mem.Reader
	gzip *gzip.Reader
	left int64
}

// inflate reads a compressed message of n bytes, and returns its uncompressed length. The bytes are
// then read from r.body.
func (r *receiver) inflate(n int64, timeout time.Duration) (int64, error) {
	if r.wire.RecvCompress() != gzipencoding.Name {
		return 0, status.Error(codes.Internal, "a message is compressed, but the request has no grpc-encoding")
	}
	if n < gzipOverhead {
		return 0, badGzip(fmt.Errorf("it has %d bytes", n))
	}
	if err := r.take(n+inflaterBytes, timeout); err != nil {
		guard.Slow(r.ctx)
		return 0, statusOf(err, kv.TxnID{})
	}
	data, err := r.read(n)
	if err != nil {
		return 0, err
	}
	body, err := newInflated(data)
	if err != nil {
		return 0, err
	}
	r.body = body
	if body.left/maxGzipRatio > n {
		return 0, badGzip(fmt.Errorf("%d bytes state an uncompressed length of %d", n, body.left))
	}
	return body.left, r.tooLong(body.left)
}

// newInflated reads the header and the trailer of a message. It owns data.
func newInflated(data mem.BufferSlice) (*inflated, error) {
	var trailer [4]byte
	end := data.Reader()
	_, err := end.Discard(data.Len() - len(trailer))
	if err == nil {
		_, err = io.ReadFull(end, trailer[:])
	}
	_ = end.Close() // it returns no error
	src := data.Reader()
	data.Free() // src has a reference
	var z *gzip.Reader
	if err == nil {
		z, err = gzip.NewReader(src)
	}
	if err != nil {
		_ = src.Close()
		return nil, badGzip(err)
	}
	z.Multistream(false)
	return &inflated{src, z, int64(binary.LittleEndian.Uint32(trailer[:]))}, nil
}

// Read reads n bytes. With the last ones it checks that the message ends there, and its checksum.
func (z *inflated) Read(n int) (mem.BufferSlice, error) {
	out := make([]byte, n)
	if _, err := io.ReadFull(z.gzip, out); err != nil {
		return nil, badGzip(err)
	}
	z.left -= int64(n)
	if z.left == 0 {
		var more [1]byte
		switch n, err := z.gzip.Read(more[:]); {
		case n > 0:
			return nil, badGzip(errors.New("it is longer than it states"))
		case !errors.Is(err, io.EOF):
			return nil, badGzip(err)
		}
	}
	return mem.BufferSlice{mem.SliceBuffer(out)}, nil
}

func badGzip(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it is shorter than it states")
	}
	return statusOf(invalid("the message cannot be decompressed: "+err.Error(), withoutGzip), kv.TxnID{})
}

// release forgets the compressed message.
func (r *receiver) release() {
	if z, ok := r.body.(*inflated); ok {
		_ = z.src.Close() // it returns no error
	}
	r.body = nil
}
