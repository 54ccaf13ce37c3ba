package server_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
)

// dialog is a Transact stream.
type dialog struct {
	t      *testing.T
	stream grpc.BidiStreamingClient[pb.TransactRequest, pb.TransactResponse]
	cancel context.CancelFunc
}

func transact(t *testing.T, e *edge) *dialog {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	t.Cleanup(cancel)
	stream, err := e.kv.Transact(ctx)
	require.NoError(t, err)
	return &dialog{t, stream, cancel}
}

func (d *dialog) ask(in *pb.TransactRequest) *pb.TransactResponse {
	d.t.Helper()
	require.NoError(d.t, d.stream.Send(in))
	out, err := d.stream.Recv()
	require.NoError(d.t, err)
	return out
}

func (d *dialog) begin(b *pb.BeginStep) *pb.TransactResponse {
	d.t.Helper()
	return d.ask(&pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: b}})
}

func (d *dialog) do(ops ...pb.Op) *pb.TransactResponse {
	d.t.Helper()
	return d.ask(&pb.TransactRequest{Step: &pb.TransactRequest_Execute{Execute: &pb.ExecuteStep{Ops: ops}}})
}

func (d *dialog) commit() *pb.TransactResponse {
	d.t.Helper()
	return d.ask(&pb.TransactRequest{Step: &pb.TransactRequest_Commit{Commit: &pb.CommitStep{}}})
}

func (d *dialog) rollback() *pb.TransactResponse {
	d.t.Helper()
	return d.ask(&pb.TransactRequest{Step: &pb.TransactRequest_Rollback{Rollback: &pb.RollbackStep{}}})
}

func (d *dialog) savepoint(name string) *pb.TransactResponse {
	d.t.Helper()
	return d.ask(&pb.TransactRequest{Step: &pb.TransactRequest_Savepoint{Savepoint: &pb.SavepointStep{Name: name}}})
}

func (d *dialog) rollbackTo(name string) *pb.TransactResponse {
	d.t.Helper()
	return d.ask(&pb.TransactRequest{Step: &pb.TransactRequest_RollbackTo{RollbackTo: &pb.SavepointStep{Name: name}}})
}

func (d *dialog) release(name string) *pb.TransactResponse {
	d.t.Helper()
	return d.ask(&pb.TransactRequest{Step: &pb.TransactRequest_Release{Release: &pb.SavepointStep{Name: name}}})
}

func results(t *testing.T, r *pb.TransactResponse) []pb.Result {
	t.Helper()
	require.IsType(t, &pb.TransactResponse_Executed{}, r.Response, "%v", r)
	return r.Response.(*pb.TransactResponse_Executed).Executed.Results
}

func failed(t *testing.T, r *pb.TransactResponse) *pb.ErrorDetail {
	t.Helper()
	require.IsType(t, &pb.TransactResponse_Failed{}, r.Response, "%v", r)
	return r.Response.(*pb.TransactResponse_Failed).Failed
}

// TestOperationsWithABeginAndWithACommit sends them in one message with those.
func TestOperationsWithABeginAndWithACommit(t *testing.T) {
	e, _ := store(t, server.Options{})
	d := transact(t, e)
	begin := func(first ...pb.Op) *pb.TransactResponse {
		return d.begin(&pb.BeginStep{First: &pb.ExecuteStep{Ops: first}})
	}
	commit := func(last ...pb.Op) *pb.TransactResponse {
		return d.ask(&pb.TransactRequest{Step: &pb.TransactRequest_Commit{
			Commit: &pb.CommitStep{Last: &pb.ExecuteStep{Ops: last}}}})
	}
	begun := begin(put("k", "v"), get("k")).GetBegun()
	require.NotNil(t, begun)
	require.False(t, begun.TxnId.IsZero())
	require.Len(t, begun.Executed.Results, 2)
	require.Equal(t, "v", string(begun.Executed.Results[1].Value))
	committed := commit(add("n", 3, false), get("n")).GetCommitted()
	require.NotNil(t, committed)
	require.Equal(t, begun.TxnId, committed.TxnId)
	require.Len(t, committed.Results, 2)
	require.Equal(t, int64(3), committed.Results[1].Number)
	require.Equal(t, "v", string(e.must(t, get("k")).Results[0].Value))

	require.Equal(t, "ConditionFailed", failed(t, begin(putValue("k", "x", "w"))).Kind)
	require.Equal(t, "Invalid", failed(t, commit()).Kind, "none is open")

	require.NotNil(t, begin(put("k", "w")).GetBegun())
	require.Equal(t, "ConditionFailed", failed(t, commit(putValue("k", "x", "y"))).Kind)
	require.Equal(t, "v", string(e.must(t, get("k")).Results[0].Value), "nothing was committed")

	require.NotNil(t, begin(put("k", "w")).GetBegun())
	d.savepoint("s")
	undone := commit(putValue("k", "x", "y"))
	require.NotNil(t, undone.GetStepFailed(), "with a savepoint it can be taken back: %v", undone)
	require.NotNil(t, d.rollbackTo("s").GetExecuted())
	require.NotNil(t, commit(put("m", "1")).GetCommitted())
	require.Equal(t, "w", string(e.must(t, get("k")).Results[0].Value))
}

