package clientstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/clientstore"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server in front of a backend and gives its address.
func serve(t *testing.T, b server.Backend) string {
	t.Helper()
	return servertest.Serve(t, b, "", server.Options{}).Addr
}

func open(t *testing.T, connections int, addrs ...string) *clientstore.Store {
	t.Helper()
	s, err := clientstore.Open(t.Context(), addrs, connections, client.WithBackoff(time.Millisecond, time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func op(k workload.OpKind, key, value string, delta int64) workload.Op {
	return workload.Op{Kind: k, Key: []byte(key), Value: []byte(value), Delta: delta}
}

// Both calls do the same, and see the same.
func TestOperationsAreCarriedOut(t *testing.T) {
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			s := open(t, 2, serve(t, servertest.New()))
			r, err := call(s, t.Context(), []workload.Op{
				op(workload.Read, "a", "", 0), op(workload.Write, "a", "x", 0), op(workload.ReadForUpdate, "a", "", 0),
				op(workload.Add, "n", "", 2), op(workload.Add, "n", "", 5), op(workload.Read, "n", "", 0),
			})
			require.NoError(t, err)
			require.Equal(t, 1, r.Attempts)
			require.False(t, r.ID.IsZero())
			want := []workload.Seen{{}, {}, {Found: true, Value: []byte("x")}, {}, {}, {Found: true, IsNumber: true, Number: 7}}
			same(t, want, r.Results)
			r, err = call(s, t.Context(), []workload.Op{op(workload.Read, "n", "", 0), op(workload.Read, "a", "", 0)})
			require.NoError(t, err)
			same(t, []workload.Seen{want[5], want[2]}, r.Results)
		})
	}
}

// same compares what was seen; no bytes are as good as empty ones.
func same(t *testing.T, want, got []workload.Seen) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, w := range want {
		g := got[i]
		require.Equal(t, string(w.Value), string(g.Value), "operation %d", i)
		w.Value, g.Value = nil, nil
		require.Equal(t, w, g, "operation %d", i)
	}
}

var calls = map[string]func(*clientstore.Store, context.Context, []workload.Op) (workload.Reply, error){
	"one-shot":    (*clientstore.Store).Execute,
	"interactive": (*clientstore.Store).Transact,
}

func TestErrorsKeepTheirKind(t *testing.T) {
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			s := open(t, 1, serve(t, servertest.New()))
			_, err := call(s, t.Context(), []workload.Op{op(workload.Write, "a", "x", 0)})
			require.NoError(t, err)
			r, err := call(s, t.Context(), []workload.Op{op(workload.Add, "a", "", 1)})
			require.Equal(t, kv.KindWrongType, kv.KindOf(err))
			require.Equal(t, workload.Failed, workload.OutcomeOf(err))
			require.Empty(t, r.Results)
			require.False(t, r.ID.IsZero())
		})
	}
}

// wounding aborts the first attempts of what is asked of it.
type wounding struct {
	server.Backend
	left int
}

func (w *wounding) wound() *kv.Error {
	if w.left == 0 {
		return nil
	}
	w.left--
	return kv.Errorf(kv.KindAborted, "an older transaction came")
}

func (w *wounding) Submit(req gateway.Request, done func(gateway.Response)) {
	if err := w.wound(); err != nil {
		done(gateway.Response{ID: req.ID, Attempts: 2, Err: err})
		return
	}
	w.Backend.Submit(req, done)
}

func (w *wounding) Begin(ctx context.Context, o gateway.TxOptions) (server.Tx, error) {
	if err := w.wound(); err != nil {
		return nil, err
	}
	return w.Backend.Begin(ctx, o)
}

func TestRetriesAreCountedAndNamed(t *testing.T) {
	ops := []workload.Op{op(workload.ReadForUpdate, "a", "", 0), op(workload.Write, "a", "x", 0)}
	s := open(t, 1, serve(t, &wounding{servertest.New(), 3}))
	r, err := s.Execute(t.Context(), ops)
	require.NoError(t, err)
	require.Equal(t, 3*2+1, r.Attempts, "three calls of two attempts in the gateway, and the last")
	require.Empty(t, r.Aborts)

	s = open(t, 1, serve(t, &wounding{servertest.New(), 3}))
	r, err = s.Transact(t.Context(), ops)
	require.NoError(t, err)
	require.Equal(t, 4, r.Attempts)
	require.Equal(t, []string{workload.AtOperation, workload.AtOperation, workload.AtOperation}, r.Aborts)
	require.Len(t, r.Results, 2, "of the last attempt alone")

	s = open(t, 1, serve(t, &wounding{servertest.New(), 2}))
	r, err = s.Transact(t.Context(), ops[1:])
	require.NoError(t, err)
	require.Equal(t, []string{workload.AtCommit, workload.AtCommit}, r.Aborts, "a blind write has no operation to fail at")
}

