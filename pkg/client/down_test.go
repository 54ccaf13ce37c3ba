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
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// missed is what callers see of it.
var missed = &client.NodeDown{Node: 2, Address: "10.0.0.2:7070", Shards: []int{1, 4}, Keyspace: 40}

var gone = &kv.Down{Node: 2, Address: "10.0.0.2:7070", Shards: []kv.ShardID{1, 4}, Keyspace: 40}

// missing is a store of which a node is down until it is back.
type missing struct {
	*faulty
	back  atomic.Bool
	asked atomic.Int64
}

func newMissing() *missing {
	m := &missing{faulty: newFaulty()}
	m.onSubmit(func(req gateway.Request, done func(gateway.Response)) {
		if m.refuses() {
			done(gateway.Response{ID: req.ID, Attempts: 1, Err: gone.Error()})
			return
		}
		m.Store.Submit(req, done)
	})
	m.onBegin(func(gateway.TxOptions) error {
		if m.refuses() {
			return gone.Error()
		}
		return nil
	})
	return m
}

func (m *missing) refuses() bool {
	m.asked.Add(1)
	return !m.back.Load()
}

func (m *missing) Outcome(ctx context.Context, id kv.TxnID, user kv.Account) (gateway.Outcome, error) {
	if m.refuses() {
		return gateway.Outcome{}, gone.Error()
	}
	return m.Store.Outcome(ctx, id, user)
}

func (m *missing) Scan(ctx context.Context, o gateway.ScanOptions, page func([]msg.Pair) error) error {
	if m.refuses() {
		return gone.Error()
	}
	return m.Store.Scan(ctx, o, page)
}

// whatCallsDo is every way to need a shard.
var whatCallsDo = map[string]func(ctx context.Context, db *client.DB) error{
	"Execute": func(ctx context.Context, db *client.DB) error {
		err := db.Execute(ctx, add("n", 1))
		return err
	},
	"Update": func(ctx context.Context, db *client.DB) error {
		return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			return client.NewCounter("n").Add(ctx, tx,
				1)
		})
	},
	"View": func(ctx context.Context, db *client.DB) error {
		return db.View(ctx, func(ctx context.Context, ro *client.View) error {
			_, _, err := ro.Entry(ctx, "n")
			return err
		})
	},
	"Scan": func(ctx context.Context, db *client.DB) error {
		for _, err := range db.Scan(ctx, client.Range{}) {
			return err
		}
		return nil
	},
	"Outcome": func(ctx context.Context, db *client.DB) error {
		_, err := db.Outcome(ctx, anID())
		return err
	},
}

// TestANodeThatIsDownFailsAtOnce: once, without another attempt, and the error names
// the node and its shards. Who wants to wait does so until it is back.
func TestANodeThatIsDownFailsAtOnce(t *testing.T) {
	for name, do := range whatCallsDo {
		m := newMissing()
		addr := startNode(t, m, "", server.Options{}).addr
		e := requireKind(t, client.KindUnavailable, do(within(t, 10*time.Second), open(t, []string{addr})))
		require.Equal(t, missed, e.Down, name)
		require.Equal(t, gone.String(), e.Message, name)
		require.Equal(t, gone.String(), e.Down.String())
		require.Contains(t, e.Hint, "WaitForNodes", name)
		require.Equal(t, int64(1), m.asked.Load(), name)

		done := make(chan error, 1)
		waiting := open(t, []string{addr}).With(client.WaitForNodes())
		go func() { done <- do(within(t, 10*time.Second), waiting) }()
		require.Eventually(t, func() bool { return m.asked.Load() > 4 }, 10*time.Second, time.Millisecond,
			"%s is tried again", name)
		require.Empty(t, done, name)
		m.back.Store(true)
		require.NoError(t, <-done, name)

		m.back.Store(false)
		short, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		err := do(short, waiting)
		cancel()
		// Unknown if the deadline passes while an attempt is in flight.
		require.Contains(t, []client.Kind{client.KindUnavailable, client.KindDeadlineExceeded, client.KindOutcomeUnknown},
			client.KindOf(err), "%s: %v", name, err)
	}
}

// TestAnOutcomeThatANodeKnowsThatIsDownStaysUnknown: it is not asked for until the
// context ends, nor taken for a failure. A client that waits for nodes gets it later.
func TestAnOutcomeThatANodeKnowsThatIsDownStaysUnknown(t *testing.T) {
	m := newMissing()
	lost := func(req gateway.Request, done func(gateway.Response)) {
		m.Store.Submit(req, func(gateway.Response) {
			r := refuse(req, kv.KindOutcomeUnknown)
			r.Err.Down = gone
			done(r)
		})
	}
	m.onSubmit(lost)
	addr := startNode(t, m, "", server.Options{}).addr
	err := open(t, []string{addr}).Execute(within(t, 10*time.Second), add("n", 1))
	e := requireKind(t, client.KindOutcomeUnknown, err)
	require.Equal(t, missed, e.Down)
	require.Contains(t, e.Hint, "linchpin outcome "+e.TxID.String())
	require.Equal(t, int64(1), m.asked.Load(), "the outcome was asked for once")

	waiting := open(t, []string{addr}).With(client.WaitForNodes())
	done := make(chan error, 1)
	go func() {
		err := waiting.Execute(within(t, 10*time.Second), add("n", 1))
		done <- err
	}()
	require.Eventually(t, func() bool { return m.asked.Load() > 4 }, 10*time.Second, time.Millisecond)
	m.back.Store(true)
	require.NoError(t, <-done)
	outcome, err := waiting.Outcome(within(t, 10*time.Second), e.TxID)
	require.NoError(t, err)
	require.Equal(t, client.Committed, outcome)
}

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
	require.LessOrEqual(t, refused.Load(), int64(64), "only what was in flight then")
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
