package client_test

import (
	"context"
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

// TestADrainingNodeIsLeft: new calls go to the next node at once, without a retry, and
// the answers to those that were sent are waited for.
func TestADrainingNodeIsLeft(t *testing.T) {
	f := newFaulty()
	a, z := startNode(t, f, "", server.Options{}), startNode(t, f.Store, "", server.Options{})
	db := hasty(open(t, []string{a.addr, z.addr}))
	ctx := within(t, 20*time.Second)
	type held struct {
		req  gateway.Request
		done func(gateway.Response)
	}
	arrived := make(chan held, 1)
	f.onSubmit(func(req gateway.Request, done func(gateway.Response)) { arrived <- held{req, done} })
	answered := make(chan error, 1)
	go func() {
		err := db.Execute(ctx, add("n", 1))
		answered <- err
	}()
	h := <-arrived

	a.drain()
	require.Eventually(t, func() bool { return client.Addr(db) == z.addr }, 10*time.Second, time.Millisecond)
	err := db.Execute(ctx, add("n", 10))
	require.NoError(t, err)
	require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error { return tx.Put(ctx, "k", b("v")) }))
	select {
	case err := <-answered:
		t.Fatalf("the call on the first node has ended: %v", err)
	default:
	}
	f.Store.Submit(h.req, h.done)
	require.NoError(t, <-answered)
	require.Equal(t, int64(11), counter(t, db, "n"))
	a.stop()
	require.Equal(t, z.addr, client.Addr(db))
}

// TestDrainingUnderLoad: a node drains and stops while many callers are at work, none
// of which tries again or notices; nothing is lost or done twice.
func TestDrainingUnderLoad(t *testing.T) {
	s := servertest.New()
	a, z := startNode(t, s, "", server.Options{}), startNode(t, s, "", server.Options{})
	db := hasty(open(t, []string{a.addr, z.addr}))
	ctx := within(t, 30*time.Second)
	var done, refused atomic.Int64
	var stop atomic.Bool
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for !stop.Load() {
				err := db.Execute(ctx, add("n", 1))
				switch {
				case err == nil:
					done.Add(1)
				case client.KindOf(err) == client.KindUnavailable:
					// What was on its way when the node said that it drains.
					refused.Add(1)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	require.Eventually(t, func() bool { return done.Load() > 1000 }, 20*time.Second, time.Millisecond)
	a.drain()
	require.Eventually(t, func() bool { return client.Addr(db) == z.addr }, 10*time.Second, time.Millisecond)
	at := done.Load()
	require.Eventually(t, func() bool { return done.Load() > at+1000 }, 20*time.Second, time.Millisecond)
	a.stop()
	stop.Store(true)
	callers.Wait()
	require.Equal(t, done.Load(), counter(t, db, "n"))
	require.LessOrEqual(t, refused.Load(), int64(64), "only what was under way then")
}

// TestAloneADrainingNodeIsWaitedFor: with no other node, calls wait for one, and say
// why if none comes.
func TestAloneADrainingNodeIsWaitedFor(t *testing.T) {
	s := servertest.New()
	a := startNode(t, s, "", server.Options{})
	db := open(t, []string{a.addr})
	a.drain()
	require.Eventually(t, func() bool { return client.Addr(db) == "" }, 10*time.Second, time.Millisecond)
	err := db.Execute(within(t, 100*time.Millisecond), add("n", 1))
	requireKind(t, client.KindUnavailable, err)
	require.ErrorContains(t, err, "the node is draining")
	a.stop()
	startNode(t, s, a.addr, server.Options{})
	err = db.Execute(within(t, 20*time.Second), add("n", 1))
	require.NoError(t, err)
	require.Equal(t, int64(1), counter(t, db, "n"))
}

// TestAnInteractiveTransactionOnADrainingNode: one that has not begun there fails, and
// its outcome is known: nothing was applied. With retries it runs at another node.
func TestAnInteractiveTransactionOnADrainingNode(t *testing.T) {
	for _, retries := range []bool{false, true} {
		s := servertest.New()
		a, z := startNode(t, s, "", server.Options{}), startNode(t, s, "", server.Options{})
		db := open(t, []string{a.addr, z.addr})
		if !retries {
			db = hasty(db)
		}
		ctx := within(t, 20*time.Second)
		// The first leaves an idle stream behind, which the node ends when it drains.
		require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			_, _,
				err := tx.Get(ctx, "k")
			return err
		}))
		runs := 0
		err := db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			runs++
			if runs == 1 {
				a.drain()
			}
			return tx.Put(ctx, "k", b("v"))
		})
		if retries {
			require.NoError(t, err)
			require.Equal(t, 2, runs)
			continue
		}
		requireKind(t, client.KindUnavailable, err)
		require.ErrorContains(t, err, "draining")
		require.Equal(t, 1, runs)
	}
}
