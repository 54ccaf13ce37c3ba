package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

func keys(ps []pb.Entry) (ks []string) {
	for _, p := range ps {
		ks = append(ks, string(p.Key))
	}
	return ks
}

func TestConditionsHoldOrNothingIsApplied(t *testing.T) {
	e, _ := store(t, server.Options{})
	first := e.must(t, put("k", "v")).Results[0].Version
	is := func(set func(*pb.RequireOp)) pb.Op {
		r := requires("k")
		set(r)
		return requireOp(r)
	}
	e.must(t, is(func(r *pb.RequireOp) { r.Condition = &pb.RequireOp_Exists{Exists: true} }),
		is(func(r *pb.RequireOp) { r.Condition = &pb.RequireOp_Equals{Equals: []byte("v")} }),
		is(func(r *pb.RequireOp) { r.Condition = &pb.RequireOp_Version{Version: raw(first)} }),
		putAbsent("fresh", ""), putValue("fresh", "", "x"))
	second := e.must(t, putVersion("k", first, "w")).Results[0].Version
	e.must(t, putValue("k", "w", "z"))

	for name, op := range map[string]pb.Op{
		"put if absent":  putAbsent("k", "no"),
		"put if value":   putValue("k", "other", "no"),
		"put if version": putVersion("k", second, "no"),
		"put if exists": {Op: &pb.Op_Put{Put: &pb.PutOp{Key: []byte("gone"),
			Condition: &pb.PutOp_IfExists{IfExists: true}}}},
		"delete if exists": {Op: &pb.Op_Delete{Delete: &pb.DeleteOp{Key: []byte("gone"),
			Condition: &pb.DeleteOp_IfExists{IfExists: true}}}},
		"delete if value": {Op: &pb.Op_Delete{Delete: &pb.DeleteOp{Key: []byte("k"),
			Condition: &pb.DeleteOp_IfValue{IfValue: []byte("v")}}}},
		"delete if version": {Op: &pb.Op_Delete{Delete: &pb.DeleteOp{Key: []byte("k"),
			Condition: &pb.DeleteOp_IfVersion{IfVersion: raw(first)}}}},
		"require absent":          is(func(r *pb.RequireOp) { r.Condition = &pb.RequireOp_Absent{Absent: true} }),
		"require another value":   is(func(r *pb.RequireOp) { r.Condition = &pb.RequireOp_Equals{Equals: []byte("v")} }),
		"require another version": is(func(r *pb.RequireOp) { r.Condition = &pb.RequireOp_Version{Version: raw(first)} }),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.execute(t, put("side", "effect"), op)
			require.Equal(t, codes.FailedPrecondition, status.Code(err))
			d := detail.From(err)
			require.Equal(t, "ConditionFailed", d.Kind)
			require.Equal(t, uint32(2), d.Op)
			require.False(t, d.Retryable)
			require.False(t, d.TxnId.IsZero())
			require.NotNil(t, d.Current)
			if string(d.Key) == "k" {
				require.Equal(t, "z", string(d.Current.Value), "the error tells what the key holds")
			} else {
				require.False(t, d.Current.Found)
			}
			require.False(t, e.must(t, get("side")).Results[0].Found)
		})
	}
}

