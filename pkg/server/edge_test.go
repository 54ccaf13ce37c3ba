package server

import (
	"context"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/codec"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// echo answers at once: gets with a value of 128 bytes, others with a version.
// Its results are made once, so that what is measured is the edge alone.
type echo struct {
	Backend
	got, put []msg.Result
	requests int
}

func newEcho() *echo {
	v := kv.Version{Shard: 1, Write: 1}
	return &echo{got: []msg.Result{{Found: true, Value: make([]byte, 128), Version: v}}, put: []msg.Result{{Version: v}}}
}

func (e *echo) Now() int64 { return 1 }

func (e *echo) NewID() kv.TxnID { return kv.TxnID{Time: time.Now().UnixNano(), Rand: rand.Uint64()} }

func (e *echo) Submit(r gateway.Request, done func(gateway.Response)) {
	e.requests++
	rs := e.put
	if r.Ops[0].Kind == msg.OpGet {
		rs = e.got
	}
	done(gateway.Response{ID: r.ID, Attempts: 1, Results: rs})
}

// looped is a stream that gives one message again and again, and encodes what
// is sent as gRPC would.
type looped struct {
	grpc.ServerStream
	codec   codec.Codec
	request mem.BufferSlice
	left    int
	answers int
}

func (*looped) Context() context.Context { return context.Background() }

func (l *looped) RecvMsg(m any) error {
	if l.left == 0 {
		return io.EOF
	}
	l.left--
	return l.codec.Unmarshal(l.request, m)
}

func (l *looped) SendMsg(m any) error {
	l.answers += len(m.(*pb.PipelineResponse).Responses)
	data, err := l.codec.Marshal(m)
	data.Free()
	return err
}

func encoded(t testing.TB, calls int, op pb.Op) mem.BufferSlice {
	in := pb.PipelineRequest{}
	for i := range calls {
		in.Calls = append(in.Calls, pb.Call{Handle: uint64(i), TimeoutMs: 1000,
			Request: pb.ExecuteRequest{TxnId: kv.TxnID{Time: 1, Rand: uint64(i)}, Ops: []pb.Op{op}}})
	}
	raw, err := in.Marshal()
	require.NoError(t, err)
	return mem.BufferSlice{mem.SliceBuffer(raw)}
}

// run takes messages through reader and sender, in turn on this goroutine.
func (l *looped) run(t testing.TB, p *pipe, out *outbox, messages int) {
	l.left = messages
	for range messages {
		if err := p.message(); err != nil {
			t.Fatal(err)
		}
		if err := out.sendAll(p.all()); err != nil {
			t.Fatal(err)
		}
	}
}

func newLoop(t testing.TB, calls int, op pb.Op) (*looped, *pipe, *outbox) {
	s := &service{opts: Options{}.withDefaults(), draining: make(chan struct{})}
	s.setBackend(newEcho())
	l := &looped{codec: codec.New(), request: encoded(t, calls, op)}
	p := &pipe{answers: newAnswers(s.opts.MaxInFlight, s.opts.MaxUnreadBytes, nil), service: s, stream: l}
	return l, p, &outbox{service: s, stream: l, sent: p.sent}
}

const perMessage = 32

var oneShots = []struct {
	name string
	op   pb.Op
	// ceiling bounds the allocations of a request on the server's edge, from
	// the bytes that came to the bytes that go.
	ceiling float64
}{
	{"get", getOp("key-of-twenty-four-bytes"), 3.5},
	{"put", putOp("key-of-twenty-four-bytes", 128), 4.5},
}

func TestAllocationsOfAOneShotStayBelowTheirCeiling(t *testing.T) {
	for _, c := range oneShots {
		t.Run(c.name, func(t *testing.T) {
			l, p, out := newLoop(t, perMessage, c.op)
			l.run(t, p, out, 10) // fill pools and spare slices
			n := testing.AllocsPerRun(100, func() { l.run(t, p, out, 1) }) / perMessage
			t.Logf("%.2f allocations a request", n)
			require.LessOrEqual(t, n, c.ceiling)
			require.NotZero(t, l.answers)
		})
	}
}

// FuzzPipeline holds that each call of whatever message decodes is answered
// exactly once, with its number, and that nothing panics.
func FuzzPipeline(f *testing.F) {
	seedPipeline(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in pb.PipelineRequest
		skip := decoder{call: func(*incoming, time.Time) bool { return true }}
		if in.Unmarshal(raw) != nil || skip.Unmarshal(raw) != nil {
			return // it ends the stream
		}
		l, p, out := newLoop(t, 0, pb.Op{})
		p.maxInFlight = max(1, (len(in.Calls)+1)/2) // some are refused
		l.request = mem.BufferSlice{mem.SliceBuffer(raw)}
		l.run(t, p, out, 1)
		require.Equal(t, len(in.Calls), l.answers)
		require.Zero(t, p.inFlight)
	})
}

