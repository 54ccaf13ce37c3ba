package server

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"

	"github.com/linchpindb/linchpin/pkg/guard/memory"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// fakeWire is a stream on which messages have come. It counts how much is read at a time.
type fakeWire struct {
	bytes []byte
	most  int
}

func (f *fakeWire) sent(t testing.TB, m *pb.PipelineRequest, tail ...byte) {
	t.Helper()
	body, err := m.Marshal()
	require.NoError(t, err)
	body = append(body, tail...)
	n := len(body)
	f.bytes = append(append(f.bytes, 0, byte(n>>24), byte(n>>16), byte(n>>8), byte(n)), body...)
}

func (f *fakeWire) take(n int) ([]byte, error) {
	if len(f.bytes) < n {
		return nil, io.EOF
	}
	b := f.bytes[:n]
	f.bytes = f.bytes[n:]
	f.most = max(f.most, n)
	return b, nil
}

func (f *fakeWire) ReadMessageHeader(h []byte) error {
	b, err := f.take(len(h))
	copy(h, b)
	return err
}

func (f *fakeWire) Read(n int) (mem.BufferSlice, error) {
	b, err := f.take(n)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// large is a call of so many bytes and a little more.
func large(number uint64, bytes int) pb.Call {
	var ops []pb.Op
	for ; bytes > 0; bytes -= kv.MaxValueBytes {
		ops = append(ops, pb.Op{Op: &pb.Op_Put{Put: &pb.PutOp{Key: []byte("k"),
			Value: make([]byte, min(bytes, kv.MaxValueBytes))}}})
	}
	return pb.Call{Handle: number, TimeoutMs: 5, Request: pb.ExecuteRequest{Ops: ops}}
}

// receiving is a receiver of pipelines with a budget, and the calls that it passes and
// refuses.
type receiving struct {
	*receiver
	wire    *fakeWire
	in      decoder
	passed  []uint64
	refused map[uint64]*kv.Error
}

func receivingWith(t *testing.T, total int64) *receiving {
	x := &receiving{wire: &fakeWire{}, refused: map[uint64]*kv.Error{}}
	x.receiver = &receiver{ctx: t.Context(), wire: x.wire, account: memory.New(total).Conn().Account("u"),
		timeout: time.Minute, limit: pb.MaxMessageBytes, many: true}
	x.in.call = func(c *incoming, _ time.Time) bool { x.passed = append(x.passed, c.number); return true }
	x.in.refuse = func(number uint64, err *kv.Error) bool { x.refused[number] = err; return true }
	return x
}

// TestCallsThatThereIsNoMemoryForAreRefused each by its number, and those after them are
// received.
func TestCallsThatThereIsNoMemoryForAreRefused(t *testing.T) {
	x := receivingWith(t, 64<<20)
	x.wire.sent(t, &pb.PipelineRequest{Calls: []pb.Call{large(1, 3<<20), large(0, 2<<20), large(300, 9<<20)}})
	x.wire.sent(t, &pb.PipelineRequest{Calls: []pb.Call{{Handle: 7}}})
	// As the Go client has it: the number comes last, in eleven bytes; of two the last one counts.
	one, err := (&pb.Call{Handle: 4, Request: large(0, 9<<20).Request}).Marshal()
	require.NoError(t, err)
	one = append(one, 8, 0x89, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0)
	x.wire.sent(t, &pb.PipelineRequest{}, append([]byte{10, byte(len(one)) | 0x80, byte(len(one)>>7) | 0x80,
		byte(len(one)>>14) | 0x80, byte(len(one) >> 21)}, one...)...)
	for range 3 {
		require.NoError(t, x.receive(&x.in))
	}
	require.ErrorIs(t, x.receive(&x.in), io.EOF)
	require.Equal(t, []uint64{7}, x.passed)
	require.Len(t, x.refused, 4)
	for _, number := range []uint64{0, 1, 300, 9} {
		require.Equal(t, kv.KindInvalid, x.refused[number].Kind)
	}
	require.LessOrEqual(t, x.wire.most, smallMessage)
}

// TestWhatDoesNotDecodeEndsAStream also where it is not kept.
func TestWhatDoesNotDecodeEndsAStream(t *testing.T) {
	for name, tail := range map[string][]byte{
		"a call that is longer than the message": {10, 0xff, 0xff, 0xff, 0x7f, 8, 1},
		"a group":                                {11},
		"a field that is cut off":                {8, 0x80},
	} {
		x := receivingWith(t, 16<<20)
		x.wire.sent(t, &pb.PipelineRequest{Calls: []pb.Call{large(1, 4<<20)}}, tail...)
		require.Error(t, x.receive(&x.in), name)
	}
}

// TestAPipelineWaitsForMemory and goes on when there is some: its other calls do not end
// because others of its user have it.
func TestAPipelineWaitsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := receivingWith(t, 64<<20)
		x.wire.sent(t, &pb.PipelineRequest{Calls: []pb.Call{large(1, 2<<20)}})
		x.account.Add(memory.Answers, 16<<20)
		done := make(chan error, 1)
		go func() { done <- x.receive(&x.in) }()
		<-time.After(50 * time.Second) // of the bubble's clock
		synctest.Wait()
		require.Empty(t, done)
		x.account.Give(memory.Answers, 16<<20)
		require.NoError(t, <-done)
		require.Equal(t, []uint64{1}, x.passed)
		x.wire.sent(t, &pb.PipelineRequest{Calls: []pb.Call{large(2, 2<<20), large(3, 10)}})
		x.account.Add(memory.Answers, 16<<20)
		require.NoError(t, x.receive(&x.in))
		require.Equal(t, []uint64{1}, x.passed)
		require.Equal(t, kv.KindResourceExhausted, x.refused[2].Kind)
		require.Equal(t, kv.KindResourceExhausted, x.refused[3].Kind)
		x.close()
	})
}

// TestLargeCallsAreCountedBeforeTheyAreDecoded, however little of them is bytes.
func TestLargeCallsAreCountedBeforeTheyAreDecoded(t *testing.T) {
	many := pb.Call{Handle: 1}
	for range kv.MaxTxnOps {
		many.Request.Ops = append(many.Request.Ops, pb.Op{Op: &pb.Op_Get{Get: &pb.GetOp{Key: []byte("k")}}})
	}
	x := receivingWith(t, 1<<30)
	var counted int64
	x.in.begin = func(_ *incoming, bytes int64) bool {
		counted = bytes
		return false
	}
	x.wire.sent(t, &pb.PipelineRequest{Calls: []pb.Call{many}})
	require.NoError(t, x.receive(&x.in))
	require.Greater(t, counted, int64(kv.MaxTxnOps*opCost))
	require.Nil(t, x.in.next.ops)

	a := newAnswers(10, 1<<30, memory.New(64<<20).Conn().Account("u"))
	what, err := a.reserve(counted)
	require.Nil(t, err)
	require.Equal(t, admitted, what)
	require.Equal(t, counted, a.bytes)
	what, err = a.admit(counted - 100)
	require.Nil(t, err)
	require.Equal(t, admitted, what)
	require.Equal(t, counted-100, a.bytes)
	what, _ = a.reserve(counted) // there is not memory for both
	require.Equal(t, admitted, what)
	a.readerEnded(nil) // it did not decode
	require.Equal(t, counted-100, a.bytes)
}