func TestAnIdCommitsOnceAndItsOutcomeCanBeAsked(t *testing.T) {
	e, _ := store(t, server.Options{})
	id := kv.TxnID{Time: 77, Rand: 1}
	r, err := e.kv.Execute(t.Context(), &pb.ExecuteRequest{TxnId: id, Ops: []pb.Op{add("n", 1, true)}})
	require.NoError(t, err)
	require.Equal(t, id, r.TxnId)
	_, err = e.kv.Execute(t.Context(), &pb.ExecuteRequest{TxnId: id, Ops: []pb.Op{add("n", 1, true)}})
	require.Equal(t, codes.Aborted, status.Code(err))

	o, err := e.kv.Outcome(t.Context(), &pb.OutcomeRequest{TxnId: id})
	require.NoError(t, err)
	require.Equal(t, pb.Decision_COMMITTED, o.Decision)
	require.Equal(t, int64(1), o.Results[0].Number)

	never := kv.TxnID{Time: 78}
	o, err = e.kv.Outcome(t.Context(), &pb.OutcomeRequest{TxnId: never})
	require.NoError(t, err)
	require.Equal(t, pb.Decision_ABORTED, o.Decision)
	_, err = e.kv.Execute(t.Context(), &pb.ExecuteRequest{TxnId: never, Ops: []pb.Op{get("n")}})
	require.Equal(t, codes.Aborted, status.Code(err))

	_, err = e.kv.Outcome(t.Context(), &pb.OutcomeRequest{TxnId: kv.TxnID{Time: 5}.Mask(7)})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.ErrorContains(t, err, "the id is an alias")
	_, err = e.kv.Outcome(t.Context(), &pb.OutcomeRequest{TxnId: kv.TxnID{Time: servertest.TooOld}})
	require.Equal(t, "TooOld", detail.From(err).Kind)
	_, err = e.kv.Outcome(t.Context(), &pb.OutcomeRequest{})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

func TestAPastDeadlineExecutesNothing(t *testing.T) {
	counting := &counter{Store: servertest.New()}
	e := serve(t, counting, server.Options{})
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err := e.kv.Execute(ctx, &pb.ExecuteRequest{Ops: []pb.Op{put("k", "v")}})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	require.Zero(t, counting.submitted.Load())
}

func TestTheCallersDeadlineIsTheRequests(t *testing.T) {
	counting := &counter{Store: servertest.New()}
	e := serve(t, counting, server.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	want, _ := ctx.Deadline()
	_, err := e.kv.Execute(ctx, &pb.ExecuteRequest{Ops: []pb.Op{get("k")}})
	require.NoError(t, err)
	require.WithinDuration(t, want, counting.deadline(), 500*time.Millisecond)
	_, err = e.kv.Execute(t.Context(), &pb.ExecuteRequest{Ops: []pb.Op{get("k")}})
	require.NoError(t, err)
	require.Zero(t, counting.deadline(), "the maximum age alone")
	late, cancel := context.WithTimeout(t.Context(), 2*kv.MaxTxnAge)
	defer cancel()
	_, err = e.kv.Execute(late, &pb.ExecuteRequest{Ops: []pb.Op{get("k")}})
	require.NoError(t, err)
	require.Zero(t, counting.deadline(), "the maximum age is earlier")
}

// TestCompressedRequests are accepted by every kind of call, and their responses come compressed.
func TestCompressedRequests(t *testing.T) {
	e, _ := store(t, server.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	value := strings.Repeat("v", 100<<10)
	zip := grpc.UseCompressor(gzip.Name)
	_, err := e.kv.Execute(ctx, &pb.ExecuteRequest{Ops: []pb.Op{put("k", value)}}, zip)
	require.NoError(t, err)

	calls, err := e.kv.Pipeline(ctx, zip)
	require.NoError(t, err)
	require.NoError(t, calls.Send(&pb.PipelineRequest{Calls: []pb.Call{{Handle: 1,
		Request: pb.ExecuteRequest{Ops: []pb.Op{get("k"), put("l", value)}}}}}))
	_, err = calls.Recv() // the welcome
	require.NoError(t, err)
	m, err := calls.Recv()
	require.NoError(t, err)
	require.Equal(t, value, string(m.Responses[0].Response.Results[0].Value))

	steps, err := e.kv.Transact(ctx, zip)
	require.NoError(t, err)
	require.NoError(t, steps.Send(&pb.TransactRequest{Step: &pb.TransactRequest_Begin{Begin: &pb.BeginStep{}}}))
	_, err = steps.Recv()
	require.NoError(t, err)
}