func seedPipeline(f *testing.F) {
	for _, op := range []pb.Op{getOp("k"), getOp(""), {}, scanOp("b", "a", 1), putOp("k", 3), rangeOp("a", "b"),
		{Op: &pb.Op_Add{Add: &pb.AddOp{Key: []byte("n"), Delta: -1, ReturnValue: true}}},
		{Op: &pb.Op_Call{Call: &pb.CallOp{Key: []byte("k"), Type: "map", Method: "range",
			Args: []pb.Datum{text("a"), {Datum: &pb.Datum_Int{Int: 3}}}}}},
		{Op: &pb.Op_Delete{Delete: &pb.DeleteOp{Key: []byte("k"), Condition: &pb.DeleteOp_IfValue{IfValue: []byte("v")}}}},
		requireOp(pb.RequireOp{Key: []byte("k"), Condition: &pb.RequireOp_Absent{Absent: true}})} {
		f.Add([]byte(encoded(f, 3, op).Materialize()))
	}
	f.Add([]byte{})
	f.Add([]byte{10, 0, 10, 2, 26, 0})
	for _, in := range pastRequests() {
		f.Add(callBytes(f, append(in, pb.ExecuteRequest{Ops: []pb.Op{getOp("k")}})...))
		f.Add(callBytes(f, append(in, in...)...))
	}
}

// FuzzDecoder holds the decoder against the generated one and the checks of
// other calls: what both read, they read alike.
func FuzzDecoder(f *testing.F) {
	seedPipeline(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want pb.PipelineRequest
		wantErr := want.Unmarshal(raw)
		var got []incoming
		d := decoder{call: func(c *incoming, _ time.Time) bool { got = append(got, *c); return true }}
		if err := d.Unmarshal(raw); err != nil || wantErr != nil {
			return // they differ in how much of what is broken they look at
		}
		require.Len(t, got, len(want.Calls))
		for i := range got {
			c := &want.Calls[i]
			require.Equal(t, c.Handle, got[i].number)
			require.Equal(t, c.TimeoutMs, got[i].timeoutMs)
			require.Equal(t, c.Request.TxnId, got[i].id)
			require.Equal(t, c.Request.At, got[i].at)
			require.Equal(t, string(c.Request.CausalityToken), string(got[i].token))
			require.Equal(t, c.Request.Plan, got[i].plan)
			ops, err := operations(c.Request.Ops, new(budget))
			require.Equal(t, err, got[i].err)
			if err == nil {
				require.Equal(t, ops, got[i].ops)
			}
		}
	})
}

// The decoder is only as good as what it makes of broken bytes.
func TestTheDecoderRefusesBrokenBytes(t *testing.T) {
	whole := encoded(t, 1, putOp("key", 20)).Materialize()
	for n := 1; n < len(whole); n++ {
		d := decoder{call: func(*incoming, time.Time) bool { t.Errorf("%d bytes made a call", n); return true }}
		require.Error(t, d.Unmarshal(whole[:n]), "%d of %d bytes", n, len(whole))
	}
}

func TestTheDecoderTakesTheSumOfRepeatedRequests(t *testing.T) {
	one, err := (&pb.Call{Handle: 7, Request: pb.ExecuteRequest{Ops: []pb.Op{getOp("a")}}}).Marshal()
	require.NoError(t, err)
	two, err := (&pb.Call{TimeoutMs: 5, Request: pb.ExecuteRequest{Ops: []pb.Op{getOp("b")}}}).Marshal()
	require.NoError(t, err)
	body := append(one, two...)
	raw := append([]byte{10, byte(len(body))}, body...)
	var got []incoming
	d := decoder{call: func(c *incoming, _ time.Time) bool { got = append(got, *c); return true }}
	require.NoError(t, d.Unmarshal(raw))
	require.Len(t, got, 1)
	require.Equal(t, []string{"a", "b"}, []string{string(got[0].ops[0].Key), string(got[0].ops[1].Key)})
	require.Equal(t, uint32(1), got[0].ops[1].Seq)
}

func TestABadIdIsTheCallsOwnFault(t *testing.T) {
	raw := []byte{10, 5, 26, 3, 18, 1, 'x'}
	var got []incoming
	d := decoder{call: func(c *incoming, _ time.Time) bool { got = append(got, *c); return true }}
	require.NoError(t, d.Unmarshal(raw))
	require.Contains(t, got[0].err.Text, "transaction id of 1 bytes")
}