func TestAFailedStepEndsTheTransaction(t *testing.T) {
	e, st := store(t, server.Options{})
	e.must(t, put("k", "v"))
	kinds := map[string]struct {
		begin pb.BeginStep
		step  func(*dialog) *pb.TransactResponse
		kind  string
	}{
		"a bad operation": {step: func(d *dialog) *pb.TransactResponse { return d.do(put("side", "x"), get("")) },
			kind: "Invalid"},
		"no operation": {step: func(d *dialog) *pb.TransactResponse { return d.do() }, kind: "Invalid"},
		"a failed condition": {step: func(d *dialog) *pb.TransactResponse {
			return d.do(put("side", "x"),
				putAbsent("k", "w"))
		}, kind: "ConditionFailed"},
		"a wrong type": {step: func(d *dialog) *pb.TransactResponse {
			return d.do(put("side", "x"),
				add("k", 1, false))
		}, kind: "WrongType"},
		"a write when read-only": {begin: pb.BeginStep{ReadOnly: true},
			step: func(d *dialog) *pb.TransactResponse { return d.do(put("side", "x")) }, kind: "Invalid"},
		"a second begin": {step: func(d *dialog) *pb.TransactResponse { return d.begin(&pb.BeginStep{}) },
			kind: "Invalid"},
		"an empty step": {step: func(d *dialog) *pb.TransactResponse { return d.ask(&pb.TransactRequest{}) },
			kind: "Invalid"},
	}
	d := transact(t, e)
	for name, c := range kinds {
		t.Run(name, func(t *testing.T) {
			d.t = t
			d.begin(&c.begin)
			require.Equal(t, c.kind, failed(t, c.step(d)).Kind)
			require.Zero(t, st.Open())
			for _, after := range []*pb.TransactResponse{d.do(get("k")), d.commit(), d.rollback()} {
				require.Contains(t, failed(t, after).Message, "no transaction is open")
			}
			require.False(t, e.must(t, get("side")).Results[0].Found)
		})
	}
}

func TestLimitsCountOverAllStepsOfATransaction(t *testing.T) {
	e, _ := store(t, server.Options{})
	d := transact(t, e)
	d.begin(&pb.BeginStep{})
	half := make([]pb.Op, kv.MaxTxnOps/2)
	for i := range half {
		half[i] = get("k")
	}
	require.Len(t, results(t, d.do(half...)), len(half))
	require.Len(t, results(t, d.do(half...)), len(half))
	require.Contains(t, failed(t, d.do(get("k"))).Message, "10001 operations")
}

func TestABrokenStreamIsAnAbort(t *testing.T) {
	e, st := store(t, server.Options{})
	d := transact(t, e)
	d.begin(&pb.BeginStep{})
	d.do(put("k", "v"))
	require.Equal(t, 1, st.Open())
	d.cancel()
	require.Eventually(t, func() bool { return st.Open() == 0 }, waitTimeout, time.Millisecond)
	require.False(t, e.must(t, get("k")).Results[0].Found)
}

func TestAnEndedStreamIsAnAbortToo(t *testing.T) {
	e, st := store(t, server.Options{})
	d := transact(t, e)
	d.begin(&pb.BeginStep{})
	d.do(put("k", "v"))
	require.NoError(t, d.stream.CloseSend())
	_, err := d.stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	require.Zero(t, st.Open())
	require.False(t, e.must(t, get("k")).Results[0].Found)
}

func TestABeginThatWaitsEndsWithItsStream(t *testing.T) {
	e, st := store(t, server.Options{})
	first, second := transact(t, e), transact(t, e)
	first.begin(&pb.BeginStep{})
	require.NoError(t, second.stream.Send(&pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: &pb.BeginStep{}}}))
	require.Eventually(t, func() bool { return st.Waiting() == 1 }, waitTimeout, time.Millisecond)
	second.cancel()
	require.Eventually(t, func() bool { return st.Waiting() == 0 }, waitTimeout, time.Millisecond)
	require.IsType(t, &pb.TransactResponse_Committed{}, first.commit().Response)
}

