package server_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// noted records the options of the last read.
type noted struct {
	servertest.Noted
	how atomic.Pointer[txn.TxnOptions]
}

func newNoted() *noted {
	b := new(noted)
	b.Noted = servertest.Noted{Store: servertest.New(), Note: func(h txn.TxnOptions) {
		h.MaxResponse = 0 // another test is about it
		b.how.Store(&h)
	}}
	return b
}

func snapshotAt(s string) *pb.At { return &pb.At{At: &pb.At_Snapshot{Snapshot: s}} }

func asOf(ns int64) *pb.At { return &pb.At{At: &pb.At_AsOfNs{AsOfNs: ns}} }

func tokenOf(s kv.ShardID, x kv.CSN) []byte {
	return vclock.EncodeOne(vclock.Entry{Shard: s, CSN: x})
}

// way is one of the calls that can say how to read. It returns the failure, and
// the token, the snapshot and the value of the key that the answer carries.
type way struct {
	name string
	// plans: it can ask for one.
	plans bool
	read  func(t *testing.T, e *edge, r pb.ExecuteRequest) (*pb.ErrorDetail, []byte, *pb.Snapshot, string)
}

var ways = []way{
	{"execute", true, func(t *testing.T, e *edge, r pb.ExecuteRequest) (*pb.ErrorDetail, []byte, *pb.Snapshot, string) {
		r.Ops = []pb.Op{get("k")}
		out, err := e.kv.Execute(t.Context(), &r)
		if err != nil {
			return detail.From(err), nil, nil, ""
		}
		return nil, out.CausalityToken, out.Snapshot, string(out.Results[0].Value)
	}},
	{"pipeline", true, func(t *testing.T, e *edge, r pb.ExecuteRequest) (*pb.ErrorDetail, []byte, *pb.Snapshot, string) {
		r.Ops = []pb.Op{get("k")}
		p := pipeline(t, e)
		p.send(pb.Call{Handle: 1, Request: r})
		a := p.answer()
		if a.Error != nil {
			return a.Error, nil, nil, ""
		}
		return nil, a.Response.CausalityToken, a.Response.Snapshot, string(a.Response.Results[0].Value)
	}},
	{"transact", true, func(t *testing.T, e *edge, r pb.ExecuteRequest) (*pb.ErrorDetail, []byte, *pb.Snapshot, string) {
		d := transact(t, e)
		begun := d.begin(&pb.BeginStep{ReadOnly: true, At: r.At, CausalityToken: r.CausalityToken, Plan: r.Plan})
		if f := begun.GetFailed(); f != nil {
			return f, nil, nil, ""
		}
		rs := results(t, d.do(get("k")))
		out := d.commit().GetCommitted()
		return nil, out.CausalityToken, out.Snapshot, string(rs[0].Value)
	}},
	{"scan", false, func(t *testing.T, e *edge, r pb.ExecuteRequest) (*pb.ErrorDetail, []byte, *pb.Snapshot, string) {
		s, err := e.kv.Scan(t.Context(), &pb.ScanRequest{At: r.At, CausalityToken: r.CausalityToken})
		require.NoError(t, err)
		page, err := s.Recv()
		if err != nil {
			return detail.From(err), nil, nil, ""
		}
		return nil, page.CausalityToken, page.Snapshot, string(page.Entries[0].Value)
	}},
}

func eachWay(t *testing.T, f func(t *testing.T, w way)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { f(t, w) })
	}
}