func TestPausesAreMadeAndBoundedByTheDeadline(t *testing.T) {
	s := open(t, 1, serve(t, servertest.New()))
	ops := []workload.Op{op(workload.Read, "a", "", 0), op(workload.Read, "b", "", 0)}
	ops[1].Pause = 30 * time.Millisecond
	begun := time.Now()
	_, err := s.Transact(t.Context(), ops)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begun), ops[1].Pause)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ops[1].Pause = time.Hour
	r, err := s.Transact(ctx, ops)
	require.Equal(t, kv.KindDeadlineExceeded, kv.KindOf(err))
	require.Empty(t, r.Results)
}

func TestConnectionsAreDealtOverTheAddresses(t *testing.T) {
	stores := []*servertest.Store{servertest.New(), servertest.New()}
	s := open(t, 0, serve(t, stores[0]), serve(t, stores[1]))
	for range 10 {
		_, err := s.Execute(t.Context(), []workload.Op{op(workload.Add, "n", "", 1)})
		require.NoError(t, err)
	}
	for _, b := range stores {
		one := open(t, 1, serve(t, b))
		r, err := one.Execute(t.Context(), []workload.Op{op(workload.Read, "n", "", 0)})
		require.NoError(t, err)
		require.Equal(t, int64(5), r.Results[0].Number)
	}
}

func TestWhatCannotBeReachedIsUnavailable(t *testing.T) {
	_, err := clientstore.Open(t.Context(), []string{"127.0.0.1:1"}, 1)
	require.Equal(t, kv.KindUnavailable, kv.KindOf(err))
	_, err = clientstore.Open(t.Context(), nil, 0)
	require.Equal(t, kv.KindInvalid, kv.KindOf(err))
}

func TestAWorkloadRunsOnIt(t *testing.T) {
	for _, interactive := range []bool{false, true} {
		s := open(t, 2, serve(t, servertest.New()))
		r, err := workload.New(s, workload.Options{Count: 300, Clients: 8, Keys: 30, Skew: 1.2, Interactive: interactive})
		require.NoError(t, err)
		res, err := r.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, uint64(300), res.All.Committed, "%+v", res.Errors)
	}
}

func TestARangeIsScannedAndCanBeLeft(t *testing.T) {
	s := open(t, 1, serve(t, servertest.New()))
	_, err := s.Execute(t.Context(), []workload.Op{op(workload.Write, "a/2", "y", 0), op(workload.Write, "a/1", "x", 0),
		op(workload.Add, "a/3", "", 4), op(workload.Write, "b", "z", 0)})
	require.NoError(t, err)
	for _, stop := range []int{1, 2, 10} {
		var got []workload.Pair
		err := s.Scan(t.Context(), workload.Range{Start: []byte("a/"), End: []byte("a0"), Page: 1},
			func(p workload.Pair) bool {
				got = append(got, p)
				return len(got) < stop
			})
		require.NoError(t, err)
		want := []workload.Pair{
			{Key: []byte("a/1"), Seen: workload.Seen{Found: true, Value: []byte("x")}},
			{Key: []byte("a/2"), Seen: workload.Seen{Found: true, Value: []byte("y")}},
			{Key: []byte("a/3"), Seen: workload.Seen{Found: true, IsNumber: true, Number: 4}},
		}[:min(stop, 3)]
		require.Len(t, got, len(want))
		for i := range want {
			require.Equal(t, string(want[i].Key), string(got[i].Key))
			same(t, []workload.Seen{want[i].Seen}, []workload.Seen{got[i].Seen})
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, s.Scan(ctx, workload.Range{Start: []byte("a/"), End: []byte("a0")},
		func(workload.Pair) bool { return true }))
}
