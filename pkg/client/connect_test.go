package client_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// deadAddr is an address where nothing listens.
func deadAddr(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer lis.Close()
	return lis.Addr().String()
}

func TestOpenFailsAtOnceIfNothingListens(t *testing.T) {
	dead := deadAddr(t)
	_, err := client.Open(within(t, 30*time.Second), []string{dead})
	requireKind(t, client.KindUnavailable, err)
	require.ErrorContains(t, err, dead)
	require.ErrorContains(t, err, "nothing listens there; check the address")
	_, err = client.Open(context.Background(), nil)
	requireKind(t, client.KindInvalid, err)
	_, err = client.Open(context.Background(), []string{"127.0.0.1"})
	requireKind(t, client.KindInvalid, err)
	require.ErrorContains(t, err, `"127.0.0.1" is not an address of a node; want HOST:PORT`)
}

func TestOpenGivesUpOnAPeerThatSaysNothing(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer lis.Close()
	_, err = client.Open(within(t, 30*time.Second), []string{lis.Addr().String()},
		client.WithConnectTimeout(50*time.Millisecond))
	requireKind(t, client.KindUnavailable, err)

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = client.Open(ctx, []string{lis.Addr().String()})
	requireKind(t, client.KindUnavailable, err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestOpenConnectsToTheFirstAddressThatAnswers(t *testing.T) {
	s := servertest.New()
	a, z := startNode(t, s, "", server.Options{}), startNode(t, s, "", server.Options{})
	db := open(t, []string{deadAddr(t), a.addr, z.addr})
	require.Equal(t, a.addr, client.Addr(db))
}

func TestFailOverToTheNextAddress(t *testing.T) {
	s := servertest.New()
	a, z := startNode(t, s, "", server.Options{}), startNode(t, s, "", server.Options{})
	db := open(t, []string{a.addr, z.addr})
	ctx := within(t, 20*time.Second)
	err := db.Execute(ctx, add("n", 1))
	require.NoError(t, err)
	a.stop()
	err = db.Execute(ctx, add("n", 1))
	require.NoError(t, err)
	require.Equal(t, z.addr, client.Addr(db))
	z.stop()
	startNode(t, s, a.addr, server.Options{})
	err = db.Execute(ctx, add("n", 1))
	require.NoError(t, err)
	require.Equal(t, a.addr, client.Addr(db))
	require.Equal(t, int64(3), counter(t, db, "n"))
}

func TestUnavailableWithoutANode(t *testing.T) {
	n := startNode(t, servertest.New(), "", server.Options{})
	patient := open(t, []string{n.addr})
	once := hasty(open(t, []string{n.addr}))
	n.stop()
	require.Eventually(t, func() bool { return client.Addr(once) == "" && client.Addr(patient) == "" }, 10*time.Second,
		time.Millisecond)
	err := once.Execute(context.Background(), add("n", 1))
	requireKind(t, client.KindUnavailable, err)
	require.ErrorContains(t, err, n.addr)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err = patient.Execute(ctx, add("n", 1))
	requireKind(t, client.KindUnavailable, err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Error(t, patient.Update(ctx, func(ctx context.Context, tx *client.Tx) error { return tx.Put(ctx, "k", nil) }))
}

func TestCallsAfterCloseAreRejected(t *testing.T) {
	f := newFaulty()
	db := open(t, []string{startNode(t, f, "", server.Options{}).addr})
	arrived := make(chan struct{})
	f.onSubmit(func(gateway.Request, func(gateway.Response)) { close(arrived) })
	ended := make(chan error)
	go func() {
		err := db.Execute(context.Background(), add("n", 1))
		ended <- err
	}()
	<-arrived
	require.NoError(t, db.Close())
	requireKind(t, client.KindOutcomeUnknown, <-ended)
	err := db.Execute(context.Background(), client.GetOp("k"))
	requireKind(t, client.KindClosed, err)
	require.Empty(t, client.Addr(db))
	require.NoError(t, db.Close(), "again")
}

func TestNoMoreIsInFlightThanAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		opts   []client.Option
		server server.Options
	}{
		"by the client": {opts: []client.Option{client.WithMaxInFlight(3)}},
		"by the server": {server: server.Options{MaxInFlight: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaulty()
			var mu sync.Mutex
			var waiting []func()
			full := make(chan struct{})
			f.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
				mu.Lock()
				defer mu.Unlock()
				waiting = append(waiting, func() { f.Store.Submit(req, done) })
				if len(waiting) == 3 {
					close(full)
				}
			})
			db := open(t, []string{startNode(t, f, "", c.server).addr}, c.opts...)
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					err := db.Execute(within(t, 20*time.Second), add("n", 1))
					if err != nil {
						t.Error(err)
					}
				})
			}
			<-full
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			err := db.Execute(ctx, add("n", 1))
			requireKind(t, client.KindDeadlineExceeded, err)
			require.ErrorContains(t, err, "before the request was sent")
			f.onSubmit(f.Store.Submit)
			for _, run := range waiting {
				run()
			}
			all.Wait()
			require.Equal(t, int64(3), counter(t, db, "n"), "the fourth was never sent")
		})
	}
}

// TestCallersThatLeaveDoNotDisturbOthers lets callers leave at every stage of a call
// while others go on.
func TestCallersThatLeaveDoNotDisturbOthers(t *testing.T) {
	db, _ := openStore(t, client.WithMaxInFlight(8))
	var left, done atomic.Int64
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 50 {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				if i%2 == 0 {
					ctx, cancel = context.WithTimeout(context.Background(), time.Duration(j*10)*time.Microsecond)
				}
				err := db.Execute(ctx, add("n", 1))
				cancel()
				switch client.KindOf(err) {
				case "":
					done.Add(1)
				case client.KindOutcomeUnknown, client.KindDeadlineExceeded:
					left.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	n := counter(t, db, "n")
	require.GreaterOrEqual(t, n, done.Load())
	require.LessOrEqual(t, n, done.Load()+left.Load())
	require.Positive(t, left.Load())
}