// TestEveryCallCanSayHowToRead: what the request says reaches the backend, and
// the answer has the state that was read.
func TestEveryCallCanSayHowToRead(t *testing.T) {
	b := newNoted()
	e := serve(t, b, server.Options{})
	e.must(t, put("k", "old"))
	s, err := e.kv.CreateSnapshot(t.Context(), &pb.CreateSnapshotRequest{Name: "s"})
	require.NoError(t, err)
	e.must(t, put("k", "new"))
	eachWay(t, func(t *testing.T, w way) {
		for _, name := range []string{"s", s.Id} {
			failed, token, snap, value := w.read(t, e, pb.ExecuteRequest{At: snapshotAt(name)})
			require.Nil(t, failed)
			require.Equal(t, s, snap)
			require.NotEmpty(t, token)
			require.Equal(t, "old", value)
		}
		require.Equal(t, &txn.TxnOptions{At: txn.SnapshotRef{Number: 1}}, b.how.Load())
		failed, token, snap, value := w.read(t, e, pb.ExecuteRequest{CausalityToken: tokenOf(3, 9)})
		require.Nil(t, failed)
		require.NotEmpty(t, token)
		require.Nil(t, snap)
		require.Equal(t, "new", value)
		require.Equal(t, tokenOf(3, 9), b.how.Load().After.Encode())
		_, _, _, _ = w.read(t, e, pb.ExecuteRequest{At: asOf(12345)})
		require.Equal(t, &txn.TxnOptions{At: txn.SnapshotRef{AsOf: 12345}}, b.how.Load())
		if w.plans {
			_, _, _, _ = w.read(t, e, pb.ExecuteRequest{Plan: pb.ReadPlan_PLAN_HOT_LAST})
			require.Equal(t, &txn.TxnOptions{Plan: txn.PlanHotLast}, b.how.Load())
		}
		_, _, _, _ = w.read(t, e, pb.ExecuteRequest{})
		require.Equal(t, &txn.TxnOptions{}, b.how.Load(), "what one call says is not the next one's")
	})
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	b := newNoted()
	e := serve(t, b, server.Options{})
	e.must(t, put("k", "v"))
	b.how.Store(nil)
	eachWay(t, func(t *testing.T, w way) {
		for what, c := range map[string]struct {
			in         pb.ExecuteRequest
			kind, text string
		}{
			"an id without a number": {pb.ExecuteRequest{At: snapshotAt("@servertx")}, "Invalid",
				`"@servertx" is not a snapshot id`},
			"an id of a word": {pb.ExecuteRequest{At: snapshotAt("@servertx-x")}, "Invalid",
				"is not a snapshot id"},
			"an id of number 0": {pb.ExecuteRequest{At: snapshotAt("@serverte-0")}, "Invalid",
				"is not a snapshot id"},
			"an id of a number only": {pb.ExecuteRequest{At: snapshotAt("@17")}, "Invalid", "is not a snapshot id"},
			"an id below 0": {pb.ExecuteRequest{At: snapshotAt("@serverte--1")}, "Invalid",
				"another cluster"},
			"an id beyond 64 bits": {pb.ExecuteRequest{At: snapshotAt("@serverte-18446744073709551616")}, "Invalid",
				"is not a snapshot id"},
			"nothing but an @": {pb.ExecuteRequest{At: snapshotAt("@")}, "Invalid", "is not a snapshot id"},
			"an id belongs to another cluster": {pb.ExecuteRequest{At: snapshotAt("@3f9a01c2-17")}, "Invalid",
				"@3f9a01c2-17 belongs to another cluster: ids of this cluster start with @serverte"},
			"no name": {pb.ExecuteRequest{At: snapshotAt("")}, "Invalid", "the snapshot has no name"},
			"a name with a blank": {pb.ExecuteRequest{At: snapshotAt("a b")}, "Invalid",
				"has an invalid character"},
			"a time of 0":               {pb.ExecuteRequest{At: asOf(0)}, "Invalid", "is not positive"},
			"a time below 0":            {pb.ExecuteRequest{At: asOf(-5)}, "Invalid", "is not positive"},
			"a state that is not named": {pb.ExecuteRequest{At: &pb.At{}}, "Invalid", "does not know this kind of read"},
			"a token of noise": {pb.ExecuteRequest{CausalityToken: []byte("noise")}, "Invalid",
				"the token is not one that linchpin gave out"},
			"a cut token": {pb.ExecuteRequest{CausalityToken: tokenOf(1, 300)[:3]}, "Invalid",
				"the token is not one"},
			"a shard beyond all": {pb.ExecuteRequest{CausalityToken: []byte{1, 0x80, 0x80, 4, 1}}, "Invalid",
				"the token is not one"},
			"a plan for one shard": {pb.ExecuteRequest{Plan: pb.ReadPlan_PLAN_ONE_SHARD}, "Invalid",
				"plan PLAN_ONE_SHARD cannot be requested"},
			"a plan for open readers": {pb.ExecuteRequest{Plan: pb.ReadPlan_PLAN_INTERACTIVE}, "Invalid",
				"plan PLAN_INTERACTIVE cannot be requested"},
			"a plan of the future": {pb.ExecuteRequest{Plan: 77}, "Invalid", "plan 77 cannot be requested"},
		} {
			if c.in.Plan != 0 && !w.plans {
				continue
			}
			failed, _, _, _ := w.read(t, e, c.in)
			require.NotNil(t, failed, what)
			require.Equal(t, c.kind, failed.Kind, what)
			require.Equal(t, uint32(codes.InvalidArgument), failed.Code, what)
			require.Contains(t, failed.Message, c.text, what)
			require.NotEmpty(t, failed.Hint, what)
			require.Nil(t, b.how.Load(), "%s: it came to the store", what)
		}
		failed, _, _, _ := w.read(t, e, pb.ExecuteRequest{At: snapshotAt("none")})
		require.Equal(t, "NotFound", failed.Kind)
		b.how.Store(nil)
	})
}

