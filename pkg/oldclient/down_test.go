package client_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/server"
)

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
		_, err := db.Execute(ctx, client.Add(b("n"), 1))
		return err
	},
	"Update": func(ctx context.Context, db *client.DB) error {
		return db.Update(ctx, func(tx *client.Tx) error { return tx.Add(b("n"), 1) })
	},
	"View": func(ctx context.Context, db *client.DB) error {
		return db.View(ctx, func(ro *client.ReadTx) error {
			_, err := ro.Get(b("n"))
			return err
		})
	},
	"Scan": func(ctx context.Context, db *client.DB) error {
		for _, err := range db.Scan(ctx, nil, nil, client.ScanOptions{}) {
			return err
		}
		return nil
	},
	"Outcome": func(ctx context.Context, db *client.DB) error {
		_, _, err := db.Outcome(ctx, kv.TxnID{Time: time.Now().UnixNano(), Rand: 1})
		return err
	},
}

// TestANodeThatIsDownFailsAtOnce: once, without another attempt, and the error names
// the node and its shards. Who wants to wait does so until it is back.
func TestANodeThatIsDownFailsAtOnce(t *testing.T) {
	for name, do := range whatCallsDo {
		m := newMissing()
		addr := startNode(t, m, "", server.Options{}).addr
		e := requireKind(t, kv.KindUnavailable, do(within(t, 10*time.Second), open(t, []string{addr})))
		require.Equal(t, gone, e.Down, name)
		require.Equal(t, gone.String(), e.Text, name)
		require.Contains(t, e.Hint, "WithWaitForShards", name)
		require.Equal(t, int64(1), m.asked.Load(), name)

		done := make(chan error, 1)
		waiting := open(t, []string{addr}, client.WithWaitForShards(true))
		go func() { done <- do(within(t, 10*time.Second), waiting) }()
		require.Eventually(t, func() bool { return m.asked.Load() > 4 }, 10*time.Second, time.Millisecond, "%s is tried again", name)
		require.Empty(t, done, name)
		m.back.Store(true)
		require.NoError(t, <-done, name)

		m.back.Store(false)
		short, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		err := do(short, waiting)
		cancel()
		// Unknown if the time is over while an attempt is under way, as it may be.
		require.Contains(t, []kv.Kind{kv.KindUnavailable, kv.KindDeadlineExceeded, kv.KindOutcomeUnknown}, kv.KindOf(err), "%s: %v", name, err)
	}
}

// TestAnOutcomeThatANodeKnowsThatIsDownStaysUnknown: it is not asked for until the
// context ends, nor taken for a failure. Who waits is told what became of it.
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
	_, err := open(t, []string{addr}).Execute(within(t, 10*time.Second), client.Add(b("n"), 1))
	e := requireKind(t, kv.KindOutcomeUnknown, err)
	require.Equal(t, gone, e.Down)
	require.Contains(t, e.Hint, "linchpin outcome "+e.ID.String())
	require.Equal(t, int64(1), m.asked.Load(), "the outcome was asked for once")

	waiting := open(t, []string{addr}, client.WithWaitForShards(true))
	done := make(chan error, 1)
	go func() {
		_, err := waiting.Execute(within(t, 10*time.Second), client.Add(b("n"), 1))
		done <- err
	}()
	require.Eventually(t, func() bool { return m.asked.Load() > 4 }, 10*time.Second, time.Millisecond)
	m.back.Store(true)
	require.NoError(t, <-done)
	committed, _, err := waiting.Outcome(within(t, 10*time.Second), e.ID)
	require.NoError(t, err)
	require.True(t, committed)
}
