package server

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// RecvCompress implements wire.
func (f *fakeWire) RecvCompress() string { return "gzip" }

// zipped puts a compressed message on the stream, after change has had its way with it.
func (f *fakeWire) zipped(t testing.TB, m *pb.PipelineRequest, change func([]byte) []byte) {
	t.Helper()
	plain, err := m.Marshal()
	require.NoError(t, err)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err = z.Write(plain)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	body := change(b.Bytes())
	n := len(body)
	f.bytes = append(append(f.bytes, 1, byte(n>>24), byte(n>>16), byte(n>>8), byte(n)), body...)
}

func unchanged(b []byte) []byte { return b }

// stating changes the uncompressed length that a message states.
func stating(n int) func([]byte) []byte {
	return func(b []byte) []byte {
		binary.LittleEndian.PutUint32(b[len(b)-4:], uint32(n))
		return b
	}
}

func TestCompressedMessagesAreReceived(t *testing.T) {
	x := receivingWith(t, 64<<20)
	x.wire.zipped(t, &pb.PipelineRequest{Calls: []pb.Call{{Handle: 1}, large(2, 1<<20)}}, unchanged)
	x.wire.zipped(t, &pb.PipelineRequest{}, unchanged)
	x.wire.sent(t, &pb.PipelineRequest{Calls: []pb.Call{{Handle: 3}}})
	for range 3 {
		require.NoError(t, x.receive(&x.in))
	}
	require.Equal(t, []uint64{1, 2, 3}, x.passed)
	require.Empty(t, x.refused)
	x.give()
	require.Zero(t, x.held)
}

// TestUncompressedBytesCountAgainstTheBudget: a call that is too large for the memory of the node is
// refused by its number, though its message is small.
func TestUncompressedBytesCountAgainstTheBudget(t *testing.T) {
	x := receivingWith(t, 8<<20)
	m := &pb.PipelineRequest{Calls: []pb.Call{large(1, 8<<20), {Handle: 2}}}
	x.wire.zipped(t, m, unchanged)
	require.Less(t, len(x.wire.bytes), 64<<10)
	require.NoError(t, x.receive(&x.in))
	require.Empty(t, x.passed)
	require.Len(t, x.refused, 2)
	require.Contains(t, x.refused[1].Text, "of the node's memory")
}

func TestCompressedMessagesThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func([]byte) []byte
		says   string
	}{
		"longer than it states":        {stating(100 << 10), "longer than it states"},
		"longer, and states nothing":   {stating(0), "longer than it states"},
		"shorter than it states":       {stating(1<<20 + 40<<10), "checksum"},
		"states more than it can have": {stating(pb.MaxMessageBytes - 1), "uncompressed length"},
		"a wrong checksum":             {func(b []byte) []byte { b[len(b)-5]++; return b }, "checksum"},
		"cut off":                      {func(b []byte) []byte { return b[:12] }, "12 bytes"},
		"not gzip":                     {func(b []byte) []byte { b[0]++; return b }, "header"},
	} {
		x := receivingWith(t, 256<<20)
		x.wire.zipped(t, &pb.PipelineRequest{Calls: []pb.Call{large(1, 1<<20)}}, test.change)
		err := x.receive(&x.in)
		require.Error(t, err, name)
		d := detail.From(err)
		require.NotNil(t, d, name)
		require.Contains(t, d.Message, test.says, name)
		require.Equal(t, withoutGzip, d.Hint, name)
		require.Empty(t, x.passed, name)
	}
}

// TestALargeMessageIsRefusedBeforeItIsDecompressed: its uncompressed length is over the limit.
func TestALargeMessageIsRefusedBeforeItIsDecompressed(t *testing.T) {
	x := receivingWith(t, 1<<30)
	x.wire.zipped(t, &pb.PipelineRequest{Calls: []pb.Call{large(1, 20<<20)}}, unchanged)
	err := x.receive(&x.in)
	require.ErrorContains(t, err, "the limit is")
	require.Less(t, x.held, int64(1<<20), "only the compressed bytes count")
}