func TestAGracefulStopLetsWhatIsOpenEnd(t *testing.T) {
	e, st := store(t, server.Options{})
	d := transact(t, e)
	d.begin(&pb.BeginStep{})
	d.do(put("k", "v"))
	p := pipeline(t, e)
	p.send(call(1, put("k", "w")))
	require.Eventually(t, func() bool { return st.Waiting() == 1 }, waitTimeout, time.Millisecond)
	stopped := make(chan error, 1)
	go func() { stopped <- e.server.GracefulStop(t.Context()) }()
	require.Eventually(t, func() bool { // new calls are refused
		_, err := e.admin.Status(t.Context(), &pb.StatusRequest{})
		return status.Code(err) == codes.Unavailable
	}, waitTimeout, time.Millisecond)
	require.IsType(t, &pb.TransactResponse_Committed{}, d.commit().Response)
	require.Nil(t, p.answer().Error)
	require.NoError(t, <-stopped)
	require.Contains(t, st.String(), `"w"`)
}

func TestAGracefulStopIsCutShortByItsContext(t *testing.T) {
	e, st := store(t, server.Options{})
	d := transact(t, e)
	d.begin(&pb.BeginStep{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, e.server.GracefulStop(ctx), context.DeadlineExceeded)
	require.Eventually(t, func() bool { return st.Open() == 0 }, waitTimeout, time.Millisecond)
}

func TestStoppingEndsIdleStreamsWithUnavailable(t *testing.T) {
	e, _ := store(t, server.Options{})
	d, p := transact(t, e), pipeline(t, e)
	d.begin(&pb.BeginStep{})
	require.IsType(t, &pb.TransactResponse_Committed{}, d.commit().Response)
	require.NoError(t, e.server.GracefulStop(t.Context()))
	_, err := d.stream.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))
	notice, err := p.stream.Recv()
	require.NoError(t, err)
	require.True(t, notice.Draining)
	_, err = p.stream.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))
}

// TestSavepoints: what was written since one can be taken back, and so can a step
// that failed.
func TestSavepoints(t *testing.T) {
	e, st := store(t, server.Options{})
	e.must(t, put("taken", "v"))
	d := transact(t, e)
	d.begin(&pb.BeginStep{})
	d.do(put("a", "1"))
	require.Empty(t, results(t, d.savepoint("s")))
	d.do(put("a", "2"), put("b", "2"))
	require.Empty(t, results(t, d.rollbackTo("s")))
	rs := results(t, d.do(get("a"), get("b")))
	require.Equal(t, "1", string(rs[0].Value))
	require.False(t, rs[1].Found)

	broken := func(r *pb.TransactResponse, kind string) {
		t.Helper()
		require.IsType(t, &pb.TransactResponse_StepFailed{}, r.Response, "%v", r)
		require.Equal(t, kind, r.Response.(*pb.TransactResponse_StepFailed).StepFailed.Kind)
	}
	broken(d.do(put("c", "3"), putAbsent("taken", "w")), "ConditionFailed")
	for _, r := range []*pb.TransactResponse{d.do(get("a")), d.savepoint("t"), d.release("s"), d.commit(),
		d.rollbackTo("unknown")} {
		broken(r, "Invalid")
	}
	require.Equal(t, 1, st.Open())
	require.Empty(t, results(t, d.rollbackTo("s")))
	broken(d.do(get("")), "Invalid")
	require.Empty(t, results(t, d.rollbackTo("s")))
	require.Empty(t, results(t, d.release("s")))
	require.IsType(t, &pb.TransactResponse_Committed{}, d.commit().Response)
	require.Equal(t, "1", string(e.must(t, get("a")).Results[0].Value))
	require.False(t, e.must(t, get("c")).Results[0].Found)

	d.begin(&pb.BeginStep{})
	require.Contains(t, failed(t, d.rollbackTo("s")).Message, "no savepoint")
	require.Contains(t, failed(t, d.savepoint("s")).Message, "no transaction is open")
	d.begin(&pb.BeginStep{})
	d.savepoint("s")
	d.release("s")
	broken(d.do(add("taken", 1, false)), "WrongType")
	require.IsType(t, &pb.TransactResponse_RolledBack{}, d.rollback().Response,
		"what has no savepoint any more can be rolled back")
	require.Zero(t, st.Open())
}