func TestScanWithoutPairsReportsItsState(t *testing.T) {
	e, _ := store(t, server.Options{})
	e.must(t, put("k", "v"))
	s, err := e.kv.CreateSnapshot(t.Context(), &pb.CreateSnapshotRequest{Name: "s"})
	require.NoError(t, err)
	stream, err := e.kv.Scan(t.Context(), &pb.ScanRequest{Start: []byte("x"), At: snapshotAt("s")})
	require.NoError(t, err)
	page, err := stream.Recv()
	require.NoError(t, err)
	require.Empty(t, page.Entries)
	require.NotEmpty(t, page.CausalityToken)
	require.Equal(t, s, page.Snapshot)
	_, err = stream.Recv()
	require.Equal(t, codes.OK, status.Code(errOrEOF(err)))
}

func TestOnlyTheFirstPageReportsTheState(t *testing.T) {
	e, _ := store(t, server.Options{})
	e.must(t, put("a", "1"), put("b", "2"), put("c", "3"))
	_, err := e.kv.CreateSnapshot(t.Context(), &pb.CreateSnapshotRequest{Name: "s"})
	require.NoError(t, err)
	stream, err := e.kv.Scan(t.Context(), &pb.ScanRequest{PageSize: 1, At: snapshotAt("s")})
	require.NoError(t, err)
	for n := range 3 {
		page, err := stream.Recv()
		require.NoError(t, err)
		require.Len(t, page.Entries, 1)
		require.Equal(t, n == 0, page.CausalityToken != nil)
		require.Equal(t, n == 0, page.Snapshot != nil)
	}
}

func TestAnswersOnOnePipelineKeepTheirSnapshotsApart(t *testing.T) {
	e, _ := store(t, server.Options{})
	e.must(t, put("k", "old"))
	_, err := e.kv.CreateSnapshot(t.Context(), &pb.CreateSnapshotRequest{Name: "s"})
	require.NoError(t, err)
	e.must(t, put("k", "new"))
	p := pipeline(t, e)
	for range 20 { // places of answers are used again
		past, present := call(1, get("k")), call(2, get("k"))
		past.Request.At = snapshotAt("s")
		p.send(past, present, call(3, get("")))
		for range 3 {
			switch a := p.answer(); a.Handle {
			case 1:
				require.Equal(t, "old", string(a.Response.Results[0].Value))
				require.Equal(t, "s", a.Response.Snapshot.Name)
			case 2:
				require.Equal(t, "new", string(a.Response.Results[0].Value))
				require.Nil(t, a.Response.Snapshot)
			case 3:
				require.NotNil(t, a.Error)
				require.Nil(t, a.Response.Snapshot)
				require.Empty(t, a.Response.CausalityToken)
			}
		}
	}
}
