package client_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// openWired gives a client whose connections can be cut.
func openWired(t *testing.T, f *faulty, opts ...client.Option) (*client.DB, *wires) {
	w := new(wires)
	n := startNode(t, f, "", server.Options{})
	return open(t, []string{n.addr}, append(opts, client.WithDialer(w.dial))...), w
}

func TestOutcomeOfLostResponseIsQueried(t *testing.T) {
	for _, retries := range []bool{true, false} {
		f := newFaulty()
		db, w := openWired(t, f)
		if !retries {
			db = hasty(db)
		}
		var once sync.Once
		f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
			f.Store.Submit(req, func(r gateway.Response) {
				once.Do(w.cut)
				done(r)
			})
		})
		sum, err := client.NewCounter("n").AddGet(within(t, 10*time.Second), db, 5)
		require.NoError(t, err)
		require.Equal(t, int64(5), sum)
		require.Equal(t, int64(5), counter(t, db, "n"))
	}
}

func TestALostRequestIsRunAgainUnderANewID(t *testing.T) {
	f := newFaulty()
	db, w := openWired(t, f)
	var report client.Report
	db = db.With(client.ReportTo(&report))
	var ids []kv.TxnID
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		ids = append(ids, req.ID)
		if len(ids) == 1 {
			w.cut() // and never run
			return
		}
		f.Store.Submit(req, done)
	})
	sum, err := client.NewCounter("n").AddGet(within(t, 10*time.Second), db, 5)
	require.NoError(t, err)
	require.Equal(t, int64(5), sum)
	require.Equal(t, 2, report.Attempts)
	require.NotEqual(t, ids[0], ids[1])
	outcome, err := db.Outcome(within(t, 10*time.Second), id(ids[0]))
	require.NoError(t, err)
	require.Equal(t, client.NotApplied, outcome)
}

// cutsSnapshots loses the response to each request that makes a snapshot.
type cutsSnapshots struct {
	*faulty
	cut func()
}

func (c *cutsSnapshots) CreateSnapshot(ctx context.Context, name string, ttl time.Duration) (*msg.Snapshot, error) {
	defer c.cut()
	return c.faulty.CreateSnapshot(ctx, name, ttl)
}

// TestSnapshotWithoutResponseIsOutcomeUnknown: the error must not say that nothing was changed.
func TestSnapshotWithoutResponseIsOutcomeUnknown(t *testing.T) {
	w := new(wires)
	n := startNode(t, &cutsSnapshots{faulty: newFaulty(), cut: w.cut}, "", server.Options{})
	db := open(t, []string{n.addr}, client.WithDialer(w.dial))
	_, err := hasty(db).CreateSnapshot(within(t, 10*time.Second), "s")
	requireKind(t, client.KindOutcomeUnknown, err)
	all, err := db.Snapshots(within(t, 10*time.Second))
	require.NoError(t, err)
	require.Len(t, all, 1)
}

func TestLostRequestWithoutRetriesIsAborted(t *testing.T) {
	f := newFaulty()
	db, w := openWired(t, f)
	db = hasty(db)
	f.onSubmit(func(gateway.Request, func(gateway.Response)) { w.cut() })
	err := db.Execute(within(t, 10*time.Second), add("n", 5))
	requireKind(t, client.KindAborted, err)
}

func TestOutcomeUnknownToTheNodeIsQueried(t *testing.T) {
	f := newFaulty()
	db, _ := openWired(t, f)
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		f.Store.Submit(req, func(gateway.Response) { done(refuse(req, kv.KindOutcomeUnknown)) })
	})
	sum, err := client.NewCounter("n").AddGet(within(t, 10*time.Second), db, 5)
	require.NoError(t, err)
	require.Equal(t, int64(5), sum)
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
	err := db.Execute(ctx, add("n", 5))
	e := requireKind(t, client.KindOutcomeUnknown, err)
	require.ErrorIs(t, err, why)
	require.Contains(t, err.Error(), "linchpin outcome "+e.TxID.String())
	require.Equal(t, client.OutcomeUnknown, e.Outcome)
	(<-arrived)(gateway.Response{}) // the late response has no effect
	outcome, err := db.Outcome(within(t, 10*time.Second), e.TxID)
	require.NoError(t, err)
	require.Equal(t, client.Committed, outcome)
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
	err := db.Execute(within(t, 10*time.Second), client.GetOp("k"), client.RequireOp("k", client.IfAbsent()))
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	f.onSubmit(func(gateway.Request, func(gateway.Response)) {})
	err = db.Execute(ctx, client.GetOp("k"))
	requireKind(t, client.KindDeadlineExceeded, err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestOutcomeOfTooOldIDIsAnError(t *testing.T) {
	f := newFaulty()
	db, _ := openWired(t, f)
	_, err := db.Outcome(within(t, 10*time.Second), id(kv.TxnID{Time: servertest.TooOld, Rand: 1}))
	requireKind(t, client.KindTooOld, err)
	_, err = db.Outcome(within(t, 10*time.Second), client.TxID{})
	requireKind(t, client.KindInvalid, err)
}

// TestEveryIncrementCountsOnceWhileConnectionsAreCut is the sum of the above:
// callers count up while their connections are cut all the time, and in the
// end the counter is what the responses said.
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
			w.cut() // the request is lost, and all responses in flight
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
				if err := db.Execute(ctx, add("n", 1)); err != nil {
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
