package client_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// openWired gives a client whose connections can be cut.
func openWired(t *testing.T, f *faulty, opts ...client.Option) (*client.DB, *wires) {
	w := new(wires)
	n := startNode(t, f, "", server.Options{})
	return open(t, []string{n.addr}, append(opts, client.WithDialer(w.dial))...), w
}

func TestALostAnswerIsEnquiredAboutAndTold(t *testing.T) {
	for _, retries := range []bool{true, false} {
		f := newFaulty()
		db, w := openWired(t, f, client.WithRetries(retries))
		var once sync.Once
		f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
			f.Store.Submit(req, func(r gateway.Response) {
				once.Do(w.cut)
				done(r)
			})
		})
		out, err := db.Execute(within(t, 10*time.Second), client.AddGet(b("n"), 5))
		require.NoError(t, err)
		require.Equal(t, int64(5), out.Results[0].Number)
		require.Equal(t, int64(5), counter(t, db, "n"))
	}
}

func TestALostRequestIsRunAgainUnderANewID(t *testing.T) {
	f := newFaulty()
	db, w := openWired(t, f)
	var ids []kv.TxnID
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		ids = append(ids, req.ID)
		if len(ids) == 1 {
			w.cut() // and never run
			return
		}
		f.Store.Submit(req, done)
	})
	out, err := db.Execute(within(t, 10*time.Second), client.AddGet(b("n"), 5))
	require.NoError(t, err)
	require.Equal(t, int64(5), out.Results[0].Number)
	require.Equal(t, 2, out.Attempts)
	require.NotEqual(t, ids[0], ids[1])
	committed, _, err := db.Outcome(within(t, 10*time.Second), ids[0])
	require.NoError(t, err)
	require.False(t, committed)
}

func TestWithoutRetriesALostRequestIsToldAsAborted(t *testing.T) {
	f := newFaulty()
	db, w := openWired(t, f, client.WithRetries(false))
	f.onSubmit(func(gateway.Request, func(gateway.Response)) { w.cut() })
	_, err := db.Execute(within(t, 10*time.Second), client.Add(b("n"), 5))
	requireKind(t, kv.KindAborted, err)
}

func TestAnOutcomeThatTheServerDoesNotKnowIsEnquiredAbout(t *testing.T) {
	f := newFaulty()
	db, _ := openWired(t, f)
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		f.Store.Submit(req, func(gateway.Response) { done(refuse(req, kv.KindOutcomeUnknown)) })
	})
	out, err := db.Execute(within(t, 10*time.Second), client.AddGet(b("n"), 5))
	require.NoError(t, err)
	require.Equal(t, int64(5), out.Results[0].Number)
}

func TestWhatCannotBeFoundOutInTimeIsUnknown(t *testing.T) {
	f := newFaulty()
	db, _ := openWired(t, f)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := fmt.Errorf("the user left")
	arrived := make(chan func(gateway.Response), 1)
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		f.Store.Submit(req, func(r gateway.Response) {
			arrived <- func(gateway.Response) { done(r) }
			cancel(why)
		})
	})
	_, err := db.Execute(ctx, client.Add(b("n"), 5))
	e := requireKind(t, kv.KindOutcomeUnknown, err)
	require.ErrorIs(t, err, why)
	require.Contains(t, err.Error(), "linchpin outcome "+e.ID.String())
	(<-arrived)(gateway.Response{}) // the late answer finds nobody and harms nobody
	committed, results, err := db.Outcome(within(t, 10*time.Second), e.ID)
	require.NoError(t, err)
	require.True(t, committed)
	require.Len(t, results, 1)
}

func TestReadersWhoLoseTheirAnswerJustReadAgain(t *testing.T) {
	f := newFaulty()
	db, w := openWired(t, f)
	n := 0
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		n++
		if n == 1 {
			w.cut()
			return
		}
		f.Store.Submit(req, done)
	})
	_, err := db.Execute(within(t, 10*time.Second), client.Get(b("k")), client.RequireAbsent(b("k")))
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	f.onSubmit(func(gateway.Request, func(gateway.Response)) {})
	_, err = db.Execute(ctx, client.Get(b("k")))
	requireKind(t, kv.KindDeadlineExceeded, err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAnIDThatIsTooOldCannotBeToldOf(t *testing.T) {
	f := newFaulty()
	db, _ := openWired(t, f)
	_, _, err := db.Outcome(within(t, 10*time.Second), kv.TxnID{Time: servertest.TooOld, Rand: 1})
	requireKind(t, kv.KindTooOld, err)
	_, _, err = db.Outcome(within(t, 10*time.Second), kv.TxnID{})
	requireKind(t, kv.KindInvalid, err)
}

// TestEveryIncrementCountsOnceWhileConnectionsAreCut is the sum of the above:
// callers count up while their connections are cut all the time, and in the
// end the counter is what they were told.
func TestEveryIncrementCountsOnceWhileConnectionsAreCut(t *testing.T) {
	f := newFaulty()
	w := new(wires)
	a, z := startNode(t, f, "", server.Options{}), startNode(t, f, "", server.Options{})
	db := open(t, []string{a.addr, z.addr}, client.WithDialer(w.dial))
	var executed atomic.Int64
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		n := executed.Add(1)
		switch {
		case n%97 == 0:
			go w.cut()
			f.Store.Submit(req, done)
		case n%101 == 0:
			w.cut() // the request is lost, and all answers under way
		default:
			f.Store.Submit(req, done)
		}
	})
	ctx := within(t, 60*time.Second)
	const callers, each = 16, 100
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				if _, err := db.Execute(ctx, client.Add(b("n"), 1)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(callers*each), counter(t, db, "n"))
	require.Greater(t, w.dialled(a.addr)+w.dialled(z.addr), 4, "connections were cut")
}
